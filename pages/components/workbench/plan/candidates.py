"""Other plans than the one that counts: those in the Conductor's text, and alternatives asked for at once.

Each can be looked at, used or compared; none takes the place of the workflow until a person uses it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from conductor.errors import ConductorError
from conductor.runs.state import RunState
from conductor.text.formatting import counted, dollars, duration, tokens
from conductor.values.messages import NOTHING_USED
from pages.components.tab.error_boundary import errors_shown
from pages.components.tab.state import TabState, plain
from pages.components.view_models.plan_choices import PlanChoice, choices_of_batch, choices_of_text
from pages.components.view_models.session import SessionView
from pages.components.workbench.current_view import CurrentView
from pages.components.workbench.plan.candidate_list import plan_list
from storage import Plan
from studio.sessions.alternatives import FEWEST, MOST, LiveAlternatives
from studio.workbench import Workbench

_USUAL = 3


def candidates(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """Draw the box with the other plans, closed until a person opens it."""

    @st.fragment(key="other-plans-part")
    def part() -> None:
        tab.redraw_if_asked()
        with errors_shown("other-plans"):
            _box(bench, tab, current.of("other-plans-part"))

    part()


def _box(bench: Workbench, tab: TabState, view: SessionView) -> None:
    session = view.session.id
    of_text = _of_text(view)
    batch = bench.store.plans.alternatives(session)
    box = _opened(f"Other plans{_remark(of_text, batch)}", session)
    if box is None:
        return
    with box:
        if len(of_text) > 1:
            st.caption(f"{counted(len(of_text), 'complete plan')} in the Conductor's text.")
            plan_list(bench, tab, view, of_text, key="text")
        if batch:
            shown = choices_of_batch(batch, shown=None if view.head is None else view.head.workflow)
            st.caption(plain(_of_batch(batch, shown)))
            plan_list(bench, tab, view, shown, key="batch")
        _ask(bench, tab, view)
        tab.show_notice("candidates")


def _opened(label: str, session: str) -> DeltaGenerator | None:
    """The box, None while it is closed. Streamlit closes one whose label changes, so its state is ours."""
    key, remembered = f"other-plans-{session}", f"other-plans-open-{session}"

    def turned() -> None:
        st.session_state[remembered] = st.session_state[key]

    st.session_state[key] = st.session_state.get(remembered, False)
    box = st.expander(label, icon=":material/alt_route:", key=key, on_change=turned)
    return box if box.open else None


def _of_text(view: SessionView) -> tuple[PlanChoice, ...]:
    shown = None if view.head is None else view.head.workflow
    return () if view.plan is None else choices_of_text(view.plan, shown=shown)


def _remark(of_text: Sequence[PlanChoice], batch: Sequence[Plan]) -> str:
    said = [f"{len(of_text)} in this text"] if len(of_text) > 1 else []
    said += [counted(len(batch), "alternative")] if batch else []
    return f": {', '.join(said)}" if said else ""


def _of_batch(batch: Sequence[Plan], choices: Sequence[PlanChoice]) -> str:
    asked = " · ".join([f"{counted(len(batch), 'alternative')} asked for at once", *_spent(batch)])
    valid = sum(plan.report is not None and plan.report.workflow is not None for plan in batch)
    told = f"{asked}; {valid or 'none'} of them valid." if valid < len(batch) else f"{asked}."
    if valid > 1 and sum(choice.workflow is not None for choice in choices) == 1:
        told += " All of them are the same plan."
        if batch[0].planner_kind == "offline":
            told += (
                " The offline planner goes by rules, so it writes the same plan however often it is asked."
            )
    return told


def _spent(batch: Sequence[Plan]) -> list[str]:
    """What all of them took together, as far as it is known."""
    used = sum((plan.usage for plan in batch), NOTHING_USED)
    said = [] if used.total is None else [tokens(used.total)]
    return said if used.cost is None else [*said, dollars(used.cost)]


# -- asking ----------------------------------------------------------------------------------------


def _ask(bench: Workbench, tab: TabState, view: SessionView) -> None:
    session = view.session.id

    def clicked() -> None:
        try:
            bench.planning.begin_alternatives(session, st.session_state[f"alternatives-{session}"])
        except ConductorError as error:
            tab.notify("error", str(error), place="candidates")
        tab.ask_redraw()

    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="alternatives"):
        st.button(
            "Ask for alternatives",
            key="ask-alternatives",
            icon=":material/alt_route:",
            disabled=view.locked,
            on_click=clicked,
        )
        st.segmented_control(
            "How many",
            list(range(FEWEST, MOST + 1)),
            default=_USUAL,
            required=True,
            key=f"alternatives-{session}",
            label_visibility="collapsed",
        )
        st.caption("plans, asked for at once within the session's budget", width="content")


def asking(live: LiveAlternatives, *, planner: str) -> None:
    """Plans that are being written at once: how many have ended, and what each does."""
    states = live.states
    total = len(states)
    with st.container(border=True, key="asking", gap="xsmall"):
        st.progress(live.ended / total, text=f"Alternatives: {live.ended} of {total} plans have ended")
        for number, (state, plan) in enumerate(zip(states, live.plans, strict=True), start=1):
            said = _ended(state) if plan.done.is_set() else _under_way(state)
            st.caption(plain(f"Alternative {number}: {said}"))
        st.caption(plain(f"{planner} is asked {total} times at once; Stop keeps the finished plans."))


def _under_way(state: RunState) -> str:
    if state.started_at is None:
        return "waiting for its turn"
    since = duration(max(0.0, time.time() - state.started_at))
    if state.planning_text:
        return f"{counted(len(state.planning_text), 'character')} written, {since}"
    if state.planning_retries:
        return f"asked again: {state.planning_retries[-1].reason}"
    return f"{'thinking' if state.planning_thought else 'waiting for the first words'}, {since}"


def _ended(state: RunState) -> str:
    if state.planning_failure is not None:
        return f"no plan: {state.planning_failure}"
    if state.report is None:
        return "stopped"
    if state.report.workflow is not None:
        return f"valid, {counted(len(state.report.workflow), 'step')}"
    return (
        "keeps the answer"
        if state.report.ok
        else f"not valid, {counted(len(state.report.problems), 'reason')}"
    )
