"""Live text: a plan, alternatives, running steps; and how far a run and its budget are."""

from __future__ import annotations

import time
from functools import partial

import streamlit as st

from conductor.runs.state import RunState
from conductor.text.formatting import duration, quantity
from pages.components.tab.state import plain
from pages.components.view_models.run_text import spent, stand_in
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import action, row
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.step_result import silence_lines, withdrawn_note
from pages.components.workbench.following.live_refresh import CurrentView
from pages.components.workbench.outcome.answer import pool_notes
from pages.components.workbench.planning.plan import plan_so_far
from studio.sessions.activity import LiveAlternatives
from studio.workbench import Workbench

_MOST_STREAMS = 20
"""Running steps whose texts are shown: of a thousand, a browser draws nothing else."""


def progress(state: RunState) -> None:
    """How far the run is."""
    done = sum(step.done for step in state.steps)
    with st.container(key="run-progress"):
        st.progress(done / max(1, len(state.steps)))


def budget_meter(view: SessionView) -> None:
    """How much of each limit the run uses, in thin bars."""
    state = view.state
    limits = () if state is None else spent(state, now=time.time())
    if state is None or not limits:
        return
    with st.container(horizontal=True, gap="medium", key="budget-meter"):
        for limit in limits:
            st.progress(limit.share, text=plain(limit.words))
    if state.used_before.calls:
        st.caption("Includes planning and earlier rounds.")


def streaming(
    view: SessionView, *, height: int | None = None, steady: bool = True, noted: bool = True
) -> None:
    """What running steps are writing just now, each in so many pixels of height, by default its share of the
    pane's, or in fewer while it is short where it is not `steady`; `noted` with the run's pool.
    """
    state = view.state
    if state is None or state.workflow is None or not state.live:
        return
    running = [at for at, step in enumerate(state.steps) if step.status == "running"]
    share = f"max(8rem, calc(var(--live-room) / {max(1, len(running))} - 4rem))"
    # Keeps its room while one step hands over to the next.
    with st.container(key="streams"):
        for at in running[:_MOST_STREAMS]:
            step, worker = state.steps[at], state.workflow.steps[at].worker
            rendered_text(
                step.text,
                key=f"stream-{state.run}-{at}",
                label=step_name(state.workflow, at),
                notes=[
                    stand_in(worker, step) or worker,
                    *withdrawn_note(step),
                    *(pool_notes(view) if noted else ()),
                ],
                copy=False,
                live=True,
                waiting=silence_lines(step),
                height=share if height is None else height,
                steady=steady,
            )
        if len(running) > _MOST_STREAMS:
            st.caption(f"{quantity(len(running) - _MOST_STREAMS, 'more step')} running.")


# -- planning ------------------------------------------------------------------------------------


def live_planning(bench: Workbench, current: CurrentView, *, stop: bool) -> None:
    """Show the planning, and what comes between it and a run, as it proceeds."""
    current.fragment("planning-live", partial(planning, bench, stop=stop), follows="always")


def planning(bench: Workbench, view: SessionView, *, stop: bool) -> None:
    """Draw it, or what is waited for; with a button to `stop` where the page has no other."""
    alternatives = bench.activities.live_alternatives(view.session.id)
    if alternatives is not None:
        _alternatives(bench, view, alternatives)
        if stop:
            _stop(bench, view, "Stop; finished plans are kept")
    elif view.planning is not None:
        _plan(bench, view, view.planning, stop=stop)
    else:
        _waiting(view)


