"""One step, beside the graph, for an audience: the parts that `inspector` has, and nothing to change."""

from __future__ import annotations

import streamlit as st

from conductor.workflow.model import Step
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.step_result import calls_before, reasoning_view, status_badge
from pages.components.workbench.editor import Editor
from pages.components.workbench.step.inspector import PARTS, noted_output, state_of
from pages.components.workbench.step.notes import step_notes
from pages.components.workbench.step.request_view import sight
from studio.workbench import Workbench


def watched_step(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the selected step; before an audience its output only."""
    with st.container(key="inspector", gap="small"):
        head, at = view.head, tab.selected
        if head is None or at is None or at >= len(head.workflow):
            st.caption("Select a step in the graph to see what it does and what it answered.")
            return
        step, key = head.workflow.steps[at], f"{view.session.id}-{at}"
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="step-head"):
            st.subheader(plain(step_name(head.workflow, at), limit=80), anchor=False)
            st.caption(plain(step.worker), width="content")
        if tab.presents:
            _output(bench, tab, view, at, step)
            return
        output, instruction, saw, reasoning = st.tabs(list(PARTS), key=f"watched-parts-{key}")
        with output:
            _output(bench, tab, view, at, step)
        with instruction:
            rendered_text(step.instruction, key=f"instruction-{key}", label="Instruction", heading=False)
            reads = ", ".join(step_name(head.workflow, read) for read in step.access)
            st.caption(plain(f"Can see: {reads}" if reads else "Can see only the question", limit=1000))
        with saw:
            editor = Editor(bench, tab, view.session.id, head)
            sight(editor, view, at, state_of(bench, view, at))
        with reasoning:
            state = state_of(bench, view, at)
            notes = step_notes(
                bench, tab, view, "reasoning", "" if state is None else state.reasoning, step=at
            )
            reasoning_view(state, key=key, notable=None if notes is None else notes.notable())
            if notes is not None:
                notes.draw()


def _output(bench: Workbench, tab: TabState, view: SessionView, at: int, step: Step) -> None:
    state = state_of(bench, view, at)
    if state is None:
        st.caption("Not run yet.")
        return
    status_badge(state)
    calls_before(state, key=f"{view.session.id}-{at}")
    noted_output(bench, tab, view, at, state, worker=step.worker)
