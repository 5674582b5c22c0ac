"""The browser's message that a run of the page answers: whether it has changes of several widgets, whether
one asked for its fragment alone, and whether Back or Forward sent it.

What is set while a message waits to be sent goes into the same one, and Streamlit runs the fragment of the
first widget only (the browser's console has "Multiple different fragmentIds detected"): a press that follows
a timer's tick at once has its callback called, and its fragment is not drawn again. And a message that waits
while a whole page is asked for has its callbacks called in that run, which a callback's `st.rerun` of
fragments would replace. Knows how Streamlit keeps the state of widgets, not what they are for.
"""

from __future__ import annotations

from streamlit.runtime.scriptrunner_utils.script_run_context import get_script_run_ctx


def runs_a_page() -> bool:
    """Whether this thread runs a page for a browser."""
    return get_script_run_ctx(suppress_warning=True) is not None


def others_changed(own: str) -> bool:
    """Called in a callback of the widget whose key is `own`: whether another one has changed as well."""
    context = get_script_run_ctx()
    if context is None:
        return False
    state = context.session_state._state
    return any(state._widget_changed(id) for id in state._new_widget_state if f"-{own}" not in id)


def whole_page_follows() -> bool:
    """Called in a callback: whether the whole page is drawn after it, and no fragment alone."""
    context = get_script_run_ctx()
    return context is not None and not context.fragment_ids_this_run


def history_moved() -> bool:
    """Whether the browser's Back or Forward asked for this run of the page."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation
