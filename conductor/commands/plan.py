"""`plan QUERY`: what the Conductor would do, without doing it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from conductor.commands.opening import opened
from conductor.commands.settings import add_settings, settings_of
from conductor.commands.shapes import report_shape
from conductor.errors import PlanError
from conductor.plan import PlanReport
from conductor.workflow import Workflow
from storage import Plan


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("plan", parents=parents, help="write a workflow for a query")
    parser.add_argument("query", help="the question")
    add_settings(parser)
    parser.set_defaults(command=_plan)


def _plan(options: argparse.Namespace) -> int:
    with opened(options) as workbench:
        session = workbench.ask(options.query, settings=settings_of(options, pool=workbench.pool))
        report = report_of(workbench.plan(session.id))
        label = workbench.pool.label
    if options.json:
        shape = {"session": session.id, "label": label, **report_shape(report)}
        print(json.dumps({**shape, "reasoning": report.reasoning}))
    elif report.workflow is not None:
        print(report.reasoning, end="\n\n")
        print(described(report.workflow))
    if label and not options.json:
        print(f"({label})", file=sys.stderr)
    print_problems(report)
    return 0 if report.ok else 1


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
        print(f"conductor: {problem.message}", file=sys.stderr)
