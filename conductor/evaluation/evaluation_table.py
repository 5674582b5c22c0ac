"""The table of an evaluation: a row for each planner, the differences between them, and the categories. Pure.

Knows items, cells and statistics; knows no store. Unknown figures are None and written as nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from conductor.evaluation.items import Item
from conductor.evaluation.known_answers import (
    Answers,
    Differences,
    Place,
    best_of_workers,
    missing_of,
    rate_of,
)
from conductor.evaluation.mean import Mean
from conductor.evaluation.score import Verdict
from conductor.evaluation.spec import CellResult, FittedOn
from conductor.evaluation.statistics import (
    Bounds,
    Interval,
    PairedDifference,
    Rate,
    entropy,
    pass_at,
    possible_signs,
    with_holm,
)
from conductor.values.messages import Value
from conductor.values.total import sum_of
from conductor.workers.computed import COMPUTED_NAMES

ROUTER = "perfect router"
"""The best single worker for each question, after the fact: the bound of every planner that only routes."""


PASS_AT = (1, 2, 5, 10, 20, 50, 100)
"""Which pass@k are computed, beside that of all answers to a question."""


class Cell(Value):
    """A scored cell: the item's position, the planner, the repeat (from 0), its session and its result."""

    item: int
    planner: str
    repeat: int
    session: str
    result: CellResult


@dataclass(frozen=True)
class PlannerRow:
    """A planner's figures; each mean states over how many of the answers it is. `rate` is of the answers that
    are known to be right or not, which an answer without the judge's verdict is not, nor one that an outage
    prevented; None before there is one. `questions_asked` have such an answer or not, and `outages` has how
    many answers each outage prevented. `difference` is its accuracy minus that of the first planner, by
    question, and `bounds` are what that may come to once the answers that are missing are given; None for
    the first itself. `pass_at` has for k the probability that one of k answers is right, where questions have
    several. `tokens` and `cost` are of planner and workers, `judging_tokens` and `judging_cost` are of the
    `judged` answers. A computed row has no figures of its own. Of a planner that was fitted, `seen` counts
    the questions that it was fitted on, which are no test of it, and `unseen` is its rate on the others;
    both are None for every other planner.
    """

    planner: str
    rate: Rate | None
    difference: PairedDifference | None
    verdicts: Mapping[Verdict, int]
    pass_at: Mapping[int, float] = field(default_factory=dict)
    planning_tokens: Mean | None = None
    work_tokens: Mean | None = None
    tokens: Mean | None = None
    judged: int = 0
    judging_tokens: Mean | None = None
    judging_cost: Mean | None = None
    cost: Mean | None = None
    calls: Mean | None = None
    steps: Mean | None = None
    seconds: Mean | None = None
    shapes: Mapping[str, int] | None = None
    workers: Mapping[str, int] | None = None
    computed: bool = False
    seen: int | None = None
    unseen: Rate | None = None
    questions_asked: int = 0
    outages: Mapping[str, int] = field(default_factory=dict)
    bounds: Bounds | None = None

    @property
    def unanswered(self) -> int:
        """How many answers outages prevented."""
        return self.verdicts.get("unanswered", 0)

    @property
    def accuracy(self) -> float | None:
        return None if self.rate is None else self.rate.mean

    @property
    def interval(self) -> Interval | None:
        return None if self.rate is None else self.rate.interval

    @property
    def right(self) -> int:
        """How many answers are right."""
        return 0 if self.rate is None else self.rate.right

    @property
    def answers(self) -> int:
        return 0 if self.rate is None else self.rate.answers

    @property
    def questions(self) -> int:
        return 0 if self.rate is None else self.rate.questions

    @property
    def answered_words(self) -> str:
        """How many questions its accuracy is over, and of how many where that is not all."""
        return (
            f"{self.questions:,} of {self.questions_asked:,}"
            if self.questions < self.questions_asked
            else f"{self.questions:,}"
        )

    @property
    def means(self) -> tuple[Mean, ...]:
        """Those of its means that are known of any answer."""
        all_means = (
            *(self.planning_tokens, self.work_tokens, self.tokens, self.judging_tokens, self.judging_cost),
            *(self.cost, self.calls, self.steps, self.seconds),
        )
        return tuple(mean for mean in all_means if mean is not None)

    @property
    def valid_plans(self) -> int | None:
        """Cells with an answer, right or not, in which the planner wrote a valid plan; None for a computed
        row.
        """
        without = self.verdicts.get("no plan", 0) + self.unanswered
        return None if self.computed else sum(self.verdicts.values()) - without

    @property
    def shares(self) -> Mapping[str, float] | None:
        """Each worker's share of the steps that were done, the largest first; the workers that only compute,
        such as a vote, have none.
        """
        routed = self._routed
        if routed is None:
            return None
        ordered = sorted(routed.items(), key=lambda item: (-item[1], item[0]))
        return {worker: count / sum(routed.values()) for worker, count in ordered}

    @property
    def routing_entropy(self) -> float | None:
        """Bits: 0 where one worker gets every step."""
        return None if self._routed is None else entropy(list(self._routed.values()))

    @property
    def _routed(self) -> Mapping[str, int] | None:
        if self.workers is None:
            return None
        return {name: count for name, count in self.workers.items() if name not in COMPUTED_NAMES}


