"""Prints two planners of an evaluation, or two evaluations, beside each other. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from conductor.evaluation.comparison import PlannerTwice
from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.items import Item
from conductor.evaluation.statistics import Rate
from conductor.text.formatting import p_value
from storage.records import EvaluationRecord
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import one_line, table


def disagreement_table(
    items: Sequence[Item], pairs: Sequence[tuple[Cell, Cell]], one: str, other: str
) -> tuple[Shape, str]:
    """Pairs of cells, one of them right, for programs and for people."""
    shapes = [
        {
            "item": items[left.item].id,
            "question": items[left.item].input,
            "target": items[left.item].target,
            "right": one if left.result.score.right else other,
            "answers": {cell.planner: cell.result.score.answer for cell in (left, right)},
            "sessions": {cell.planner: cell.session for cell in (left, right)},
        }
        for left, right in pairs
    ]
    rows = [
        (
            one_line(items[left.item].input, limit=48),
            one_line(items[left.item].target[0], limit=16),
            one_line(left.result.score.answer, limit=20),
            one_line(right.result.score.answer, limit=20),
            left.session,
            right.session,
        )
        for left, right in pairs
    ]
    headings = ("question", "right", one, other, f"session of {one}", f"of {other}")
    return {"disagreements": shapes}, table(headings, rows) if rows else "They agree."


def repeat_table(
    first: EvaluationRecord, second: EvaluationRecord, planners: Sequence[PlannerTwice]
) -> tuple[Shape, str]:
    """Each planner's accuracy in both evaluations, for programs and for people."""
    shape = {"first": first.id, "second": second.id, "planners": [_twice_shape(each) for each in planners]}
    headings = ("planner", f"right in {first.id}", f"in {second.id}", "difference", "95% interval", "p")
    rows = [(each.planner, _right(each.first), _right(each.second), *_difference(each)) for each in planners]
    note = f"p is adjusted over the {len(rows)} planners (Holm)." if len(rows) > 1 else ""
    return shape, "\n".join(filter(None, [table(headings, rows, right=range(1, 6)), note]))


def _twice_shape(each: PlannerTwice) -> Shape:
    difference = each.difference
    figures = None if difference is None else {
        "difference": difference.difference, "low": difference.interval.low, "high": difference.interval.high,
        "p": difference.p, "p_holm": difference.adjusted, "questions": difference.questions,
    }  # fmt: skip
    both = {"first": each.first, "second": each.second}
    counts = {
        at: rate and {"right": rate.right, "of": rate.answers, "questions": rate.questions}
        for at, rate in both.items()
    }
    return {"planner": each.planner, **counts, "difference": figures}


def _right(rate: Rate | None) -> str:
    return "" if rate is None else f"{rate.mean:.3f} of {rate.questions}"


def _difference(each: PlannerTwice) -> tuple[str, str, str]:
    difference = each.difference
    if difference is None:
        return "", "", ""
    interval = f"{difference.interval.low:+.3f} to {difference.interval.high:+.3f}"
    return f"{difference.difference:+.3f}", interval, p_value(difference.read_p)
