"""An evaluation while it is made, and what came of it: the progress, the table, the exit code.

Knows a terminal; `studio.evaluation` makes evaluations.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Flag
from threading import Thread

from conductor.evaluation.evaluation_table import EvaluationTable
from conductor.evaluation.report.remarks import not_answered
from conductor.own_settings import command_name
from conductor.text.formatting import percent
from conductor.values.budget import Budget
from storage.records import EvaluationRecord
from studio.cli.evaluation.gate import UNDECIDED, Finding, Gate, code_of
from studio.cli.evaluation.reporting import Reporting
from studio.cli.options import Configured
from studio.cli.output.evaluation_table import table_lines
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import is_quiet, name_next, print_fault, print_remark
from studio.cli.output.trial_table import trials_lines, trials_shape
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.crew import Crew
from studio.evaluation.execution.evaluation_run import Listen, Progress
from studio.evaluation.results import (
    answer_shapes,
    possible_rates,
    scored_cells,
    table_of_evaluation,
    table_shape,
)
from studio.workbench import Workbench

_EVERY = 10.0
"""Seconds between two lines about the progress."""


def carried_out(
    bench: Workbench,
    record: EvaluationRecord,
    options: Configured,
    gate: Gate = Gate(),  # noqa: B008 - a frozen value
    reporting: Reporting = Reporting(),  # noqa: B008
    *,
    budget: Budget | None = None,
    crew: Crew | None = None,
) -> int:
    """Answer what is missing, print the table and write what a CI service reads.

    The exit code is that of the gate. Without one it is 1 where the evaluation was stopped, and `UNDECIDED`
    where some of it has no verdict.
    """
    resume = f"evaluate resume {record.id}{options.again}"
    gate.check(
        record.spec.planners,
        advice=f" Nothing was called; go on with: {command_name()} {resume} and the right names",
    )
    if record.spec.batch:
        print_remark("asked in batches; each may take a day, and to stop waiting loses none of them")
    name_next(f"evaluation {record.id}", resume, what="go on")
    stop = Flag()
    with progress_listener(f"evaluation {record.id}", quiet=is_quiet()) as listen:
        try:
            progress = Evaluations(bench).run(record.id, listen=listen, stop=stop, budget=budget, crew=crew)
        except KeyboardInterrupt:
            stop.set()
            raise
    # A trial has more planners by now.
    record = bench.store.evaluations.find(record.id)
    table = table_of_evaluation(bench.store, record)
    findings = check_gate(bench, record, table, gate, reporting)
    shape, lines = presentation(bench, record, table, findings)
    options.show({**shape, "failure": record.reason}, lines)
    print_findings(findings, gate, record)
    if record.reason is not None:
        print_remark(record.reason)
        name_next(f"evaluation {record.id}", resume, what="go on")
    elif not options.json:
        name_next(f"evaluation {record.id}", f"evaluate table {record.id}{options.again}")
    code = code_of(findings)
    if progress.failure is not None:
        return code or 1
    return UNDECIDED if record.reason is not None and not gate.is_set else code


def check_gate(
    bench: Workbench, record: EvaluationRecord, table: EvaluationTable, gate: Gate, reporting: Reporting
) -> list[Finding]:
    """What the gate finds; writes the files for a CI service."""
    items = bench.store.evaluations.items(record.id, damaged=True)
    cells = scored_cells(bench.store, record.id)
    rates, missing = possible_rates(record.spec, cells, len(items))
    findings = list(gate.findings(table, rates, missing=missing))
    reporting.write(record, table, findings, items, cells)
    return findings


def print_findings(findings: Sequence[Finding], gate: Gate, record: EvaluationRecord) -> None:
    """Print on stderr why the gate is closed, or may be, or else who passes it."""
    for _, sentence in findings:
        print_fault(sentence)
    if gate.is_set and not findings:
        print_remark(f"{record.spec.planners[0]}, the first planner, passes the gate.")


@contextmanager
def progress_listener(what: str, *, quiet: bool) -> Iterator[Listen | None]:
    """A listener that shows the progress: on a terminal in one line that is written over, else every `_EVERY`
    seconds in a line, the first at once, which begins with `what` it is of.
    """
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        print_remark(f"{what} begins")
        with _timed_lines(what) as listen:
            yield listen
        return
    from rich import progress as rich  # noqa: PLC0415 - for a terminal only
    from rich.console import Console  # noqa: PLC0415

    columns = (
        rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
    )  # fmt: skip
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("answers", total=None)

        def listen(progress: Progress) -> None:
            bar.update(task, total=progress.cells, completed=progress.done, description=_words(progress))

        yield listen


@contextmanager
def _timed_lines(what: str) -> Iterator[Listen]:
    latest: deque[Progress] = deque(maxlen=1)
    over = Flag()

    def print_progress() -> None:
        while not over.wait(_EVERY):
            if latest:
                last = latest[-1]
                line = f"{what}: {last.done:,} of {last.cells:,} answers, {_words(last)}"
            else:
                line = f"{what}: no answer yet"
            print_remark(line)

    thread = Thread(target=print_progress, name="progress", daemon=True)
    thread.start()
    try:
        yield latest.append
    finally:
        over.set()
        thread.join()


def _words(progress: Progress) -> str:
    cost = "" if progress.used.cost is None else f" · {progress.used.cost_words}"
    answered = progress.done - progress.unanswered
    right = sum(progress.right.values()) / answered if answered else 0.0
    lost = f" · {progress.unanswered:,} not answered" if progress.unanswered else ""
    return f"{percent(right)} right{lost}{cost}"


def presentation(
    bench: Workbench, record: EvaluationRecord, table: EvaluationTable, findings: Sequence[Finding] = ()
) -> tuple[Shape, str]:
    """An evaluation for programs, with each answer and what the gate found, and for people; with what a trial
    found.
    """
    items = bench.store.evaluations.items(record.id, damaged=True)
    cells = scored_cells(bench.store, record.id)
    shape = {
        **table_shape(record, table),
        "answers": answer_shapes(items, cells),
        "gate": [{"code": code, "finding": sentence} for code, sentence in findings],
    }
    if record.spec.margin is None:
        return shape, table_lines(table)
    lines = [trials_lines(record.spec, cells), *not_answered(table, record.spec.title_of)]
    return {**shape, "trials": trials_shape(record.spec, cells)}, "\n".join(lines)