@dataclass(frozen=True)
class Looks:
    """Of a sequential evaluation: how many of its questions all planners have `answered`, and about how many
    `calls` the others would take.
    """

    answered: int
    questions: int
    calls: int


@dataclass(frozen=True)
class EvaluationTable:
    """`rows` by planner as they were named, then the perfect router where every worker was asked alone.

    `categories` has, for each category, each planner's rate. `judge` is the worker that judged, None if
    none did, `looks` is of a sequential evaluation and None for every other. So many more planners answered a
    part of the questions, `in_part`, and have no row.
    """

    rows: tuple[PlannerRow, ...]
    categories: Mapping[str, Mapping[str, Rate]]
    judge: str | None = None
    looks: Looks | None = None
    in_part: int = 0

    @property
    def most(self) -> int | None:
        """The most answers that pass@k is shown for; None if each question has one answer."""
        return max((k for row in self.rows for k in row.pass_at), default=None)

    @property
    def decided(self) -> bool:
        """Whether every difference to the first planner is significant, and would be whatever the answers
        that are missing had been.
        """
        signs = signs_of(self.rows[1:])
        others = [row.planner for row in self.rows[1:] if not row.computed]
        return bool(others) and all(0 not in signs.get(planner, {0}) for planner in others)

    @property
    def judging_words(self) -> str:
        """Who judged, and what a verdict took; nothing where no one did."""
        if self.judge is None:
            return ""
        tokens = {row.planner: row.judging_tokens for row in self.rows if row.judging_tokens is not None}
        means = ", ".join(f"{planner} {mean.words('{:,.0f}'.format)}" for planner, mean in tokens.items())
        return f"Judged by {self.judge}{f'; tokens a verdict: {means}' if means else ''}."


def signs_of(rows: Iterable[PlannerRow]) -> Mapping[str, frozenset[int]]:
    """By planner the signs that its difference may have where it is significant, and 0 if it may be not, see
    `possible_signs`; nothing of one without a question that the first planner was asked as well.
    """
    bounds = {row.planner: row.bounds for row in rows if row.bounds is not None}
    return dict(zip(bounds, possible_signs(list(bounds.values())), strict=True))


def table_of(
    items: Sequence[Item],
    planners: Sequence[str],
    cells: Iterable[Cell],
    fitted: Iterable[FittedOn] = (),
    *,
    judge: str | None = None,
    order: Sequence[int] | None = None,
    places: Mapping[str, Collection[Place]] = MappingProxyType({}),
) -> EvaluationTable:
    """The table of these cells; a question of several repeats counts once, with its share of right answers.
    Each p is adjusted over the rows. `fitted` names the planners that were fitted, and on which of the items,
    `judge` the worker that judged, and `order` is that of a sequential evaluation, whose differences may be
    looked at while it is made. `places` are what each planner is to answer, if more than the cells.
    """
    seen = {each.planner: frozenset(each.seen) for each in fitted}
    own: dict[str, list[Cell]] = {planner: [] for planner in planners}
    for cell in cells:
        own[cell.planner].append(cell)
    answers = {planner: verdicts_of(own[planner]) for planner in planners}
    rows = [_row(planner, own[planner], answers[planner], seen.get(planner)) for planner in planners]
    if (best := best_of_workers(answers)) is not None:
        rows.append(_router(best))
    places_of = {
        planner: {(cell.item, cell.repeat) for cell in own[planner]}.union(places.get(planner, ()))
        for planner in planners
    }
    missing = {planner: missing_of(answers[planner], places_of[planner]) for planner in planners}
    differences = Differences(answers, order)
    rows[1:] = [
        replace(row, difference=difference, bounds=bounds)
        for row, difference, bounds in zip(
            rows[1:], with_holm(differences.measured), differences.bounds(missing), strict=True
        )
    ]
    looks = None if order is None else _looks(len(items), own)
    return EvaluationTable(tuple(rows), _categories(items, own), judge, looks)


