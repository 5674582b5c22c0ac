"""The centre of the workbench under the header: graph, progress and streaming text. Draws only."""

from __future__ import annotations

import time

import streamlit as st

from conductor.drawing.layout import layouts
from conductor.drawing.network import draw
from conductor.runs.state import RunState
from conductor.text.formatting import duration
from conductor.values.total import Total
from pages.components.graph import workflow_graph
from pages.components.tab.state import TabState, plain
from pages.components.view_models.answer_notes import stand_in
from pages.components.view_models.budget_used import spent
from pages.components.view_models.card_content import card_contents, step_name
from pages.components.view_models.session import SessionView
from pages.components.widgets.step_result import silence, withdrawn_note
from pages.components.widgets.text_block import text_block
from pages.components.workbench.editing.editor import Editor
from pages.components.workbench.outcome import pool_notes
from pages.components.workbench.step.nested_path import Inside, with_kept_inside
from studio.workbench import Workbench


def graph(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """The workflow's graph; selecting redraws the inspector only, editing the whole page."""
    if view.head is None:
        return
    workflow = view.head.workflow
    key = f"graph-{view.session.id}"
    editor = Editor(bench=bench, tab=tab, session=view.session.id, head=view.head)

    def selected() -> None:
        tab.note_selection(st.session_state[key].selected["step"])
        tab.redraw(tab.shows_selection)

    def edited() -> None:
        asked = st.session_state[key].edit
        if asked and not view.locked:
            editor.from_graph(asked)
        tab.ask_redraw()

    def opened() -> None:
        inside.asked(st.session_state[key].inside, above=())
        tab.ask_redraw()

    inside = Inside(view.session.id)
    state = with_kept_inside(bench, view.state)
    pictures = layouts(workflow, direction=tab.direction)
    shown = card_contents(
        workflow,
        run=state,
        radius=view.radius,
        cards=bench.pool.cards,
        now=time.time(),
        pin_changed=view.pin_changed,
    )
    result = workflow_graph(
        draw(workflow, shown, pictures),
        pictures,
        key=key,
        direction=tab.direction,
        selected=tab.selected,
        selection_revision=tab.selection_revision if tab.selection_known else None,
        locked=view.locked,
        inspector="inspector",
        opened=inside.way[0].step if inside.way else None,
        revision=view.head.id,
        on_select=selected,
        on_edit=edited,
        on_inside=opened,
    )
    if not tab.selection_known:
        tab.adopt_selection((result.selected or {}).get("step"))


def progress(state: RunState) -> None:
    """How far the run is."""
    done = sum(step.done for step in state.steps)
    st.progress(done / max(1, len(state.steps)), text=progress_text(state, now=time.time()))


def progress_text(state: RunState, *, now: float) -> str:
    """The steps that are done, seconds, and the tokens and dollars that are known, where any are."""
    done = sum(step.done for step in state.steps)
    seconds = state.seconds
    if seconds is None and state.started_at is not None:
        seconds = now - state.started_at
    parts = [f"{done} of {len(state.steps)} steps"]
    if seconds is not None:
        parts.append(duration(max(0.0, seconds)))
    used = Total.of(step.usage for step in state.steps if step.started_at is not None)
    if used.tokens:
        parts.append(used.token_words)
    if used.cost:
        parts.append(used.cost_words)
    return " · ".join(parts)


def budget_meter(state: RunState) -> None:
    """How much of each limit the run uses, in thin bars."""
    limits = spent(state, now=time.time())
    if not limits:
        return
    with st.container(horizontal=True, gap="medium", key="budget-meter"):
        for limit in limits:
            st.progress(limit.share, text=plain(limit.words))
    if state.used_before.calls:
        st.caption("Includes the planning and the rounds that led to this run.")


def streaming(view: SessionView) -> None:
    """What running steps are writing just now."""
    state = view.state
    if state is None or state.workflow is None or not state.live:
        return
    # Keeps its room while one step hands over to the next.
    with st.container(key="streams"):
        for at, step in enumerate(state.steps):
            if step.status == "running":
                worker = state.workflow.steps[at].worker
                text_block(
                    step.text or f"{silence(step).capitalize()}…",
                    key=f"stream-{state.run}-{at}",
                    label=step_name(state.workflow, at),
                    notes=[stand_in(worker, step) or worker, *withdrawn_note(step), *pool_notes(view)],
                    copy=False,
                    live=True,
                    height=130,
                    steady=True,
                )
