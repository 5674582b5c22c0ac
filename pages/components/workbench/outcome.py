"""The centre of the workbench under the header: graph, progress, streaming text, answer. Draws only."""

from __future__ import annotations

import time

import streamlit as st

from conductor.amounts import counted, dollars, duration, tokens
from conductor.drawing import draw
from conductor.errors import ConductorError
from conductor.events import BudgetExceeded
from conductor.layout import layouts
from conductor.modes import MAX_ROUNDS
from conductor.run_state import RunState
from conductor.workflow import Workflow
from pages.components.editing import Editor
from pages.components.faces import faces, step_name
from pages.components.graph import workflow_graph
from pages.components.inside import Inside, with_kept_inside
from pages.components.passage import passage
from pages.components.plan_panel import plan_facts
from pages.components.session_view import SessionView
from pages.components.settings import open_settings
from pages.components.spent import spent
from pages.components.stand_ins import answer_kind, answer_stand_in, stand_in
from pages.components.state import TabState, plain
from pages.components.statuses import STATE_ICONS
from pages.components.step_result import silence
from pages.components.thumbs import thumbs
from storage import Plan
from storage.workbench import Workbench


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
    shown = faces(
        workflow,
        run=state,
        radius=view.radius,
        cards=bench.pool.cards,
        now=time.time(),
        pin_changed=view.pin_changed,
    )
    workflow_graph(
        draw(workflow, shown, pictures),
        pictures,
        key=key,
        direction=tab.direction,
        selected=tab.selected,
        selection_revision=tab.selection_revision,
        locked=view.locked,
        inspector="inspector",
        opened=inside.way[0].step if inside.way else None,
        on_select=selected,
        on_edit=edited,
        on_inside=opened,
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
    parts.append(tokens(state.usage.total))
    if state.usage.cost:
        parts.append(dollars(state.usage.cost))
    st.progress(done / max(1, len(state.steps)), text=" · ".join(parts))


def budget_meter(state: RunState) -> None:
    """How much of each limit the run uses, in thin bars."""
    limits = spent(state, now=time.time())
    if not limits:
        return
    with st.container(horizontal=True, gap="medium", key="budget-meter"):
        for limit in limits:
            st.progress(limit.share, text=plain(limit.words))
    if state.used_before.calls:
        st.caption("Planning and rounds that led to this run by themselves are counted in.")


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
                passage(
                    step.text or f"{silence(step).capitalize()}…",
                    key=f"stream-{state.run}-{at}",
                    label=step_name(state.workflow, at),
                    notes=[stand_in(worker, step) or worker, *_said_of_pool(view)],
                    copy=False,
                    live=True,
                    height=130,
                    steady=True,
                )


def _said_of_pool(view: SessionView) -> list[str]:
    """What must be said of the pool that ran, which may not be today's."""
    return [view.run.pool_label] if view.run is not None and view.run.pool_label else []


def outcome(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """The end of a run: the answer, or what failed, what was kept and what to do; then another round."""
    state = view.state
    if state is None or state.live or state.workflow is None:
        return
    if view.unsaved:
        st.error(
            f"Not all of this run could be kept: {plain(view.unsaved)} What you see is whole until the app "
            "ends; copy what you need, mend the cause and run again.",
            icon=":material/save:",
        )
    _what_happened(tab, view, state, state.workflow, when="" if view.as_run else "Before your edits: ")
    if state.answer is not None:
        notes = [] if view.as_run else ["of the run before your edits"]
        notes += [*answer_stand_in(state), *(_said_of_pool(view) or answer_kind(state))]
        passage(state.answer, key=f"answer-{state.run}", label="Answer", notes=notes)
        if state.warning:
            st.caption(plain(state.warning))
        thumbs(bench, view)
    elif not state.whole:
        _earlier_answer(bench, view, state)
    if view.kept_answer is not None:
        _kept(view.kept_answer)
    if state.status == "finished":
        _another_round(bench, tab, view, state)


def _earlier_answer(bench: Workbench, view: SessionView, state: RunState) -> None:
    """The answer that still stands after a run that went for a part of the workflow only."""
    runs = bench.store.runs(view.session.id)
    earlier = next((run for run in runs if run.answer is not None and run.id != state.run), None)
    if earlier is None or earlier.answer is None:
        st.caption("No run of this session has given an answer yet; run the whole workflow for one.")
        return
    notes = ["of an earlier run", *([earlier.pool_label] if earlier.pool_label else [])]
    passage(earlier.answer, key=f"answer-{earlier.id}", label="Answer", notes=notes)


def _kept(plan: Plan) -> None:
    """That the Conductor looked at the answer and leaves it as it is, with its own reason."""
    reason = plan.report.reasoning if plan.report is not None else ""
    passage(
        reason or "The Conductor gave no reason.",
        key=f"kept-{plan.id}",
        label=f"Round {plan.round}: the Conductor keeps the answer",
        notes=[plan.planner, *plan_facts(plan)],
        copy=False,
        height=140,
    )


def _another_round(bench: Workbench, tab: TabState, view: SessionView, state: RunState) -> None:
    def clicked() -> None:
        try:
            bench.begin_round(view.session.id)
        except ConductorError as error:
            tab.notify("error", str(error), place="round")
        tab.ask_redraw()

    why = _no_further_round(view, state)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            "Another round",
            key="another-round",
            icon=":material/layers:",
            help="The Conductor looks at the answer and plans once more, or keeps it as it is",
            disabled=why is not None,
            on_click=clicked,
        )
        if why is not None:
            st.caption(why)
    tab.show_notice("round")


def _no_further_round(view: SessionView, state: RunState) -> str | None:
    if view.locked:
        return "Something goes on in this session; wait for it, or stop it."
    if state.round >= MAX_ROUNDS:
        return f"This was round {state.round}; a query has at most {MAX_ROUNDS} rounds."
    if not view.as_run or not view.newest:
        return "Run the workflow as it is now first."
    return None


def _resumption(view: SessionView) -> str | None:
    """What a rerun of the workflow as it is now keeps; None where that is nothing, or cannot be told."""
    if view.head is None or view.outlook is None:
        return None
    resumption = view.outlook.resumption(range(len(view.head.workflow)))
    return None if resumption is None else f"A rerun resumes: {resumption.words}."


def _what_happened(
    tab: TabState, view: SessionView, state: RunState, workflow: Workflow, *, when: str
) -> None:
    kept = counted(sum(step.output is not None for step in state.steps), "finished output")
    for at, step in enumerate(state.steps):
        if step.status == "failed":
            st.error(
                f"{when}{plain(step_name(workflow, at))} failed: {plain(step.message or '')} "
                f"{kept} kept; a rerun calls only what failed and what reads it.",
                icon=":material/error:",
            )
    if state.crossing is not None:
        _over_budget(tab, state.crossing, kept=kept, when=when)
    if state.covers is not None:
        names = ", ".join(str(step + 1) for step in state.covers)
        st.caption(f"{when}This run covered step {names} only; the others were left as they are.")
    for reused, reads in state.cutoffs.items():
        names = ", ".join(str(read + 1) for read in reads)
        st.caption(
            f":material/content_cut: {when}Step {names} answered as before, so step {reused + 1} was reused."
        )
    match state.status:
        case "finished":
            st.caption(when + " · ".join(_sums(state)))
        case "cancelled":
            on = "; a rerun goes on from there" if not when else ""
            st.info(f"{when}Stopped. {kept} kept{on}.", icon=":material/stop_circle:")
        case "interrupted":
            nothing_known = f"{kept} kept; a rerun goes on from there."
            st.warning(
                f"{when}Interrupted: the process that ran this ended before the run did. "
                f"{_resumption(view) or nothing_known}",
                icon=":material/power_off:",
            )


def _sums(state: RunState) -> list[str]:
    """How many steps did what, and what the run took: calls, tokens, cost, time."""
    counts = {
        "ran": sum(step.output is not None and step.started_at is not None for step in state.steps),
        "reused": sum(step.reused for step in state.steps),
        "pinned": sum(step.kept == "pinned" for step in state.steps),
        "failed": sum(step.status == "failed" for step in state.steps),
        "blocked": sum(step.status == "blocked" for step in state.steps),
    }
    said = [f"{counted(counts.pop('ran'), 'step')} ran"]
    said += [f"{count} {what}" for what, count in counts.items() if count]
    said += [counted(state.calls, "call"), tokens(state.usage.total), f"cost {dollars(state.usage.cost)}"]
    return said if state.seconds is None else [*said, duration(state.seconds)]


def _over_budget(tab: TabState, crossing: BudgetExceeded, *, kept: str, when: str) -> None:
    """Which limit it was, what was kept, and the way to raise it."""

    def clicked() -> None:
        open_settings()
        tab.ask_redraw()

    st.warning(
        f"{when}Stopped at the budget: {plain(crossing.words)} used. {kept} kept; a rerun counts anew and "
        "goes on from there.",
        icon=STATE_ICONS["over_budget"],
    )
    st.button("Raise the limit", key="raise-limit", icon=":material/tune:", on_click=clicked)
