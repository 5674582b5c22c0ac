"""Two evaluations side by side: what each planner has right in both, or why they cannot be compared. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from conductor.errors import DataError
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.statistics import PairedDifference, paired_difference
from conductor.evaluation.table import Cell


@dataclass(frozen=True)
class PlannerTwice:
    """A planner in two evaluations: (right, cells) in each, None where it is not in one; `difference` is the
    second accuracy minus the first over what both have answered.
    """

    planner: str
    first: tuple[int, int] | None
    second: tuple[int, int] | None
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
    one, other = _verdicts(first_cells), _verdicts(second_cells)
    planners = dict.fromkeys((*first.planners, *second.planners))
    return tuple(
        PlannerTwice(
            planner=planner,
            first=_right(one.get(planner)),
            second=_right(other.get(planner)),
            difference=paired_difference(other.get(planner, {}), one.get(planner, {})),
        )
        for planner in planners
    )


def _verdicts(cells: Iterable[Cell]) -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for cell in cells:
        verdicts = found.setdefault(cell.planner, {})
        if cell.result.score.known:
            verdicts[f"{cell.item}/{cell.repeat}"] = cell.result.score.right
    return found


def _right(verdicts: dict[str, bool] | None) -> tuple[int, int] | None:
    return None if verdicts is None else (sum(verdicts.values()), len(verdicts))