def _looks(questions: int, own: Mapping[str, Sequence[Cell]]) -> Looks:
    common = len(set.intersection(*({cell.item for cell in cells} for cells in own.values())))
    paid = sum(cell.result.paid for cells in own.values() for cell in cells)
    return Looks(common, questions, round(paid / max(1, common) * (questions - common)))


def disagreements(cells: Iterable[Cell], one: str, other: str) -> tuple[tuple[Cell, Cell], ...]:
    """The pairs of cells of one item and repeat with exactly one right answer, the pairs that `one` has right
    first."""
    of: defaultdict[tuple[int, int], dict[str, Cell]] = defaultdict(dict)
    for cell in cells:
        if cell.planner in (one, other) and cell.result.score.is_known:
            of[cell.item, cell.repeat][cell.planner] = cell
    pairs = [(pair_of[one], pair_of[other]) for pair_of in of.values() if len(pair_of) == 2]
    apart = [pair for pair in pairs if pair[0].result.score.right != pair[1].result.score.right]
    return tuple(
        sorted(apart, key=lambda pair: (not pair[0].result.score.right, pair[0].item, pair[0].repeat))
    )


def verdicts_of(cells: Iterable[Cell]) -> Answers:
    """Which answers are right; of those that were not judged, or not given, it is unknown."""
    verdicts: defaultdict[int, dict[int, bool]] = defaultdict(dict)
    for cell in cells:
        if cell.result.score.is_known:
            verdicts[cell.item][cell.repeat] = cell.result.score.right
    return dict(verdicts)


def _row(planner: str, cells: Sequence[Cell], verdicts: Answers, seen: frozenset[int] | None) -> PlannerRow:
    scores = [cell.result.score for cell in cells]
    results = [cell.result for cell in answered_cells(cells)]
    unseen = {} if seen is None else {item: each for item, each in verdicts.items() if item not in seen}
    return PlannerRow(
        planner=planner,
        rate=rate_of(verdicts),
        difference=None,
        verdicts=Counter(score.verdict for score in scores),
        pass_at=_pass_at(verdicts),
        planning_tokens=Mean.over(each.planned.token_sum for each in results),
        work_tokens=Mean.over(each.worked.token_sum for each in results),
        tokens=Mean.over(each.whole.token_sum for each in results),
        judged=sum(bool(each.judging) for each in results),
        judging_tokens=Mean.over(each.judged.token_sum for each in results if each.judging),
        judging_cost=Mean.over(each.judged.dollars for each in results if each.judging),
        cost=Mean.over(each.whole.dollars for each in results),
        calls=Mean.over(sum_of(each.calls) for each in results),
        steps=Mean.over(sum_of(each.steps) for each in results),
        seconds=Mean.over(sum_of(each.seconds) for each in results),
        shapes=Counter(result.topology for result in results if result.topology is not None),
        workers=sum((Counter(dict(result.workers)) for result in results), Counter[str]()),
        seen=None if seen is None else len(verdicts) - len(unseen),
        unseen=rate_of(unseen),
        questions_asked=len({cell.item for cell in cells}),
        outages=Counter(score.outage for score in scores if score.unanswered),
    )


def answered_cells(cells: Iterable[Cell]) -> list[Cell]:
    """Those that no outage prevented; what others took is no figure of their planner."""
    return [cell for cell in cells if not cell.result.score.unanswered]


def _pass_at(verdicts: Answers) -> Mapping[int, float]:
    """By k, up to the fewest answers of a question; nothing where a question has one answer."""
    answers = [tuple(each.values()) for each in verdicts.values()]
    fewest = min(map(len, answers), default=0)
    steps = sorted({*(k for k in PASS_AT if k <= fewest), fewest}) if fewest > 1 else []
    rates = {k: pass_at(k, answers) for k in steps}
    return {k: share for k, share in rates.items() if share is not None}


def _router(best: Answers) -> PlannerRow:
    rate = rate_of(best)
    right, of = (0, 0) if rate is None else (rate.right, rate.answers)
    verdicts: Mapping[Verdict, int] = {"right": right, "wrong": of - right}
    return PlannerRow(ROUTER, rate, None, verdicts, pass_at=_pass_at(best), computed=True)


def _categories(items: Sequence[Item], own: Mapping[str, Sequence[Cell]]) -> Mapping[str, Mapping[str, Rate]]:
    rates: dict[str, dict[str, Rate]] = {}
    for planner, cells in own.items():
        by: defaultdict[str, list[Cell]] = defaultdict(list)
        for cell in cells:
            if (category := items[cell.item].category) is not None:
                by[category].append(cell)
        for category, each in by.items():
            if (rate := rate_of(verdicts_of(each))) is not None:
                rates.setdefault(category, {})[planner] = rate
    return rates
