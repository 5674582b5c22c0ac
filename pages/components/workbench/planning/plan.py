"""The Conductor's plan: its reasoning, every repair, every attempt, or why there is no plan."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import streamlit as st

from conductor.errors import PoolError
from conductor.orchestration.rounds import offered
from conductor.planner.parsing.parse import over_limit
from conductor.planner.parsing.partial_plan import PartialPlan, read_partial_plan
from conductor.planner.planner import STOPPED
from conductor.runs.state import RunState
from conductor.text.formatting import duration, quantity
from conductor.values.total import Total
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import INTERRUPTED, PlanReport
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, expander
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.text_block import Stretch, Tone, text_block
from storage import Plan, Revision
from studio.workbench import Workbench

focus_fallback("no-workflow", "stop", "run", "query")
focus_fallback("ask-again", "stop")
focus_fallback("plan-again", "stop")


def plan_panel(plan: Plan, planned: Revision | None) -> None:
    """The Conductor's reasoning for the plan that is shown; `planned` is the revision that holds it."""
    plan = plan if planned is None else as_used(plan, planned.workflow)
    report = plan.report
    if report is None or not report.ok:
        return
    with st.container(border=True, key="plan-panel", gap="small"):
        # The Conductor's text shows each of them.
        repairs = [quantity(len(report.repairs), "repair")] if report.repairs else []
        text = "\n\n".join(part for part in (report.thinking, report.reasoning) if part)
        rendered_text(
            text or "The Conductor gave no reasoning.",
            key=f"reasoning-{plan.id}",
            label="Reasoning",
            notes=[_planner(plan), *repairs, *plan_facts(plan)],
            framed=False,
            copy=False,
            height=140,
        )
        with st.popover("Conductor's text", type="tertiary", icon=":material/notes:", key="as-written"):
            _as_written(plan)


def why_this_plan(plan: Plan, planned: Revision | None) -> None:
    """The same in one line that opens."""
    if plan.report is None or not plan.report.ok:
        return
    if box := expander("Why this plan", "psychology", key="why-this-plan"):
        with box:
            plan_panel(plan, planned)


def as_used(plan: Plan, workflow: Workflow) -> Plan:
    """The plan; where a person used another one of its text, or one over the limit, with that one as the one
    that counts.
    """
    report = plan.report
    if report is None or report.workflow == workflow:
        return plan
    for at, candidate in enumerate(report.candidates):
        if candidate.workflow == workflow:
            return plan.model_copy(update={"report": report.model_copy(update={"chosen": at})})
        if over_limit(report, at) == workflow:
            choice = candidate.model_copy(update={"workflow": workflow, "problems": ()})
            every = (*report.candidates[:at], choice, *report.candidates[at + 1 :])
            counts = {"chosen": at, "candidates": every, "problems": ()}
            return plan.model_copy(update={"report": report.model_copy(update=counts)})
    return plan


def _planner(plan: Plan) -> str:
    """Who planned, and to whom it was handed over; the reason stands in the reasoning."""
    other = None if plan.report is None else plan.report.handed_over
    return plan.planner if other is None else f"{plan.planner}, handed over to the {other.planner}"


def plan_facts(plan: Plan) -> list[str]:
    """What a plan took, as far as it is known."""
    facts = Total.of([plan.usage]).known_words
    facts += [] if plan.seconds is None else [duration(plan.seconds)]
    named = None if plan.report is None else plan.report.request_id
    return facts if named is None else [*facts, f"request id {named}"]


def plan_so_far(bench: Workbench, view: SessionView, state: RunState | None) -> PartialPlan:
    """A plan as far as its Conductor has written it, without a step while nothing is planned; `state` is that
    of the planning.
    """
    if state is None:
        return PartialPlan("", ())
    try:
        workers = [card.name for card in offered(bench.pool, view.settings)]
    except PoolError:
        workers = []  # the planning fails with the reason
    return read_partial_plan(state.planning_text, workers=workers, dialect=bench.conductor.dialect)


# -- attempts ------------------------------------------------------------------------------------


def attempts(plans: Sequence[Plan], *, of: Plan | None, elsewhere: Plan | None) -> None:
    """The attempts at the plan of the round that `of` belongs to, each to be opened, but for `elsewhere`."""
    if of is None:
        return
    series = 0
    with st.container(key=f"attempts-of-{of.id}", gap="xsmall"):
        for plan in plans:
            if (plan.round, plan.looks_back) != (of.round, of.looks_back):
                continue
            series += plan.attempt == 1
            if elsewhere is None or plan.id != elsewhere.id:
                _attempt(plan, again=series > 1)


def _attempt(plan: Plan, *, again: bool) -> None:
    label = f"Attempt {plan.attempt}{', planned again' if again else ''}: {_verdict(plan)}"
    with st.expander(plain(label), icon=":material/history:", key=f"attempt-{plan.id}"):
        st.caption(plain(" · ".join([plan.planner, *plan_facts(plan)])))
        _reasons(plan)


def _verdict(plan: Plan) -> str:
    if plan.report is None:
        if _ended_by(plan, STOPPED):
            return "stopped"
        return "interrupted" if _ended_by(plan, INTERRUPTED) else "no plan"
    if plan.report.return_previous:
        return "keeps the answer"
    return "a valid plan" if plan.report.ok else f"not valid, {quantity(len(plan.report.problems), 'reason')}"


def _ended_by(plan: Plan, reason: str) -> bool:
    """Whether a person (`STOPPED`) or the end of the process (`INTERRUPTED`) ended it before its answer."""
    return (plan.failure or "").startswith(reason)


