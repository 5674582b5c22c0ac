"""Prints trials on questions and their forecasts, in a terminal and for programs.

Knows the library's trials; knows no store.
"""

from __future__ import annotations

from collections.abc import Sequence

from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.forecast import Forecast
from conductor.evaluation.plan_sources import FixedPlan
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.statistics import Interval, MeanDifference
from conductor.evaluation.trials import (
    TrialRow,
    Trials,
    base_plan,
    cheapest_variant,
    confirmation_words,
    evaluation_trials,
    few_questions,
    tested_on,
)
from conductor.text.formatting import dollars, p_value, quantity
from conductor.workflow.edits import edit_words
from conductor.workflow.file import PlanStep
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import table

_FORECAST = ("questions", "held_out", "variants", "new", "reused", "judged")


def forecast_line(forecast: Forecast) -> str:
    """A forecast in one line."""
    calls = f"at most {quantity(forecast.new, 'call')}, {forecast.reused:,} more reused"
    variants = f"{forecast.variants - 1} variants on {quantity(forecast.questions, 'answer')} each"
    judged = [f"beside {quantity(forecast.judged, 'call')} of the judge"] if forecast.judged else []
    confirming = (
        [f"with {quantity(forecast.held_out, 'answer')} of two to confirm the choice"]
        if forecast.held_out
        else []
    )
    return ", ".join([f"{variants}: {calls}", *forecast.estimate.words, *judged, *confirming])


def forecast_shape(forecast: Forecast) -> Shape:
    """A forecast for programs."""
    shape = {name: getattr(forecast, name) for name in _FORECAST}
    return {**shape, **{name: getattr(forecast.estimate, name) for name in ("tokens", "cost", "seconds")}}


def trials_shape(spec: EvaluationSpec, cells: Sequence[Cell]) -> Shape:
    """What a trial found, for programs."""
    trials = evaluation_trials(spec, cells)
    base = base_plan(spec)
    best = None if base is None else cheapest_variant(trials, base.workflow).best
    return {
        "base": trials.base,
        "margin": trials.margin,
        "measure": trials.measure,
        "held_out": trials.held_out,
        "confirmation": None if trials.confirmation is None else _row_shape(trials.confirmation),
        "variants": [_row_shape(row) for row in trials.rows],
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
            "p_holm": accuracy.adjusted,
            "questions": accuracy.questions,
        },
        "tokens": _mean_shape(row.tokens),
        "cost": _mean_shape(row.cost),
    }


def _mean_shape(mean: MeanDifference | None) -> Shape | None:
    if mean is None:
        return None
    return {"difference": mean.mean, **_interval_shape(mean.interval), "questions": mean.pairs}


def _interval_shape(interval: Interval | None) -> Shape:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return {"low": low, "high": high}


def trials_lines(spec: EvaluationSpec, cells: Sequence[Cell]) -> str:
    """What a trial found, for people."""
    trials = evaluation_trials(spec, cells)
    headings = ("variant", "accuracy", "interval", "n", "p", "tokens", "95% interval", "cost", "not worse")
    rows = [_line(row) for row in trials.rows]
    text = table(headings, rows, right=range(1, 8))
    note = (
        f"Differences a question to {spec.title_of(trials.base)}. Not worse: the interval of the difference "
        f"of accuracies lies above -{trials.margin:g}. {tested_on(trials)} p is adjusted over the variants "
        "(Holm)."
    )
    base = base_plan(spec)
    return "\n".join([text, note, *([] if base is None else [_suggestion(trials, base)])])


def _line(row: TrialRow) -> Sequence[str]:
    accuracy, tokens, cost = row.accuracy, row.tokens, row.cost
    return (
        edit_words(row.edits),
        "" if accuracy is None else f"{accuracy.difference:+.3f}",
        "" if accuracy is None else f"{accuracy.interval.low:+.3f} to {accuracy.interval.high:+.3f}",
        "" if accuracy is None else str(accuracy.questions),
        "" if accuracy is None else p_value(accuracy.read_p),
        "" if tokens is None else f"{tokens.mean:+,.0f}{row.part(tokens)}",
        "" if tokens is None or tokens.interval is None
        else f"{tokens.interval.low:+,.0f} to {tokens.interval.high:+,.0f}",
        "" if cost is None else f"{'-' if cost.mean < 0 else '+'}{dollars(abs(cost.mean))}{row.part(cost)}",
        {True: "yes", False: "no", None: "undecided"}[row.not_worse],
    )  # fmt: skip


def _suggestion(trials: Trials, base: FixedPlan) -> str:
    best = cheapest_variant(trials, base.workflow).best
    if best is None:
        none = f"No variant that takes less {trials.measure} was shown to be not worse."
        return f"{none} {few_questions(trials)}".strip()
    words = edit_words(best.edits)
    return f"Cheapest that is not worse, as measured: {words}. {confirmation_words(trials)}".strip()
