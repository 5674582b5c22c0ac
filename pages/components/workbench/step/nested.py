"""The workflow inside a step, under the graph: its rounds, its graph, its steps' work. Read-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from conductor.planner.planner import STOPPED
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.formatting import duration, quantity
from conductor.values.output import NO_ANSWER
from conductor.workflow.model import Workflow
from pages.components.keyboard.focus import focus_fallback
from pages.components.streamlit_patches.component import trigger_value
from pages.components.streamlit_patches.initial_values import on_choice, show_stored
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import inside_text, step_name
from pages.components.widgets.controls import action, expander, row
from pages.components.widgets.labels import distinct_labels
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.request_legend import origin_notes
from pages.components.widgets.step_result import on_the_way, retry_text, silence, status_badge, step_output
from pages.components.widgets.text_block import text_block
from pages.components.workbench.canvas import still_graph
from pages.components.workbench.step.nested_path import (
    Inside,
    Level,
    Place,
    Way,
    places,
    round_names,
    with_kept_inside,
)
from pages.components.workbench.step.request_view import hidden_from, reader, request_view
from studio.workbench import Workbench

focus_fallback("open-inside", "share")
focus_fallback("inside-out", "open-inside", "share")
focus_fallback("inside-close", "open-inside", "share")

_OUTCOMES: Mapping[str, str] = {
    "running": "running",
    "failed": "failed",
    "cancelled": "stopped",
    "interrupted": "interrupted",
    "over_budget": "stopped at the budget",
    "paused": "waits for a person",
}


def inside_button(session: str, step: int, state: StepState) -> None:
    """In the inspector: what a step has inside, and the button that opens or closes it.

    Opening and closing have a key each: while the page polls, the browser may send a press twice, and the
    second time it must not undo the first.
    """
    if not state.inner:
        return
    inside = Inside(session)
    opened = bool(inside.way) and inside.way[0].step == step

    with row("open-inside"):
        action(
            "Close inside" if opened else "Open inside",
            "unfold_less" if opened else "unfold_more",
            inside.open,
            () if opened else (Level(step),),
            key=f"{'close' if opened else 'open'}-inside-{step}",
            help="This step runs a workflow of its own, shown under the graph",
        )
        st.caption(inside_text(state.inner))


def inner_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the innermost opened place; nothing if no place is open or the workflow is not the one run."""
    inside = Inside(view.session.id)
    state = with_kept_inside(bench, view.state)
    if state is None or not view.as_run or not inside.way:
        return
    path = places(state, inside.way)
    if not path:
        return
    with st.container(border=True, key="inside", gap="small"):
        _breadcrumb(inside, path)
        place = path[-1]
        if place.outer.workflow is not None:
            st.markdown(f"**Inside {plain(step_name(place.outer.workflow, place.step), limit=80)}**")
        _rounds(inside, path)
        _inner(bench, tab, inside, path)


def _breadcrumb(inside: Inside, path: Sequence[Place]) -> None:
    """The way from the workflow to what is open, and a button that closes it."""
    last = len(path) - 1
    with row("inside-way"):
        tip = "Back to the whole workflow"
        action("Workflow", "account_tree", inside.open, (), key="inside-out", help=tip, type="tertiary")
        for depth, place in enumerate(path):
            st.caption(":material/chevron_right:", width="content")
            way, key = _way_of(path[: depth + 1]), f"inside-step-{depth}"
            name = f"Step {place.step + 1}"
            action(name, None, inside.open, way, key=key, type="tertiary", disabled=depth == last)
        st.space("stretch")
        with st.container(key="inside-close", width="content"):
            way, key = _way_of(path[:-1]), f"inside-close-{len(path)}"
            action("Close", "close", inside.open, way, key=key, help="Close this panel", type="tertiary")


def _way_of(path: Sequence[Place]) -> Way:
    return tuple(Level(place.step, place.round_index) for place in path)


def _rounds(inside: Inside, path: Sequence[Place]) -> None:
    """Which round is looked at, where there are several; the newest until another one is chosen."""
    place = path[-1]
    if len(place.rounds) < 2:
        return
    names = dict(enumerate(round_names(place.rounds)))
    key = show_stored(f"inside-round-{_key(inside, path[:-1])}-{place.step}", place.round_index)

    def chosen(at: int | None) -> None:
        inside.look_at(None if at is None or at == len(place.rounds) - 1 else at)

    st.segmented_control(
        "Round",
        list(names),
        key=key,
        format_func=distinct_labels(names),
        label_visibility="collapsed",
        on_change=on_choice(key, chosen),
    )


def _key(inside: Inside, path: Sequence[Place]) -> str:
    """Identifies one place of one run."""
    run = path[0].outer.run if path else ""
    return "-".join([inside.session, run, *(f"{place.step}.{place.round_index}" for place in path)])


