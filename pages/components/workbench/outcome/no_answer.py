"""A run that ended without an answer: why, questions near it that have one here, and the way to a model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from conductor.runs.state import RunState
from conductor.text.final_answer import NO_ANSWER
from conductor.values.output import NO_ANSWER as REFUSED
from conductor.workers.offline.questions.nearby import offered
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action
from pages.components.widgets.rendered_text import rendered_text
from pages.components.workbench.question.composer import ask
from studio.workbench import Workbench


def no_answer(
    bench: Workbench, tab: TabState, view: SessionView, state: RunState, notes: Sequence[str]
) -> None:
    """Draw it; what is offered is planned and run at a press."""
    with st.container(key="no-answer", border=True, gap="small"):
        rendered_text(
            (state.answer or "").removeprefix(NO_ANSWER),
            key=f"answer-{state.run}",
            label="No answer",
            notes=[note for note in notes if note != REFUSED],
            framed=False,
        )
        questions = offered(state)
        if not questions:
            return
        st.caption("Near it, these have an answer here; one press plans and runs them.")
        with st.container(key="nearby", gap="xsmall"):
            for at, question in enumerate(questions):
                action(
                    plain(question),
                    "play_arrow",
                    partial(ask, bench, tab, question, view=view, run=True),
                    key=f"nearby-{at}",
                    disabled=view.locked,
                    width="stretch",
                )
        st.page_link("pages/pool.py", label="Add a model", icon=":material/groups:")
