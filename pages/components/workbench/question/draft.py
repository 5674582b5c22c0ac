"""What is typed into the question's box: kept by the browser until it is asked, for each session by itself.

Streamlit sends the text only when it is asked, and empties the box then. So the browser keeps it: while other
sessions and pages are looked at, over a reload and a restart of the server, and where it is refused. Whether
what is asked is run at once is kept there for all tabs. Knows the tab, no session.
"""

from __future__ import annotations

from uuid import uuid4

import streamlit as st

from pages.components.streamlit_patches.component import component, trigger_value
from pages.components.tab.state import TabState

BOX = "query"
"""The key of the box."""

_KEY = "question"
_SUBMISSION, _REFUSED = "question-asked", "question-refused"

_component = component("conductor_question", __file__, js="draft.js", isolated=False)


def question_asked(place: str) -> None:
    """The text that was typed at `place` is a session's question now; the browser forgets it."""
    st.session_state[_SUBMISSION] = {"place": place, "id": uuid4().hex}


def question_refused() -> None:
    """The text that was sent comes back into the box."""
    st.session_state[_REFUSED] = uuid4().hex


def kept_question(tab: TabState, place: str, text: str) -> None:
    """Have the box show what was typed at `place`, at first `text`."""

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
        },
        height=1,
        on_runs_change=load,
    )
