"""One step of a nested workflow, read-only: its instruction, its work, what it saw.

Draws; the workflow it stands in is drawn by `inner_view`.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from conductor.runs.state import RunState
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow
from pages.components.tab.state import plain
from pages.components.view_models.card_content import inside_text, step_name
from pages.components.widgets.request_legend import origin_notes
from pages.components.widgets.step_result import on_the_way, silence, status_badge, step_output
from pages.components.widgets.text_block import text_block
from pages.components.workbench.step.nested_path import Inside, Level, Way
from pages.components.workbench.step.request_view import hidden_from, reader, request_view


def inner_step(
    inner: RunState,
    workflow: Workflow,
    selected: int | None,
    *,
    key: str,
    inside: Inside,
    way: Way,
    cards: Mapping[str, WorkerCard],
) -> None:
    """The work of the step selected in the nested graph; `cards` are the pool's."""
    if selected is None:
        st.caption("Select a step to see its output, its request, its tokens and its time.")
        return
    own, state = workflow.steps[selected], inner.steps[selected]
    place = f"{key}-{selected}"
    with st.container(key=f"inside-step-{key}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{plain(step_name(workflow, selected), limit=80)}**", width="content")
            status_badge(state)
        st.caption(f"Worker: {plain(own.worker)}")
        text_block(own.instruction, key=f"inside-task-{place}", label="Instruction", copy=False, height=100)
        if state.inner:
            st.button(
                "Open inside",
                key=f"inside-open-{place}",
                icon=":material/unfold_more:",
                help=inside_text(state.inner),
                on_click=inside.open,
                args=((*way, Level(selected)),),
            )
        on_the_way(state, key=place)
        if not state.text and not state.done:
            st.caption(f"Output: {silence(state) if state.status == 'running' else 'none yet'}.")
        step_output(state, worker=own.worker, key=place)
        if state.request is not None:
            request_view(
                state.request,
                key=place,
                reader=reader(cards, own.worker, state),
                hidden=hidden_from(workflow, selected),
                origins={(None, at): origin_notes(other) for at, other in enumerate(inner.steps)},
            )
