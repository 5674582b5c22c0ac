"""Trials on data: what each part of a workflow is worth, and the cheapest workflow that is not worse.

Every variant is a planner of one evaluation, held against the workflow as it is on the same questions. Knows
cells, edits and statistics; knows no store. Pure.

Source of the criterion: non-inferiority as in ICH E9 (1998), section 3.3.2: a variant is not worse where the
95 % interval of the paired difference of accuracies by question lies above -margin. A search over variants
finds some that only seem so: where half of the questions is held out, the variant that it chose is tested on
these; elsewhere each interval is Bonferroni's over the variants.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from conductor.evaluation.evaluation_table import Cell, answered_cells, verdicts_of
from conductor.evaluation.known_answers import Differences, missing_of, shares_of
from conductor.evaluation.plan_sources import FixedPlan
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.evaluation.statistics import (
    ALPHA,
    MeanDifference,
    PairedDifference,
    mean_difference,
    paired_difference,
    with_holm,
)
from conductor.values.total import BoundedSum
from conductor.workflow.edits import Edit, OtherWorker, WithoutEdge, WithoutIdleSteps, WithoutStep, edited
from conductor.workflow.model import Workflow

MARGIN = 0.05
"""How much worse in accuracy a variant may be, unless another margin is chosen."""

MAX_VARIANTS = 200
"""The most variants of one evaluation; a combination is one more."""

MAX_COMBINATIONS = 12
"""The most combinations that are measured in the search of the cheapest workflow."""

Measure = Literal["cost", "tokens"]
_Amount = Callable[[CellResult], BoundedSum]
_Cells = Sequence[Cell]


@dataclass(frozen=True)
class TrialRow:
    """A variant: `accuracy`, `tokens` and `cost` a question, minus those of the workflow as it is, over the
    questions in which both are known exactly; None without such questions.

    `not_worse`: by the criterion of this module, None if that depends on answers that are missing. Steps
    that reach no answer are left out without one.
    """

    planner: str
    edits: tuple[Edit, ...]
    accuracy: PairedDifference | None
    tokens: MeanDifference | None
    cost: MeanDifference | None
    not_worse: bool | None

    def part(self, difference: MeanDifference) -> str:
        """Over how many of its questions a difference is, such as " (7 of 10)"; "" if it is over all."""
        questions = 0 if self.accuracy is None else self.accuracy.questions
        return f" ({difference.pairs:,} of {questions:,})" if difference.pairs < questions else ""

    @property
    def single(self) -> bool:
        return len(self.edits) == 1

    def change(self, measure: Measure) -> float | None:
        """By how much it takes more a question, below 0 less; None if that is unknown."""
        difference = self.difference(measure)
        return None if difference is None else difference.mean

    def difference(self, measure: Measure) -> MeanDifference | None:
        """How much more it takes a question, over those in which that is known exactly."""
        return self.cost if measure == "cost" else self.tokens


@dataclass(frozen=True)
class Trials:
    """The variants of an evaluation in their order. With less than `least_margin` not even the same answers
    would count as not worse on so many questions; None before there is an answer. `measure` is what "cheap"
    means: the cost where that of some answer is known exactly and not 0, else the tokens. With `held_out`
    questions the rows are over the others, and `confirmation` is what the chosen variant came to on them;
    None before.
    """

    base: str
    margin: float
    measure: Measure
    rows: tuple[TrialRow, ...]
    least_margin: float | None = None
    held_out: bool = False
    confirmation: TrialRow | None = None

    @property
    def by_edits(self) -> Mapping[frozenset[Edit], TrialRow]:
        return {frozenset(row.edits): row for row in self.rows}


def evaluation_trials(spec: EvaluationSpec, cells: Iterable[Cell]) -> Trials:
    """The trials of an evaluation with a margin, as far as its cells are scored."""
    assert spec.margin is not None, "it is a trial"
    base = spec.planners[0]
    searched: dict[str, list[Cell]] = {planner: [] for planner in spec.planners}
    held: dict[str, list[Cell]] = {planner: [] for planner in spec.planners}
    for cell in cells:
        (held if spec.holds_out(cell.item) else searched)[cell.planner].append(cell)
    variants = [each for each in spec.given if each.edits]
    alpha = ALPHA if spec.held_out else ALPHA / max(1, len(variants))
    rows = [
        _row(each.name, each.edits, searched[each.name], searched[base], margin=spec.margin, alpha=alpha)
        for each in variants
    ]
    together = with_holm([row.accuracy for row in rows])
    chosen = next((each for each in variants if each.name == spec.confirmed), None)
    paid = any(_cost(cell.result).exact for cell in searched[base])
    right = shares_of(verdicts_of(searched[base]))
    same = paired_difference(right, right, alpha=alpha)
    return Trials(
        base,
        spec.margin,
        "cost" if paid else "tokens",
        tuple(replace(row, accuracy=each) for row, each in zip(rows, together, strict=True)),
        least_margin=None if same is None else -same.interval.low,
        held_out=spec.held_out,
        confirmation=None
        if chosen is None
        else _row(chosen.name, chosen.edits, held[chosen.name], held[base], margin=spec.margin, alpha=ALPHA),
    )


def few_questions(trials: Trials) -> str:
    """That no variant can be shown to be not worse on so few questions; "" where one can."""
    if trials.least_margin is None or trials.least_margin < trials.margin:
        return ""
    return (
        f"These are too few questions for a margin of {trials.margin:g}: even the same answers need "
        f"{trials.least_margin:.3f}."
    )


def tested_on(trials: Trials) -> str:
    """On which questions the variants are compared, and by which interval they count as not worse."""
    if trials.held_out:
        return (
            "The search uses half of the questions and 95% intervals; the variant it chooses is "
            "confirmed on the other half."
        )
    of = len(trials.rows)
    return f"No question is held out: each interval is Bonferroni's over the {of} variants." if of > 1 else ""


def confirmation_words(trials: Trials) -> str:
    """Whether the chosen variant is not worse on the questions that the search did not see; "" before."""
    row = trials.confirmation
    if row is None:
        return "" if trials.held_out else "It was chosen on these questions: confirm it on others."
    if row.accuracy is None:
        return "It is not confirmed: no held-out question has an answer."
    paired, interval = row.accuracy, row.accuracy.interval
    state = {True: "confirmed", False: "not confirmed", None: "undecided, as answers are missing,"}
    return (
        f"It is {state[row.not_worse]} on {paired.questions:,} held-out questions: accuracy "
        f"{100 * paired.difference:+.1f} points ({100 * interval.low:+.1f} to "
        f"{100 * interval.high:+.1f})."
    )


def _row(
    planner: str, edits: tuple[Edit, ...], own: _Cells, base: _Cells, *, margin: float, alpha: float
) -> TrialRow:
    answers = {"": verdicts_of(base), planner: verdicts_of(own)}
    places = {(cell.item, cell.repeat) for cell in (*own, *base)}
    differences = Differences(answers, alpha=alpha)
    (accuracy,) = differences.measured
    (bounds,) = differences.bounds({name: missing_of(each, places) for name, each in answers.items()})
    idle = all(isinstance(edit, WithoutIdleSteps) for edit in edits)
    ends = {idle or end.interval.low > -margin for end in bounds or ()}
    return TrialRow(
        planner=planner,
        edits=edits,
        accuracy=accuracy,
        tokens=mean_difference(_means(own, _tokens), _means(base, _tokens)),
        cost=mean_difference(_means(own, _cost), _means(base, _cost)),
        not_worse=accuracy is not None and ends.pop() if len(ends) < 2 else None,
    )


def _means(cells: _Cells, amount: _Amount) -> dict[int, float]:
    """By item the mean of its answers, where the amount of each is known exactly."""
    amounts: defaultdict[int, list[float | None]] = defaultdict(list)
    for cell in answered_cells(cells):
        amounts[cell.item].append(amount(cell.result).exact)
    exact = {item: [value for value in each if value is not None] for item, each in amounts.items()}
    return {item: fmean(each) for item, each in exact.items() if len(each) == len(amounts[item])}


def _tokens(result: CellResult) -> BoundedSum:
    return result.worked.token_sum


def _cost(result: CellResult) -> BoundedSum:
    return result.worked.dollars


# -- the cheapest workflow that is not worse -------------------------------------------------------


@dataclass(frozen=True)
class Cheapest:
    """How far the search is: the `best` variant (None: the workflow as it is), and the combination of edits
    to measure `next`; None once the search has ended.
    """

    best: TrialRow | None
    next: tuple[Edit, ...] | None


def cheapest_variant(trials: Trials, workflow: Workflow) -> Cheapest:
    """The cheapest workflow that is not worse, as far as it is measured.

    Greedy: single edits that are not worse and take less, the one that spares most first, are put together
    one after another; each combination is measured as a whole, and an edit stays where the combination is not
    worse and takes less than before. Effects are never added up. Steps that reach the answer no longer are
    left out. At most `MAX_COMBINATIONS` are measured, so that it need not be the cheapest of all.
    """
    by_edits = trials.by_edits
    measured = sum(not row.single for row in trials.rows)
    best: TrialRow | None = None
    edits: tuple[Edit, ...] = ()
    for edit in _candidates(trials):
        if not _fits(workflow, edits, edit):
            continue
        together = _tidy(workflow, (*edits, edit))
        row = by_edits.get(frozenset(together))
        if row is None:
            if measured >= MAX_COMBINATIONS:
                continue
            return Cheapest(best, together)
        before = 0.0 if best is None else best.change(trials.measure) or 0.0
        change = row.change(trials.measure)
        if row.not_worse and change is not None and change < before:
            best, edits = row, (*edits, edit)
    return Cheapest(best, None)


def _candidates(trials: Trials) -> list[Edit]:
    """The single edits that are not worse and take less, the one that spares most first."""
    spared = [
        (change, at, row.edits[0])
        for at, row in enumerate(trials.rows)
        if row.single and row.not_worse and (change := row.change(trials.measure)) is not None and change < 0
    ]
    return [edit for _, _, edit in sorted(spared, key=lambda each: each[:2])]


def _fits(workflow: Workflow, edits: Sequence[Edit], edit: Edit) -> bool:
    """Whether the edit changes what the kept ones have left of the workflow."""
    gone = {other.step for other in edits if isinstance(other, WithoutStep)}
    reassigned = {other.step for other in edits if isinstance(other, OtherWorker)}
    if isinstance(edit, WithoutStep):
        return len(gone) + 1 < len(workflow) and edit.step not in reassigned
    if isinstance(edit, OtherWorker):
        return edit.step not in gone | reassigned
    return not (isinstance(edit, WithoutEdge) and {edit.read, edit.reader} & gone)


def _tidy(workflow: Workflow, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits, and without idle steps where they leave some."""
    without = tuple(edit for edit in edits if not isinstance(edit, WithoutIdleSteps))
    left = edited(workflow, without)
    idle = WithoutIdleSteps()
    return (*without, idle) if idle.of(left) != left else without


def base_plan(spec: EvaluationSpec) -> FixedPlan | None:
    """The one workflow that a trial is about; None if it is about a planner's plans."""
    first = spec.plans_of(spec.planners[0])
    return first if isinstance(first, FixedPlan) else None


def next_part(spec: EvaluationSpec, cells: Iterable[Cell]) -> EvaluationSpec | None:
    """A trial with what it is to measure next: a combination, or once the search has ended the variant that
    it chose, on the questions that are held out; None if the search measured all. It chooses none while
    answers are missing on which that depends.
    """
    base = base_plan(spec)
    if spec.margin is None or base is None:
        return None
    trials = evaluation_trials(spec, cells)
    search = cheapest_variant(trials, base.workflow)
    if search.next is not None:
        plan = base.with_edits(*search.next)
        more = {"planners": (*spec.planners, plan.name), "given": (*spec.given, plan)}
        return spec.model_copy(update=more)
    undecided = any(row.not_worse is None for row in trials.rows)
    if not spec.held_out or spec.confirmed is not None or search.best is None or undecided:
        return None
    return spec.model_copy(update={"confirmed": search.best.planner})
