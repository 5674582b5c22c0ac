"""The centre of the workbench under the header: graph, progress, streaming text, answer. Draws only."""

from __future__ import annotations

import time

import streamlit as st

from conductor.drawing import draw
from conductor.layout import graph_height, layout
from conductor.run_state import RunState
from conductor.workflow import Workflow
from pages.components.editing import Editor
from pages.components.faces import duration, faces, step_name
from pages.components.graph import workflow_graph
from pages.components.passage import passage
from pages.components.session_view import SessionView
from pages.components.state import TabState, plain
from storage.workbench import Workbench

_WIDTH_HINT = 900
"""About how wide the centre is, in pixels; the browser fits the picture to the true width."""


def graph(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """The workflow's graph; selecting redraws the inspector only, editing the whole page."""
    if view.head is None:
        return
    workflow = view.head.workflow
    key = f"graph-{view.session.id}"
    editor = Editor(bench=bench, tab=tab, session=view.session.id, head=view.head)

    def selected() -> None:
        tab.note_selection(st.session_state[key].selected["step"])
        st.rerun("inspector")

    def edited() -> None:
        asked = st.session_state[key].edit
        if asked and not view.live:
            editor.from_graph(asked)
        tab.ask_redraw()

    drawn = layout(workflow, direction=tab.direction)
    shown = faces(workflow, run=view.state, radius=view.radius, cards=bench.pool.cards, now=time.time())
    workflow_graph(
        draw(workflow, shown, drawn),
        key=key,
        direction=tab.direction,
        selected=tab.selected,
        selection_revision=tab.selection_revision,
        locked=view.live,
        height=graph_height(drawn, _WIDTH_HINT),
        inspector="inspector",
        on_select=selected,
        on_edit=edited,
    )


def progress(state: RunState) -> None:
    """How far the run is, in steps, seconds and tokens."""
    done = sum(step.done for step in state.steps)
    seconds = state.seconds
    if seconds is None and state.started_at is not None:
        seconds = time.time() - state.started_at
    parts = [f"{done} of {len(state.steps)} steps"]
    if seconds is not None:
        parts.append(duration(max(0.0, seconds)))
    tokens = state.usage.total
    parts.append("- tokens" if tokens is None else f"{tokens:,} tokens")
    st.progress(done / max(1, len(state.steps)), text=" · ".join(parts))


def streaming(view: SessionView) -> None:
    """What running steps are writing just now."""
    state = view.state
    if state is None or state.workflow is None:
        return
    for at, step in enumerate(state.steps):
        if step.status == "running":
            passage(
                step.text or "Waiting for the first words…",
                key=f"stream-{state.run}-{at}",
                label=step_name(state.workflow, at),
                notes=[state.workflow.steps[at].worker, *_said_of_pool(view)],
                copy=False,
                live=True,
                height=130,
            )


def _said_of_pool(view: SessionView) -> list[str]:
    """What must be said of the pool that ran, which may not be today's."""
    return [view.run.pool_label] if view.run is not None and view.run.pool_label else []


def outcome(view: SessionView) -> None:
    """The end of a run: the answer, or what failed, what was kept and what to do."""
    state = view.state
    if state is None or state.live or state.workflow is None:
        return
    if view.unsaved:
        st.error(
            f"Not all of this run could be kept: {plain(view.unsaved)} What you see is whole until the app "
            "ends; copy what you need, mend the cause and run again.",
            icon=":material/save:",
        )
    _what_happened(state, state.workflow, when="" if view.as_run else "Before your edits: ")
    if state.answer is None:
        return
    notes = [*([] if view.as_run else ["of the run before your edits"]), *_said_of_pool(view)]
    passage(state.answer, key=f"answer-{state.run}", label="Answer", notes=notes)
    if state.warning:
        st.caption(plain(state.warning))


def _what_happened(state: RunState, workflow: Workflow, *, when: str) -> None:
    kept = _count(sum(step.output is not None for step in state.steps), "finished output")
    for at, step in enumerate(state.steps):
        if step.status == "failed":
            st.error(
                f"{when}{plain(step_name(workflow, at))} failed: {plain(step.message or '')} "
                f"{kept} kept; a rerun calls only what failed and what reads it.",
                icon=":material/error:",
            )
    match state.status:
        case "finished":
            st.caption(when + " · ".join(_sums(state)))
        case "cancelled":
            st.info(f"{when}Stopped. {kept} kept; a rerun goes on from there.", icon=":material/stop_circle:")
        case "interrupted":
            st.warning(
                f"{when}Interrupted: the process that ran this ended before the run did. "
                f"{kept} kept; a rerun goes on from there.",
                icon=":material/power_off:",
            )


def _sums(state: RunState) -> list[str]:
    """How many steps did what, and how long the run took."""
    counts = {
        "ran": sum(step.output is not None and not step.reused for step in state.steps),
        "reused": sum(step.reused for step in state.steps),
        "failed": sum(step.status == "failed" for step in state.steps),
        "blocked": sum(step.status == "blocked" for step in state.steps),
    }
    said = [f"{_count(counts.pop('ran'), 'step')} ran"]
    said += [f"{count} {what}" for what, count in counts.items() if count]
    return said if state.seconds is None else [*said, duration(state.seconds)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
