"""What trials on questions found, and what they will take, in a terminal and for programs.

Knows the library's trials; knows no store.
"""

from __future__ import annotations

from collections.abc import Sequence

from conductor.evaluation.forecast import Forecast
from conductor.evaluation.given import FixedPlan
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.statistics import Interval, MeanDifference
from conductor.evaluation.table import Cell
from conductor.evaluation.trials import TrialRow, Trials, base_plan, cheapest, few_questions, trials_of
from conductor.text.formatting import counted, dollars, p_value
from conductor.workflow.edits import words
from conductor.workflow.file import PlanStep
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import table


def forecast_line(found: Forecast) -> str:
    """A forecast in one line."""
    calls = f"at most {counted(found.new, 'call')}, {found.reused:,} more reused"
    variants = f"{found.variants - 1} variants on {counted(found.questions, 'answer')} each"
    judged = [f"beside {counted(found.judged, 'call')} of the judge"] if found.judged else []
    return ", ".join([f"{variants}: {calls}", *found.estimate.words, *judged])


def forecast_shape(found: Forecast) -> Shape:
    """A forecast for programs."""
    shape = {name: getattr(found, name) for name in ("questions", "variants", "new", "reused", "judged")}
    return {**shape, **{name: getattr(found.estimate, name) for name in ("tokens", "cost", "seconds")}}


def trials_shape(spec: EvaluationSpec, cells: Sequence[Cell]) -> Shape:
    """What a trial found, for programs."""
    found = trials_of(spec, cells)
    base = base_plan(spec)
    best = None if base is None else cheapest(found, base.workflow).found
    return {
        "base": found.base,
        "margin": found.margin,
        "measure": found.measure,
        "variants": [_row_shape(row) for row in found.rows],
        "cheapest": None if best is None else best.planner,
        "steps": None if base is None or best is None else _steps(base, best),
    }


def _steps(base: FixedPlan, best: TrialRow) -> list[Shape]:
    workflow = base.with_edits(*best.edits).edited
    return [PlanStep(**dict(step)).model_dump(mode="json") for step in workflow.steps]


def _row_shape(row: TrialRow) -> Shape:
    accuracy = row.accuracy
    return {
        "planner": row.planner,
        "edits": [edit.model_dump(mode="json") for edit in row.edits],
        "not_worse": row.not_worse,
        "accuracy": None
        if accuracy is None
        else {
            "difference": accuracy.difference,
            **_interval_shape(accuracy.interval),
            "p": accuracy.p,
            "questions": accuracy.questions,
        },
        "tokens": _mean_shape(row.tokens),
        "cost": _mean_shape(row.cost),
    }


def _mean_shape(found: MeanDifference | None) -> Shape | None:
    if found is None:
        return None
    return {"difference": found.mean, **_interval_shape(found.interval), "questions": found.pairs}


def _interval_shape(interval: Interval | None) -> Shape:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return {"low": low, "high": high}


def trials_lines(spec: EvaluationSpec, cells: Sequence[Cell]) -> str:
    """What a trial found, for people."""
    found = trials_of(spec, cells)
    headings = ("variant", "accuracy", "95% interval", "p", "tokens", "95% interval", "cost", "not worse")
    rows = [_line(row) for row in found.rows]
    text = table(headings, rows, right=range(1, 7))
    note = (
        f"Differences a question to {spec.title_of(found.base)}. Not worse: the interval of the difference "
        f"of accuracies lies above -{found.margin:g}."
    )
    base = base_plan(spec)
    return "\n".join([text, note, *([] if base is None else [_suggestion(found, base)])])


def _line(row: TrialRow) -> Sequence[str]:
    accuracy, tokens, cost = row.accuracy, row.tokens, row.cost
    return (
        words(row.edits),
        "" if accuracy is None else f"{accuracy.difference:+.3f}",
        "" if accuracy is None else f"{accuracy.interval.low:+.3f} to {accuracy.interval.high:+.3f}",
        "" if accuracy is None else p_value(accuracy.p),
        "" if tokens is None else f"{tokens.mean:+,.0f}",
        "" if tokens is None or tokens.interval is None
        else f"{tokens.interval.low:+,.0f} to {tokens.interval.high:+,.0f}",
        "" if cost is None else f"{'-' if cost.mean < 0 else '+'}{dollars(abs(cost.mean))}",
        "yes" if row.not_worse else "no",
    )  # fmt: skip


def _suggestion(found: Trials, base: FixedPlan) -> str:
    best = cheapest(found, base.workflow).found
    if best is None:
        none = f"No variant that takes less {found.measure} was shown to be not worse."
        return f"{none} {few_questions(found)}".strip()
    return (
        f"Cheapest that is not worse, as measured on these questions: {words(best.edits)}. They chose it as "
        "well: confirm it on others."
    )
