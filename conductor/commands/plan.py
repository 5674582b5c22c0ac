"""`plan QUERY`: what the Conductor would do, without doing it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from conductor.checks import Finding, check
from conductor.commands.opening import opened
from conductor.commands.settings import add_settings, positive, settings_of
from conductor.commands.shapes import Shape, findings_shape, report_shape, usage_shape
from conductor.commands.terminal import print_remark, print_shown
from conductor.errors import PlanError
from conductor.modes import Settings
from conductor.plan import PlanReport
from conductor.workflow import Workflow
from storage import Plan
from storage.alternatives import FEWEST, MOST


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("plan", parents=parents, help="write a workflow for a query")
    parser.add_argument("query", help="the question")
    parser.add_argument(
        "--alternatives",
        type=positive,
        metavar="K",
        help=f"ask for K plans at once, {FEWEST} to {MOST}, to choose from",
    )
    add_settings(parser)
    parser.set_defaults(command=_plan, usage=parser.error)


def _plan(options: argparse.Namespace) -> int:
    if options.alternatives is not None:
        return _alternatives(options)
    with opened(options) as workbench:
        settings = settings_of(options, pool=workbench.pool)
        session = workbench.ask(options.query, settings=settings, origin="terminal")
        report = report_of(workbench.plan(session.id))
        label, names = workbench.pool.label, workbench.pool.names
    findings = _findings(report, query=options.query, settings=settings, workers=settings.workers or names)
    if options.json:
        shape = {"session": session.id, "label": label, **report_shape(report)}
        print(json.dumps({**shape, "reasoning": report.reasoning, "findings": findings_shape(findings)}))
    elif report.workflow is not None:
        print_shown(f"{report.reasoning}\n")
        print_shown(described(report.workflow))
    if label and not options.json:
        print(f"({label})", file=sys.stderr)
    print_problems(report)
    for finding in findings:
        print_remark(f"{finding.severity}: {finding.sentence}")
    return 0 if report.ok else 1


def _findings(
    report: PlanReport, *, query: str, settings: Settings, workers: Sequence[str]
) -> Sequence[Finding]:
    if report.workflow is None:
        return ()
    return check(report.workflow, max_steps=settings.max_steps, query=query, workers=workers)


def report_of(plan: Plan) -> PlanReport:
    """A plan's report. Raises `PlanError` when the Conductor gave no completion."""
    if plan.report is None:
        raise PlanError(plan.failure or f"{plan.planner} gave no plan; ask again.")
    return plan.report


def described(workflow: Workflow) -> str:
    """A workflow as lines a person reads."""
    lines = [f"{workflow.topology}, {len(workflow)} step{'s' if len(workflow) > 1 else ''}"]
    for number, step in enumerate(workflow.steps, start=1):
        seen = ", ".join(str(read + 1) for read in step.access)
        lines.append(f"  {number}. {step.worker}: {step.instruction}" + (f" (sees {seen})" if seen else ""))
    return "\n".join(lines)


def print_problems(report: PlanReport) -> None:
    """Why a plan is not valid, on stderr."""
    for problem in report.problems:
        print_remark(problem.message)


# -- alternatives ----------------------------------------------------------------------------------


def _alternatives(options: argparse.Namespace) -> int:
    """Several plans beside each other; the session has none of them as its workflow until one is used."""
    if not FEWEST <= options.alternatives <= MOST:
        options.usage(f"ask for {FEWEST} to {MOST} alternatives")
    with opened(options) as workbench:
        session = workbench.ask(
            options.query, settings=settings_of(options, pool=workbench.pool), origin="terminal"
        )
        plans = workbench.plan_alternatives(session.id, options.alternatives)
        label = workbench.pool.label
    equal = [_first_equal(plans, at) for at in range(len(plans))]
    if options.json:
        shapes = [_alternative_shape(plan, same_as) for plan, same_as in zip(plans, equal, strict=True)]
        print(json.dumps({"session": session.id, "label": label, "alternatives": shapes}))
    else:
        for plan, same_as in zip(plans, equal, strict=True):
            print_shown(f"Alternative {plan.attempt}: {_told(plan, same_as)}\n")
        if label:
            print(f"({label})", file=sys.stderr)
    return 0 if any(plan.report is not None and plan.report.ok for plan in plans) else 1


def _first_equal(plans: Sequence[Plan], at: int) -> int | None:
    """The number (from 1) of the first plan with the same workflow; None where this is it, or has none."""
    workflows = [None if plan.report is None else plan.report.workflow for plan in plans]
    if workflows[at] is None or workflows.index(workflows[at]) == at:
        return None
    return plans[workflows.index(workflows[at])].attempt


def _told(plan: Plan, same_as: int | None) -> str:
    if plan.report is None:
        return f"no plan. {plan.failure or 'It gave no completion.'}"
    if same_as is not None:
        return f"the same plan as alternative {same_as}."
    if plan.report.workflow is not None:
        return described(plan.report.workflow)
    said = " ".join(problem.message for problem in plan.report.problems)
    return f"not valid. {said}" if said else "keeps the answer."


def _alternative_shape(plan: Plan, same_as: int | None) -> Shape:
    """A `report_shape` with the plan's id and what it took; `failure` where there was no completion."""
    found: Shape = {"ok": False} if plan.report is None else report_shape(plan.report)
    return {
        "plan": plan.id,
        "number": plan.attempt,
        "same_as": same_as,
        "failure": plan.failure,
        "usage": usage_shape(plan.usage),
        "seconds": plan.seconds,
        **found,
    }
