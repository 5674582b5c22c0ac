"""The plan panel: the Conductor's reasoning, every repair, or the reasons why there is no plan."""

from __future__ import annotations

import streamlit as st

from conductor.errors import ConductorError
from conductor.workflow import Step, Workflow
from pages.components.passage import passage
from pages.components.state import TabState, plain
from storage import Plan, Session
from storage.workbench import Workbench


def plan_panel(plan: Plan) -> None:
    """What the Conductor said for the plan that is shown."""
    report = plan.report
    if report is None or not report.ok:
        return
    with st.container(border=True, key="plan-panel", gap="small"):
        text = "\n\n".join(part for part in (report.thinking, report.reasoning) if part)
        with st.container(horizontal=True, vertical_alignment="top"):
            with st.container(width="stretch"):
                passage(
                    text or "The Conductor gave no reasoning.",
                    key=f"reasoning-{plan.id}",
                    label="Reasoning",
                    notes=[plan.planner],
                    framed=False,
                    copy=False,
                    height=140,
                )
            with st.popover("As written", type="tertiary", icon=":material/notes:"):
                passage(report.text, key=f"completion-{plan.id}", label="Completion as written", height=300)
        for repair in report.repairs:
            st.caption(f":material/build: {plain(repair.kind)}: {plain(repair.detail)}")


def no_workflow(bench: Workbench, tab: TabState, session: Session, plan: Plan | None) -> None:
    """A session without a workflow: every reason, the raw text, and the ways on."""
    if plan is None:
        st.info("No plan yet: planning did not end. Nothing has run.", icon=":material/account_tree:")
    else:
        st.error("The Conductor gave no valid plan. Nothing has run.", icon=":material/rule:")
        _reasons(plan)
    with st.container(horizontal=True):
        st.button(
            "Ask again",
            icon=":material/refresh:",
            type="primary",
            on_click=_ask_again,
            args=(bench, tab, session),
        )
        st.button(
            "Start from one step", icon=":material/edit:", on_click=_one_step, args=(bench, tab, session)
        )
    tab.show_notice("plan")


def _reasons(plan: Plan) -> None:
    if plan.report is None:
        st.markdown(plain(plan.failure or "It gave no completion at all."))
        return
    for problem in plan.report.problems:
        st.markdown(f"- {plain(problem.message)}")
    passage(plan.report.text, key=f"rejected-{plan.id}", label="Completion as written", height=320)


def _ask_again(bench: Workbench, tab: TabState, session: Session) -> None:
    try:
        bench.plan(session.id)
    except ConductorError as error:
        tab.notify("error", str(error), place="plan")


def _one_step(bench: Workbench, tab: TabState, session: Session) -> None:
    step = Step(instruction="Answer the question.", worker=bench.pool.names[0])
    try:
        bench.edit(session.id, Workflow.of([step]), note="Started by hand")
    except ConductorError as error:
        tab.notify("error", str(error), place="plan")