def _reasons(plan: Plan) -> None:
    if plan.report is None:
        st.markdown(plain(plan.failure or "The Conductor returned nothing."))
        return
    for problem in plan.report.problems:
        st.markdown(f"- {plain(problem.message)}")
    _as_written(plan)


def _as_written(plan: Plan) -> None:
    """The completion letter for letter, with what was read of it, and the thinking apart from it."""
    if plan.report is None:
        return
    text_block(marked(plan.report), key=f"written-{plan.id}", label="Conductor's text", height=320)
    if plan.report.candidate is not None:
        repaired = " and its repairs" if plan.report.repairs else ""
        st.caption(f"Highlighted: the plan that was read{repaired}.")
    if plan.report.thinking and plan.report.thinking not in plan.report.text:
        rendered_text(
            plan.report.thinking, key=f"thinking-{plan.id}", label="Thinking", copy=False, height=160
        )


# -- no plan -------------------------------------------------------------------------------------


_ENDED_EARLY = {"stopped": ":material/stop_circle:", "interrupted": ":material/power_off:"}


def no_plan(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Why there is no plan to act on: every reason, the raw text, and the ways on."""
    plan = view.no_plan
    if plan is None and view.head is not None:
        return
    with st.container(key="no-plan", gap="small"):
        if plan is None:
            st.info("No plan yet: planning did not finish. Nothing has run.", icon=":material/account_tree:")
        elif plan.report is None and (icon := _ENDED_EARLY.get(_verdict(plan))):
            st.info(f"{plain(plan.failure or '')} {_what_stands(plan)}", icon=icon)
        else:
            gave = "The Conductor gave" if plan.round == 1 else f"Round {plan.round}: the Conductor gave"
            gave += f" no {'' if plan.report is None else 'valid '}plan. {_what_stands(plan)}"
            (st.warning if plan.report is None else st.error)(gave, icon=":material/rule:")
            _reasons(plan)
            if plan.report is not None and (facts := plan_facts(plan)):
                st.caption(plain(" · ".join([f"Attempt {plan.attempt}", *facts])))
        _ways_on(bench, view, plan)
        tab.show_notice("plan")


def _what_stands(plan: Plan) -> str:
    return "Nothing has run." if plan.looks_back is None else f"The answer of round {plan.round - 1} stands."


def _ways_on(bench: Workbench, view: SessionView, plan: Plan | None) -> None:
    session = view.session.id
    rejected = bench.planning.rejected(session) if plan is not None and plan.report is not None else ()
    limit = view.settings.attempts
    spent = len(rejected) >= limit
    later = plan is not None and plan.looks_back is not None
    with st.container(horizontal=True, key="no-workflow", gap="small"):
        _take_it_anyway(bench, view, plan)
        if rejected:
            action(
                "Ask again",
                "refresh",
                bench.planning.ask_again,
                session,
                key="ask-again",
                help="Send the reasons back to the Conductor",
                type="secondary" if spent else "primary",
                disabled=spent,
                place="plan",
            )
        action(
            "Plan again",
            "account_tree",
            bench.planning.begin_round if later else bench.planning.begin,
            session,
            key="plan-again",
            help="Start over, without the reasons",
            type="primary" if spent or not rejected else "secondary",
            place="plan",
        )
        if view.head is None:
            action(
                "Start from one step",
                "edit",
                _one_step,
                bench,
                session,
                key="one-step",
                help="Start with a workflow of one step and edit it by hand",
                place="plan",
            )
    if spent:
        others = "plan again, or start from one step" if view.head is None else "or plan again"
        st.caption(f"The Conductor was asked {len(rejected)} of {limit} times; change the query, {others}.")


def _take_it_anyway(bench: Workbench, view: SessionView, plan: Plan | None) -> None:
    """The button that takes a plan with too many steps as it is; nothing where it has other faults, too."""
    workflow = None if plan is None else over_limit(plan.report)
    if plan is None or plan.report is None or plan.report.prompt is None or workflow is None:
        return
    action(
        f"{quantity(len(workflow), 'step')}, the limit is {plan.report.prompt.max_steps}: take it anyway",
        "check",
        lambda: bench.planning.take_over_limit(plan.id, head=view.head),
        key="take-it-anyway",
        help="Use the plan as written. No model is called.",
        type="primary",
        place="plan",
    )


def _one_step(bench: Workbench, session: str) -> None:
    step = Step(instruction="Answer the question.", worker=bench.pool.names[0])
    bench.editing.edit(session, Workflow.of([step]), note="Started by hand")


def marked(report: PlanReport) -> tuple[Stretch, ...]:
    """The whole text in stretches: the plan that counts, in it what was repaired, around it the rest."""
    plan = report.candidate
    if plan is None:
        return (Stretch(report.text),)
    repairs = sorted(plan.repairs, key=lambda repair: repair.span)
    borders = {0, len(report.text), *plan.span, *(at for repair in repairs for at in repair.span)}
    cuts = sorted(at for at in borders if 0 <= at <= len(report.text))
    stretches = []
    for start, end in pairwise(cuts):
        tone: Tone = "quiet"
        title = ""
        if plan.span[0] <= start and end <= plan.span[1]:
            tone, title = "task", "The plan that was read"
        for repair in repairs:
            if repair.span[0] <= start and end <= repair.span[1]:
                tone, title = "seen", f"Repaired: {repair.detail}"
        stretches.append(Stretch(report.text[start:end], tone, title))
    return tuple(stretches)
