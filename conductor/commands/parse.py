"""`parse [FILE|-]`: what a completion says, with every repair and every reason. No store, no pool."""

from __future__ import annotations

import argparse
import json
from typing import Any, get_args

from conductor.bounded_file import STDIN, read_bounded
from conductor.commands.plan import described, print_problems
from conductor.commands.settings import names, positive
from conductor.commands.shapes import report_shape
from conductor.commands.terminal import print_shown
from conductor.errors import FormatError
from conductor.plan import Candidate, Dialect
from conductor.planner.conductor import MAX_PLANNED_STEPS
from conductor.planner.parse import parse

MAX_BYTES = 5_000_000
"""More than the longest reply that is taken from an endpoint usually has."""


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("parse", parents=parents, help="read a Conductor's completion")
    parser.add_argument("file", nargs="?", default=STDIN, metavar="FILE", help="a file, or - for stdin")
    parser.add_argument("--workers", required=True, type=names, metavar="A,B,C", help="the numbered pool")
    parser.add_argument("--dialect", choices=get_args(Dialect), default="any")
    parser.add_argument("--max-steps", type=positive, default=MAX_PLANNED_STEPS, metavar="N")
    parser.add_argument("--round", type=positive, default=1, metavar="N")
    parser.set_defaults(command=_parse)


def _parse(options: argparse.Namespace) -> int:
    report = parse(
        _text(options.file),
        workers=options.workers,
        dialect=options.dialect,
        max_steps=options.max_steps,
        round=options.round,
    )
    if options.json:
        print(json.dumps(report_shape(report)))
        return 0 if report.ok else 1
    if report.return_previous:
        print("The Conductor returns the previous answer as it is.")
    if report.workflow is not None:
        print_shown(described(report.workflow))
    for repair in report.repairs:
        print_shown(f"repaired, {repair.kind}: {repair.detail}")
    for at, candidate in enumerate(report.candidates, start=1):
        if candidate is not report.candidate:
            print_shown(f"plan {at} of {len(report.candidates)} does not count: {_passed_over(candidate)}")
    print_problems(report)
    return 0 if report.ok else 1


def _passed_over(candidate: Candidate) -> str:
    """Why another plan of the text counts."""
    if candidate.problems:
        return " ".join(problem.message for problem in candidate.problems)
    said = (
        "three empty lists"
        if candidate.workflow is None
        else described(candidate.workflow).partition("\n")[0]
    )
    return f"{said}, valid, but not the last"


def _text(name: str) -> str:
    content = read_bounded(name, most=MAX_BYTES, kind="a completion")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        called = "stdin" if name == STDIN else name
        raise FormatError(f"{called} is not text in UTF-8; save it as such.") from error
