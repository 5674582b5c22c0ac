"""The draft of a question: kept by the browser until it is asked, for each session by itself. It also
proposes whether a question or a change of the plan is meant.

Streamlit sends the text only when it is asked, and empties the box then. So the browser keeps it: while other
sessions and pages are looked at, over a reload and a restart of the server, and where it is refused. Whether
what is asked is run at once is kept there for all tabs. Knows the tab, no session.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import streamlit as st

from pages.components.streamlit_patches.component import component, trigger_value
from pages.components.tab.state import TabState

BOX = "query"
"""The key of the box."""

_KEY = "question"
_SUBMISSION, _REFUSED, _WISH = "question-asked", "question-refused", "question-given"

MEANING = "question-meaning"
"""The key of the choice of what is typed: first a question, then a change of the plan."""

_component = component("conductor_question", __file__, js="draft.js", isolated=False)


def forget_question(place: str) -> None:
    """The text that was typed at `place` is a session's question now; the browser forgets it."""
    st.session_state[_SUBMISSION] = {"place": place, "id": uuid4().hex}


def restore_question() -> None:
    """The text that was sent comes back into the box."""
    st.session_state[_REFUSED] = uuid4().hex


def put_wish(tab: TabState, session: str, wish: str) -> None:
    """Put a change that is wished for into the box of the open session; a person still reads it and asks."""
    st.session_state[_WISH] = {"place": session, "text": wish, "id": uuid4().hex}
    tab.rewrites, tab.changes_plan = False, True
    tab.ask_redraw()


def kept_question(tab: TabState, place: str, text: str, *, workers: Sequence[str] = ()) -> None:
    """Have the box show what was typed at `place`, at first `text`; `workers` are the pool's."""

    def load() -> None:
        if tab.runs_plans is None:
            tab.runs_plans = trigger_value(_KEY, "runs") == "yes"
        tab.ask_redraw()

    _component(
        key=_KEY,
        data={
            "box": f'.st-key-{BOX}[data-stale="false"] textarea',
            "place": place,
            "text": text,
            "asked": st.session_state.get(_SUBMISSION),
            "refused": st.session_state.get(_REFUSED),
            "runs": tab.runs_plans,
            "given": st.session_state.get(_WISH),
            "meaning": f".st-key-{MEANING} button",
            "workers": list(workers),
        },
        height=1,
        on_runs_change=load,
    )
