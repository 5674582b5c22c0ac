"""`parse [FILE|-]`: shows the plan in a completion, its repairs and faults. Opens no store, no pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from typer import Argument

from conductor.errors import FormatError
from conductor.files.named_file import STDIN, read_bounded
from conductor.planner.conductor import MAX_PLANNED_STEPS
from conductor.planner.parsing.parse import parse as read_completion
from conductor.workflow.plan_report import Candidate, Dialect, PlanReport
from studio.cli.options import App, Shared, count, is_piped, names, option
from studio.cli.output.plan_graph import plan_lines
from studio.cli.output.shapes import report_shape
from studio.cli.output.terminal import print_fault, print_lines

MAX_BYTES = 5_000_000
"""More than the longest reply that is accepted from an endpoint usually has."""

app = App()


@app.command()
def parse(
    ctx: typer.Context,
    *,
    workers: Annotated[Sequence[str], option("The numbered pool.", "A,B,C", names)],
    file: Annotated[
        str | None,
        Argument(parser=str, metavar="FILE", help="A file, or - for stdin; default: what is piped."),
    ] = None,
    dialect: Annotated[Dialect, option("How the access lists are written.")] = "any",
    max_steps: Annotated[int, count("The most steps of a plan.")] = MAX_PLANNED_STEPS,
    round: Annotated[int, count("From 2 on a plan may keep the answer.")] = 1,
    options: Shared,
) -> int:
    """Read a Conductor's completion."""
    if file is None and not is_piped():
        ctx.fail("give a FILE, or - to wait for stdin")
    report = read_completion(
        _text(file or STDIN), workers=workers, dialect=dialect, max_steps=max_steps, round=round
    )
    if options.json:
        options.show(report_shape(report))
        return 0 if report.ok else 1
    if report.return_previous:
        print_lines("The Conductor returns the previous answer as it is.")
    if report.workflow is not None:
        print_lines(*plan_lines(report.workflow))
    for repair in report.repairs:
        print_lines(f"repaired, {repair.kind}: {repair.detail}")
    for at, candidate in enumerate(report.candidates, start=1):
        if candidate is not report.candidate:
            print_lines(f"plan {at} of {len(report.candidates)} does not count: {_passed_over(candidate)}")
    print_problems(report)
    return 0 if report.ok else 1


def print_problems(report: PlanReport) -> None:
    """Print on stderr why a plan is not valid."""
    for problem in report.problems:
        print_fault(problem.message)


def _passed_over(candidate: Candidate) -> str:
    """Why another plan of the text counts."""
    if candidate.problems:
        return " ".join(problem.message for problem in candidate.problems)
    if candidate.workflow is None:
        return "three empty lists, valid, but not the last"
    shape = next(plan_lines(candidate.workflow))
    return f"{shape}, valid, but not the last"


def _text(name: str) -> str:
    content = read_bounded(name, most=MAX_BYTES, kind="a completion")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        called = "stdin" if name == STDIN else name
        raise FormatError(f"{called} is not text in UTF-8; save it as such.") from error