def _inner(bench: Workbench, tab: TabState, inside: Inside, path: Sequence[Place]) -> None:
    inner, key, way = path[-1].inner, _key(inside, path), _way_of(path)
    if facts := inner_facts(inner):
        st.caption(plain(" · ".join(facts)))
    _planning(inner, key)
    workflow = inner.workflow
    if workflow is None:
        return
    name = f"inside-graph-{key}"
    result = still_graph(
        bench,
        tab,
        workflow,
        run=inner,
        key=name,
        inspector=f"inside-step-{key}",
        selected=workflow.final,
        reveal=inside.reveal,
        on_inside=lambda: inside.carry_out(trigger_value(name, "inside"), above=way),
    )
    answers = workflow.final if inner.answer_step is None else inner.answer_step
    selected = result.selected["step"] if result.selected else answers
    if selected is None or not 0 <= selected < len(workflow):
        st.caption("Select a step to see its output, its request, its tokens and its time.")
    else:
        _inner_step(bench, inner, workflow, selected, key=key, inside=inside, way=way)


def inner_facts(inner: RunState) -> list[str]:
    """What a nested round came to: its shape, calls, tokens, cost and time, its Conductor's among them."""
    facts = [] if inner.workflow is None else [inner.workflow.topology, quantity(len(inner.workflow), "step")]
    facts.append(
        _OUTCOMES.get(inner.status, "" if inner.answered else NO_ANSWER) if inner.workflow is not None else ""
    )
    if inner.report is not None or inner.workflow is not None:
        facts += [quantity(inner.calls, "call"), *inner.used.known_words]
    if inner.seconds is not None:
        facts.append(duration(inner.seconds))
    return [fact for fact in facts if fact]


def _planning(inner: RunState, key: str) -> None:
    """What the Conductor wrote, and why it gave nothing to run where it did not."""
    if inner.planning_failure is not None:
        if inner.planning_failure.startswith(STOPPED):
            st.info(plain(inner.planning_failure), icon=":material/stop_circle:")
        else:
            st.error(f"No plan: {plain(inner.planning_failure)}", icon=":material/rule:")
    if inner.report is not None and not inner.report.ok:
        reasons = "".join(f"\n- {plain(problem.message)}" for problem in inner.report.problems)
        st.warning(f"The plan is not valid, so nothing of it has run.{reasons}", icon=":material/rule:")
    if inner.kept_reason is not None:
        st.caption(f":material/check: The Conductor keeps the answer of round {inner.round - 1}.")
    for retry in inner.planning_retries:
        st.caption(f":material/refresh: {plain(retry_text(retry))}")
    written = inner.report.text if inner.report is not None else inner.planning_text
    if not written and not inner.planning_thought:
        if inner.report is None and inner.planning_failure is None and inner.workflow is None:
            st.caption("Waiting for the Conductor's first words…")
        return
    name = "Plan as it was written" if inner.report is not None else "Plan as it is written"
    box = expander(name, "account_tree", key=f"inside-plan-{key}")
    if box is None:
        return
    with box:
        if inner.planning_thought:
            rendered_text(inner.planning_thought, key=f"inside-thought-{key}", label="Reasoning", height=160)
        if written:
            text_block(
                written,
                key=f"inside-written-{key}",
                label=name,
                heading=False,
                live=inner.report is None,
                height=240,
            )


def _inner_step(
    bench: Workbench,
    inner: RunState,
    workflow: Workflow,
    selected: int,
    *,
    key: str,
    inside: Inside,
    way: Way,
) -> None:
    """The work of the step selected in the nested graph."""
    own, state = workflow.steps[selected], inner.steps[selected]
    place = f"{key}-{selected}"
    with st.container(key=f"inside-step-{key}", gap="small"):
        with row():
            st.markdown(f"**{plain(step_name(workflow, selected), limit=80)}**", width="content")
            status_badge(state)
        st.caption(f"Worker: {plain(own.worker)}")
        text_block(own.instruction, key=f"inside-task-{place}", label="Instruction", copy=False, height=100)
        if state.inner:
            deeper, tip = (*way, Level(selected)), inside_text(state.inner)
            action(
                "Open inside",
                "unfold_more",
                inside.open,
                deeper,
                key=f"inside-open-{place}",
                help=tip,
                redraw=False,
            )
        on_the_way(state, key=place)
        if not state.text and not state.done:
            st.caption(f"Output: {silence(state) if state.status == 'running' else 'none yet'}.")
        step_output(state, worker=own.worker, key=place)
        if state.request is not None:
            request_view(
                state.request,
                key=place,
                reader=reader(bench.pool.cards, own.worker, state),
                hidden=hidden_from(workflow, selected),
                origins={(None, at): origin_notes(other) for at, other in enumerate(inner.steps)},
                uses=state.tool_uses,
            )
