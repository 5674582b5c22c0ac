"""One step, beside the graph, for those who watch: the parts that `inspector` has, and nothing to change."""

from __future__ import annotations

import streamlit as st

from conductor.workflow.model import Step
from pages.components.tab.state import TabState, plain
from pages.components.view_models.card_content import step_name
from pages.components.view_models.session import SessionView
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.step_result import reasoning_view, retries, status_badge, step_output
from pages.components.workbench.editor import Editor
from pages.components.workbench.step.inspector import PARTS, state_of
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
            _output(bench, view, at, step, key=key)
            return
        output, instruction, saw, reasoning = st.tabs(list(PARTS), key=f"watched-parts-{key}")
        with output:
            _output(bench, view, at, step, key=key)
        with instruction:
            rendered_text(step.instruction, key=f"instruction-{key}", label="Instruction", heading=False)
            reads = ", ".join(step_name(head.workflow, read) for read in step.access)
            st.caption(plain(f"Can see: {reads}" if reads else "Can see only the question", limit=1000))
        with saw:
            editor = Editor(bench, tab, view.session.id, head)
            sight(editor, view, at, state_of(bench, view, at))
        with reasoning:
            reasoning_view(state_of(bench, view, at), key=key)


def _output(bench: Workbench, view: SessionView, at: int, step: Step, *, key: str) -> None:
    state = state_of(bench, view, at)
    if state is None:
        st.caption("Not run yet.")
        return
    status_badge(state)
    retries(state, key=key)
    step_output(state, worker=step.worker, key=key)
