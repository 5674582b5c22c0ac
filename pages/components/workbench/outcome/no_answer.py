"""A run that ended without an answer: why, and the way to a model."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.runs.state import RunState
from conductor.text.final_answer import NO_ANSWER
from conductor.values.output import NO_ANSWER as REFUSED
from pages.components.widgets.rendered_text import rendered_text


def no_answer(state: RunState, notes: Sequence[str]) -> None:
    """Draw it."""
    with st.container(key="no-answer", border=True, gap="small"):
        rendered_text(
            (state.answer or "").removeprefix(NO_ANSWER),
            key=f"answer-{state.run}",
            label="No answer",
            notes=[note for note in notes if note != REFUSED],
            framed=False,
        )
        if state.answer_step is not None and state.steps[state.answer_step].worker_kind == "offline":
            st.page_link("pages/pool.py", label="Add a model", icon=":material/groups:")
