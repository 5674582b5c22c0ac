"""Two evaluations side by side: what each planner has right in both, or why they cannot be compared. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from conductor.errors import DataError
from conductor.evaluation.evaluation_table import Cell, verdicts_of
from conductor.evaluation.known_answers import Answers, rate_of, shares_of
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.statistics import PairedDifference, Rate, paired_difference, with_holm


@dataclass(frozen=True)
class PlannerTwice:
    """A planner in two evaluations: its rate in each, None for one without an answer; `difference` is the
    second accuracy minus the first over the questions in both, its p adjusted over the planners.
    """

    planner: str
    first: Rate | None
    second: Rate | None
    difference: PairedDifference | None


def compare_evaluations(
    first: EvaluationSpec,
    first_cells: Iterable[Cell],
    second: EvaluationSpec,
    second_cells: Iterable[Cell],
) -> tuple[PlannerTwice, ...]:
    """The planners of the first evaluation as they were named, then those of the second alone.

    Raises `DataError` naming all that the two do not have in common and that a comparison would hide.
    """
    reasons = first.differences(second)
    if reasons:
        raise DataError(
            f"These evaluations cannot be compared: they differ in {', '.join(reasons)}. Run one of them "
            "again as the other was run."
        )
    one, other = _by_planner(first_cells), _by_planner(second_cells)
    planners = tuple(dict.fromkeys((*first.planners, *second.planners)))
    differences = with_holm(
        [
            paired_difference(shares_of(other.get(planner, {})), shares_of(one.get(planner, {})))
            for planner in planners
        ]
    )
    return tuple(
        PlannerTwice(planner, rate_of(one.get(planner, {})), rate_of(other.get(planner, {})), difference)
        for planner, difference in zip(planners, differences, strict=True)
    )


def _by_planner(cells: Iterable[Cell]) -> dict[str, Answers]:
    own: defaultdict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        own[cell.planner].append(cell)
    return {planner: verdicts_of(each) for planner, each in own.items()}
