"""Whether an answer was good: thumbs up or down at the answer, kept with its run, changed and taken back."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.corrections import Thumbs
from pages.components.session_view import SessionView
from storage.workbench import Workbench

_THUMBS: Sequence[Thumbs] = ("down", "up")
"""By the number that the widget gives them."""

_WORDS = {
    "up": "You found this answer good.",
    "down": "You found this answer bad.",
    None: "Is this answer good?",
}


def thumbs(bench: Workbench, view: SessionView) -> None:
    """Draw them for the answer of the run shown."""
    state = view.state
    if view.run is None or state is None or state.run != view.run.id or state.answer is None:
        return
    run, key = view.run.id, f"thumbs-{view.run.id}"
    rating = bench.store.rating(run)

    def rated() -> None:
        chosen = st.session_state[key]
        bench.store.rate(run, None if chosen is None else _THUMBS[chosen])

    # The store counts, where another tab may have judged meanwhile.
    st.session_state[key] = None if rating is None else _THUMBS.index(rating)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="thumbs"):
        st.caption(_WORDS[rating], width="content")
        st.feedback("thumbs", key=key, on_change=rated)
