"""Trials on data: what each part of a workflow is worth, and the cheapest workflow that is not worse.

Every variant is a planner of one evaluation, held against the workflow as it is on the same questions. Knows
cells, edits and statistics; knows no store. Pure.

Source of the criterion: non-inferiority as in ICH E9 (1998), section 3.3.2: a variant is not worse where the
95 % interval of the paired difference of accuracies (Newcombe 1998, method 10) lies above -margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from conductor.evaluation.given import FixedPlan
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.evaluation.statistics import (
    MeanDifference,
    PairedDifference,
    mean_difference,
    paired_difference,
)
from conductor.evaluation.table import Cell
from conductor.workflow.edits import Edit, OtherWorker, WithoutEdge, WithoutIdleSteps, WithoutStep, edited
from conductor.workflow.model import Workflow

MARGIN = 0.05
"""How much worse in accuracy a variant may be, unless another margin is chosen."""

MAX_VARIANTS = 200
"""The most variants of one evaluation; a combination is one more."""

MAX_COMBINATIONS = 12
"""The most combinations that are measured in the search of the cheapest workflow."""

Measure = Literal["cost", "tokens"]
_Amount = Callable[[CellResult], float | None]


@dataclass(frozen=True)
class TrialRow:
    """A variant: `accuracy`, `tokens` and `cost` a question, minus those of the workflow as it is, over the
    questions in which both are known; None where there are none.

    `not_worse`: by the criterion of this module. Steps that reach no answer are left out without one.
    """

    planner: str
    edits: tuple[Edit, ...]
    accuracy: PairedDifference | None
    tokens: MeanDifference | None
    cost: MeanDifference | None
    not_worse: bool

    @property
    def single(self) -> bool:
        return len(self.edits) == 1

    def change(self, measure: Measure) -> float | None:
        """By how much it takes more a question, below 0 less; None where that is unknown."""
        found = self.cost if measure == "cost" else self.tokens
        return None if found is None else found.mean


@dataclass(frozen=True)
class Trials:
    """The variants of an evaluation in their order. With less than `least_margin` not even the same answers
    would count as not worse on so many questions; None before there is an answer. `measure` is what "cheap"
    means: the cost where that of some call is known and not 0, else the tokens.
    """

    base: str
    margin: float
    measure: Measure
    rows: tuple[TrialRow, ...]
    least_margin: float | None = None

    @property
    def by_edits(self) -> Mapping[frozenset[Edit], TrialRow]:
        return {frozenset(row.edits): row for row in self.rows}


def trials_of(spec: EvaluationSpec, cells: Iterable[Cell]) -> Trials:
    """The trials of an evaluation with a margin, as far as its cells are scored."""
    assert spec.margin is not None, "it is a trial"
    base = spec.planners[0]
    results: dict[str, dict[str, CellResult]] = {planner: {} for planner in spec.planners}
    for cell in cells:
        results[cell.planner][f"{cell.item}/{cell.repeat}"] = cell.result
    rows = tuple(
        _row(each.name, each.edits, results[each.name], results[base], spec.margin)
        for each in spec.given
        if each.edits
    )
    paid = any(_cost(result) for result in results[base].values())
    right = _right(results[base])
    same = paired_difference(right, right)
    least = None if same is None else -same.interval.low
    return Trials(base, spec.margin, "cost" if paid else "tokens", rows, least)


def few_questions(trials: Trials) -> str:
    """That no variant can be shown to be not worse on so few questions; "" where one can."""
    if trials.least_margin is None or trials.least_margin < trials.margin:
        return ""
    return (
        f"These are too few questions for a margin of {trials.margin:g}: even the same answers need "
        f"{trials.least_margin:.3f}."
    )


def _row(
    planner: str,
    edits: tuple[Edit, ...],
    own: Mapping[str, CellResult],
    base: Mapping[str, CellResult],
    margin: float,
) -> TrialRow:
    accuracy = paired_difference(_right(own), _right(base))
    idle = all(isinstance(edit, WithoutIdleSteps) for edit in edits)
    return TrialRow(
        planner=planner,
        edits=edits,
        accuracy=accuracy,
        tokens=mean_difference(_known(own, _tokens), _known(base, _tokens)),
        cost=mean_difference(_known(own, _cost), _known(base, _cost)),
        not_worse=accuracy is not None and (idle or accuracy.interval.low > -margin),
    )


def _right(results: Mapping[str, CellResult]) -> dict[str, bool]:
    return {at: result.score.right for at, result in results.items() if result.score.known}


def _known(results: Mapping[str, CellResult], amount: _Amount) -> dict[str, float]:
    amounts = {at: amount(result) for at, result in results.items()}
    return {at: found for at, found in amounts.items() if found is not None}


def _tokens(result: CellResult) -> float | None:
    return result.work.total


def _cost(result: CellResult) -> float | None:
    return result.work.cost


# -- the cheapest workflow that is not worse -------------------------------------------------------


@dataclass(frozen=True)
class Cheapest:
    """How far the search is: the `found` variant (None: the workflow as it is), and the combination of edits
    to measure `next`; None where the search has ended.
    """

    found: TrialRow | None
    next: tuple[Edit, ...] | None


def cheapest(trials: Trials, workflow: Workflow) -> Cheapest:
    """The cheapest workflow that is not worse, as far as it is measured.

    Greedy: single edits that are not worse and take less, the one that spares most first, are put together
    one after another; each combination is measured as a whole, and an edit stays where the combination is not
    worse and takes less than before. Effects are never added up. Steps that reach the answer no longer are
    left out. At most `MAX_COMBINATIONS` are measured, so that it need not be the cheapest of all.
    """
    known = trials.by_edits
    measured = sum(not row.single for row in trials.rows)
    found: TrialRow | None = None
    kept: tuple[Edit, ...] = ()
    for edit in _candidates(trials):
        if not _fits(workflow, kept, edit):
            continue
        together = _tidy(workflow, (*kept, edit))
        row = known.get(frozenset(together))
        if row is None:
            if measured >= MAX_COMBINATIONS:
                continue
            return Cheapest(found, together)
        before = 0.0 if found is None else found.change(trials.measure) or 0.0
        change = row.change(trials.measure)
        if row.not_worse and change is not None and change < before:
            found, kept = row, (*kept, edit)
    return Cheapest(found, None)


def _candidates(trials: Trials) -> list[Edit]:
    """The single edits that are not worse and take less, the one that spares most first."""
    spared = [
        (change, at, row.edits[0])
        for at, row in enumerate(trials.rows)
        if row.single and row.not_worse and (change := row.change(trials.measure)) is not None and change < 0
    ]
    return [edit for _, _, edit in sorted(spared, key=lambda each: each[:2])]


def _fits(workflow: Workflow, kept: Sequence[Edit], edit: Edit) -> bool:
    """Whether the edit changes what the kept ones have left of the workflow."""
    gone = {other.step for other in kept if isinstance(other, WithoutStep)}
    given = {other.step for other in kept if isinstance(other, OtherWorker)}
    if isinstance(edit, WithoutStep):
        return len(gone) + 1 < len(workflow) and edit.step not in given
    if isinstance(edit, OtherWorker):
        return edit.step not in gone | given
    return not (isinstance(edit, WithoutEdge) and {edit.read, edit.reader} & gone)


def _tidy(workflow: Workflow, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits, and without idle steps where they leave some."""
    without = tuple(edit for edit in edits if not isinstance(edit, WithoutIdleSteps))
    left = edited(workflow, without)
    idle = WithoutIdleSteps()
    return (*without, idle) if idle.of(left) != left else without


def base_plan(spec: EvaluationSpec) -> FixedPlan | None:
    """The one workflow that a trial is about; None where it is about a planner's plans."""
    first = spec.plans_of(spec.planners[0])
    return first if isinstance(first, FixedPlan) else None


def next_combination(spec: EvaluationSpec, cells: Iterable[Cell]) -> FixedPlan | None:
    """The variant that a trial is to measure next; None where it has measured all."""
    base = base_plan(spec)
    if spec.margin is None or base is None:
        return None
    found = cheapest(trials_of(spec, cells), base.workflow).next
    return None if found is None else base.with_edits(*found)
