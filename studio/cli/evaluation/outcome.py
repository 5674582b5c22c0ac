"""An evaluation while it is made, and what came of it: the progress, the table, the exit code.

Knows a terminal; `studio.evaluation` makes evaluations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Flag

from conductor.errors import DataError
from conductor.evaluation.evaluation_table import ROUTER, EvaluationTable, PlannerRow, signs_of
from conductor.evaluation.report.remarks import not_answered
from conductor.evaluation.statistics import with_holm
from conductor.text.formatting import percent
from conductor.values.budget import Budget
from storage.records import EvaluationRecord
from studio.cli.options import Configured
from studio.cli.output.evaluation_table import table_lines
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import command_name, print_remark
from studio.cli.output.trial_table import trials_lines, trials_shape
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.crew import Crew
from studio.evaluation.execution.evaluation_run import Listen, Progress
from studio.evaluation.results import scored_cells, table_of_evaluation, table_shape
from studio.workbench import Workbench

UNDECIDED = 5
"""The exit code where answers are missing: of a gate whose verdict depends on them, or without a gate."""


def carried_out(
    bench: Workbench,
    record: EvaluationRecord,
    options: Configured,
    beaten_by: Sequence[str],
    *,
    budget: Budget | None = None,
    crew: Crew | None = None,
) -> int:
    """Answer what is missing and print the table; the exit code is that of the gate. Without one it is 1
    where the evaluation was stopped, and `UNDECIDED` where some of it has no verdict.
    """
    for name in beaten_by:
        if _named(record.spec.planners, name) is None and name != ROUTER:
            names = ", ".join(record.spec.planners)
            raise DataError(
                f"This evaluation has no planner {name!r}; it has {names}. Nothing was "
                f"called; go on with: {_resume(record, options)} --fail-if-beaten-by NAME"
            )
    if record.spec.batch:
        print_remark("asked in batches; each may take a day, and to stop waiting loses none of them")
    stop = Flag()
    with _shown_progress(quiet=options.json) as listen:
        try:
            progress = Evaluations(bench).run(record.id, listen=listen, stop=stop, budget=budget, crew=crew)
        except KeyboardInterrupt:
            stop.set()
            print_remark(f"stopped; go on with: {_resume(record, options)}")
            raise
    # A trial has more planners by now.
    record = bench.store.evaluations.find(record.id)
    table = table_of_evaluation(bench.store, record)
    shape, lines = presentation(bench, record, table)
    options.show({**shape, "failure": record.reason}, lines)
    gate = exit_code(table, beaten_by)
    if record.reason is not None:
        print_remark(f"{record.reason} Go on with: {_resume(record, options)}")
    if progress.failure is not None:
        return gate or 1
    return UNDECIDED if record.reason is not None and not beaten_by else gate


def _resume(record: EvaluationRecord, options: Configured) -> str:
    """The command that goes on with it, on the same pool."""
    return f"{command_name()} evaluate resume {record.id}{options.again}"


@contextmanager
def _shown_progress(*, quiet: bool) -> Iterator[Listen | None]:
    """A listener that shows the progress: on a terminal in one line that is written over, else in a line for
    each tenth of the answers.
    """
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _tenths()
        return
    from rich import progress as rich  # noqa: PLC0415 - for a terminal only
    from rich.console import Console  # noqa: PLC0415

    columns = (
        rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
    )  # fmt: skip
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("answers")

        def listen(progress: Progress) -> None:
            bar.update(task, total=progress.cells, completed=progress.done, description=_words(progress))

        yield listen


def _tenths() -> Listen:
    last = 0

    def listen(progress: Progress) -> None:
        nonlocal last
        tenth = 10 * progress.done // progress.cells if progress.cells else 0
        if last < tenth < 10:
            last = tenth
            print_remark(f"{progress.done:,} of {progress.cells:,} answers, {_words(progress)}")

    return listen


def _words(progress: Progress) -> str:
    cost = "" if progress.used.cost is None else f" · {progress.used.cost_words}"
    answered = progress.done - progress.unanswered
    right = sum(progress.right.values()) / answered if answered else 0.0
    lost = f" · {progress.unanswered:,} not answered" if progress.unanswered else ""
    return f"{percent(right)} right{lost}{cost}"


def exit_code(table: EvaluationTable, beaten_by: Sequence[str]) -> int:
    """1 where one of these planners is significantly better than the first, by the p of these together;
    `UNDECIDED` where that depends on the answers that are missing.
    """
    rows = {row.planner: row for row in table.rows}
    compared: dict[str, PlannerRow] = {}
    for name in beaten_by:
        full_name = _named(rows, name)
        if full_name is None:
            raise DataError(f"This evaluation has no planner {name!r}; it has {', '.join(rows)}.")
        compared[full_name] = rows[full_name]
    differences = with_holm([row.difference for row in compared.values()])
    signs = signs_of(compared.values())
    codes = {0}
    for planner, difference in zip(compared, differences, strict=True):
        possible = signs.get(planner, frozenset({0}))
        if 1 not in possible:
            continue
        together = f", of {len(compared)} together by Holm" if len(compared) > 1 else ""
        by = "" if difference is None else (
            f" by {difference.difference:.1%} (p = {difference.read_p:.3g}{together})"
        )  # fmt: skip
        words = f"{planner} is better than {table.rows[0].planner}{by}"
        print_remark(words if possible == {1} else f"undecided, as answers are missing: whether {words}")
        codes.add(1 if possible == {1} else UNDECIDED)
    return 1 if 1 in codes else max(codes)


def _named(planners: Iterable[str], name: str) -> str | None:
    """The planner of that name; a session's workflow of now is named with its revision."""
    matches = [each for each in planners if each == name or each.startswith(f"{name}@")]
    return name if name in matches else next(iter(matches), None)


def presentation(bench: Workbench, record: EvaluationRecord, table: EvaluationTable) -> tuple[Shape, str]:
    """An evaluation for programs and for people; with what a trial found."""
    shape = table_shape(record, table)
    if record.spec.margin is None:
        return shape, table_lines(table)
    cells = scored_cells(bench.store, record.id)
    lines = [trials_lines(record.spec, cells), *not_answered(table, record.spec.title_of)]
    return {**shape, "trials": trials_shape(record.spec, cells)}, "\n".join(lines)
