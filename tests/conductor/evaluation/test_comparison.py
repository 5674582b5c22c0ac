"""Two evaluations are compared planner by planner, and only where a difference can be the planners'."""

from __future__ import annotations

from typing import Any

import pytest

from conductor.errors import DataError
from conductor.evaluation.comparison import compare_evaluations
from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.evaluation.statistics import Rate
from conductor.values.presets import Settings

SPEC = EvaluationSpec(data="d", digest="1", planners=("conductor", "worker:a"), pool=(("a", "x"), ("b", "y")))


def cells(planner: str, *right: bool) -> list[Cell]:
    return [
        Cell(item=at, planner=planner, repeat=0, session=f"{planner}{at}", result=result(each))
        for at, each in enumerate(right)
    ]


def result(right: bool) -> CellResult:
    return CellResult(score=Score(verdict="right" if right else "wrong"))


def test_a_planner_of_both_has_its_paired_difference() -> None:
    second = SPEC.model_copy(update={"planners": ("conductor", "worker:b")})
    both, first_only, second_only = compare_evaluations(
        SPEC,
        [*cells("conductor", True, False, False), *cells("worker:a", True)],
        second,
        [*cells("conductor", True, True, True), *cells("worker:b", False)],
    )
    assert (both.planner, _counts(both.first), _counts(both.second)) == ("conductor", (1, 3), (3, 3))
    assert both.difference is not None
    assert (both.difference.difference, both.difference.questions) == (pytest.approx(2 / 3), 3)
    assert (first_only.planner, first_only.second, first_only.difference) == ("worker:a", None, None)
    assert (second_only.planner, second_only.first) == ("worker:b", None)
    assert _counts(second_only.second) == (0, 1)


def _counts(rate: Rate | None) -> tuple[int, int]:
    assert rate is not None
    return rate.right, rate.answers


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"digest": "2"}, "the questions"),
        ({"seed": 1}, "the order of choices"),
        ({"pool": (("a", "other"), ("b", "y"))}, "the workers of the pool"),
        ({"pool": (("a", "x"),)}, "the workers of the pool"),
        ({"settings": Settings(max_steps=3)}, "the limit on steps"),
        ({"settings": Settings(rounds=2)}, "the number of rounds"),
        ({"settings": Settings(attempts=1)}, "the attempts at a plan"),
        ({"settings": Settings(workers=("a",))}, "the workers that may be used"),
        ({"seed": 1, "digest": "2"}, "the questions, the order of choices"),
    ],
)
def test_what_a_comparison_would_hide_refuses_it_by_name(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=f"cannot be compared: they differ in {reason}"):
        compare_evaluations(SPEC, [], SPEC.model_copy(update=change), [])


@pytest.mark.parametrize(
    "change",
    [{"data": "e"}, {"parallel": 9}, {"repeats": 2}, {"version": "2"}, {"pool": (("b", "y"), ("a", "x"))}],
)
def test_what_changes_no_answer_does_not(change: dict[str, Any]) -> None:
    assert SPEC.differences(SPEC.model_copy(update=change)) == ()