def _plan(bench: Workbench, view: SessionView, state: RunState, *, stop: bool) -> None:
    """The Conductor's reasoning as it comes, its thinking apart, retries, attempt and time; its steps are in
    the graph.
    """
    card = bench.conductor.card
    facts = [f"attempt {state.attempt}"]
    if (seconds := state.elapsed(time.time())) is not None:
        facts.append(f"{seconds:.1f} s")
    with st.container(border=True, key="planning", gap="small"):
        with row("planning-head"):
            heading = "Planning" if state.round == 1 else f"Planning round {state.round}"
            st.markdown(f":material/progress_activity: **{heading}**", width="content")
            st.caption(plain(" · ".join(facts)), width="stretch")
            if stop:
                _stop(bench, view, "Stop planning; the query and earlier attempts are kept")
        for retry in state.planning_retries:
            when = f"in {duration(retry.seconds)}" if retry.seconds else "at once"
            st.caption(f":material/refresh: Asked again {when}: {plain(retry.reason)}")
        if state.planning_thought:
            with st.expander("Thinking", icon=":material/psychology:", key="planning-thinking"):
                rendered_text(
                    state.planning_thought,
                    key="planning-thought",
                    label="Thinking",
                    heading=False,
                    framed=False,
                    copy=False,
                    live=True,
                    height=160,
                )
        plan = plan_so_far(bench, view, state)
        amount = f"{quantity(len(plan.steps), 'step')} so far, no reasoning yet."
        rendered_text(
            plan.reasoning or (amount if plan.steps else _silence(state)),
            key="planning-text",
            label="Reasoning as it is written",
            notes=[card.name, *([] if card.kind == "model" else [card.kind])],
            framed=False,
            copy=False,
            live=True,
            height=260,
        )


def _stop(bench: Workbench, view: SessionView, tip: str) -> None:
    action("Stop", "stop", bench.running.stop, view.session.id, key="stop", help=tip, redraw=False)


def _silence(state: RunState) -> str:
    if state.started_at is None:
        return "Asking the Conductor…"
    return "Thinking; nothing written yet…" if state.planning_thought else "Waiting for the first words…"


def _waiting(view: SessionView) -> None:
    """Between planning and a run; nothing where all is about to be over."""
    state = view.state
    if view.live:
        return
    if state is None or (view.head is not None and not view.as_run):
        st.caption(":material/hourglass_top: Waiting for the run to start.")
    elif state.status == "finished" and state.round < view.settings.rounds:
        st.caption(":material/hourglass_top: Waiting for the Conductor to look at the answer.")


def _alternatives(bench: Workbench, view: SessionView, live: LiveAlternatives) -> None:
    """Plans that are being written at once: how many have ended, and what each does."""
    states = live.states
    total = len(states)
    if live.is_change:
        with st.container(border=True, key="asking", gap="xsmall"):
            st.markdown(":material/progress_activity: **Changing the plan as asked**")
            st.caption(plain(f"{bench.conductor.card.name}: {_under_way(states[0])}"))
            if reasoning := plan_so_far(bench, view, states[0]).reasoning:
                rendered_text(
                    reasoning,
                    key="asking-text",
                    label="Reasoning as it is written",
                    framed=False,
                    copy=False,
                    live=True,
                    height=260,
                )
        return
    with st.container(border=True, key="asking", gap="xsmall"):
        st.progress(live.ended / total, text=f"Alternatives: {live.ended} of {total} plans have ended")
        for number, (state, plan) in enumerate(zip(states, live.plans, strict=True), start=1):
            doing = _ended(state) if plan.done.is_set() else _under_way(state)
            st.caption(plain(f"Alternative {number}: {doing}"))
        st.caption(
            plain(
                f"{bench.conductor.card.name} is asked {total} times at once; Stop keeps the finished plans."
            )
        )


def _under_way(state: RunState) -> str:
    if state.started_at is None:
        return "waiting for its turn"
    since = duration(state.elapsed(time.time()))
    if state.planning_text:
        return f"{quantity(len(state.planning_text), 'character')} written, {since}"
    if state.planning_retries:
        return f"asked again: {state.planning_retries[-1].reason}"
    return f"{'thinking' if state.planning_thought else 'waiting for the first words'}, {since}"


def _ended(state: RunState) -> str:
    if state.planning_failure is not None:
        return f"no plan: {state.planning_failure}"
    if state.report is None:
        return "stopped"
    if state.report.workflow is not None:
        return f"valid, {quantity(len(state.report.workflow), 'step')}"
    reasons = f"not valid, {quantity(len(state.report.problems), 'reason')}"
    return "keeps the answer" if state.report.ok else reasons
