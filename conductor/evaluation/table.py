"""The table of an evaluation: a row for each planner, the differences between them, and the categories. Pure.

Knows items, cells and statistics; knows no store. Unknown figures are None and written as nothing.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from conductor.baselines.named import WORKER
from conductor.evaluation.items import Item
from conductor.evaluation.score import Verdict
from conductor.evaluation.spec import CellResult, FittedOn
from conductor.evaluation.statistics import Interval, PairedDifference, entropy, paired_difference, wilson
from conductor.text.formatting import p_value
from conductor.values.messages import NOTHING_USED, Usage, Value
from conductor.workers.computed import COMPUTED_NAMES

T = TypeVar("T")

ROUTER = "perfect router"
"""The best single worker for each question, after the fact: the bound of every planner that only routes."""


class Cell(Value):
    """A scored cell: the item's position, the planner, the repeat (from 0), its session and its result."""

    item: int
    planner: str
    repeat: int
    session: str
    result: CellResult


@dataclass(frozen=True)
class PlannerRow:
    """A planner's figures: means are over cells in which they are known. `cells` and `right` are of the
    answers that are known to be right or not, which an answer without the judge's verdict is not.
    `difference` is its accuracy minus that of the first planner; None for the first itself. `judging_tokens`
    and `judging_cost` are of the answers that were judged. A computed row has no cells and no figures of its
    own. Of a planner that was fitted, `seen` counts the cells whose questions it was fitted on, which are no
    test of it, and `unseen_right` those of the others that are right; None for every other planner.
    """

    planner: str
    cells: int
    right: int
    interval: Interval | None
    difference: PairedDifference | None
    verdicts: Mapping[Verdict, int]
    planning_tokens: float | None = None
    work_tokens: float | None = None
    judging_tokens: float | None = None
    judging_cost: float | None = None
    cost: float | None = None
    calls: float | None = None
    steps: float | None = None
    seconds: float | None = None
    shapes: Mapping[str, int] | None = None
    workers: Mapping[str, int] | None = None
    computed: bool = False
    seen: int | None = None
    unseen_right: int | None = None

    @property
    def accuracy(self) -> float | None:
        return self.right / self.cells if self.cells else None

    @property
    def tokens(self) -> float | None:
        """Tokens of planner and workers a question."""
        if self.planning_tokens is None or self.work_tokens is None:
            return None
        return self.planning_tokens + self.work_tokens

    @property
    def valid_plans(self) -> int | None:
        """Cells in which the planner wrote a valid plan; None for a computed row."""
        return None if self.computed else sum(self.verdicts.values()) - self.verdicts.get("no plan", 0)

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
class Table:
    """`rows` by planner as they were named, then the perfect router where every worker was asked alone.

    `categories` has, for each category, each planner's (right, cells). `judge` is the worker that judged,
    None where none did.
    """

    rows: tuple[PlannerRow, ...]
    categories: Mapping[str, Mapping[str, tuple[int, int]]]
    judge: str | None = None

    @property
    def judging_words(self) -> str:
        """Who judged, and what a verdict took; nothing where no one did."""
        if self.judge is None:
            return ""
        tokens = {row.planner: row.judging_tokens for row in self.rows if row.judging_tokens is not None}
        means = ", ".join(f"{planner} {mean:,.0f}" for planner, mean in tokens.items())
        return f"Judged by {self.judge}{f'; tokens a verdict: {means}' if means else ''}."


def table_of(
    items: Sequence[Item],
    planners: Sequence[str],
    cells: Iterable[Cell],
    fitted: Iterable[FittedOn] = (),
    *,
    judge: str | None = None,
) -> Table:
    """The table of these cells; questions of several repeats count once for each. `fitted` names the planners
    that were fitted, and on which of the items, `judge` the worker that judged.
    """
    seen = {each.planner: frozenset(each.seen) for each in fitted}
    own: dict[str, list[Cell]] = {planner: [] for planner in planners}
    for cell in cells:
        own[cell.planner].append(cell)
    first = _verdicts_of(own[planners[0]]) if planners else {}
    rows = [
        _row(
            planner,
            own[planner],
            None if at == 0 else paired_difference(_verdicts_of(own[planner]), first),
            seen.get(planner),
        )
        for at, planner in enumerate(planners)
    ]
    workers = [planner for planner in planners if planner.startswith(WORKER)]
    if len(workers) > 1:
        rows.append(_router([own[planner] for planner in workers], first))
    return Table(tuple(rows), _categories(items, own), judge)


def disagreements(cells: Iterable[Cell], one: str, other: str) -> tuple[tuple[Cell, Cell], ...]:
    """The cells of one item and repeat of which exactly one is right, those that `one` has right first."""
    of: defaultdict[tuple[int, int], dict[str, Cell]] = defaultdict(dict)
    for cell in cells:
        if cell.planner in (one, other) and cell.result.score.known:
            of[cell.item, cell.repeat][cell.planner] = cell
    pairs = [(found[one], found[other]) for found in of.values() if len(found) == 2]
    apart = [pair for pair in pairs if pair[0].result.score.right != pair[1].result.score.right]
    return tuple(
        sorted(apart, key=lambda pair: (not pair[0].result.score.right, pair[0].item, pair[0].repeat))
    )


def _verdicts_of(cells: Iterable[Cell]) -> dict[str, bool]:
    """Which answers are right, by question and repeat; of those without a verdict it is unknown."""
    return {
        f"{cell.item}/{cell.repeat}": cell.result.score.right for cell in cells if cell.result.score.known
    }


def _row(
    planner: str, cells: Sequence[Cell], difference: PairedDifference | None, seen: frozenset[int] | None
) -> PlannerRow:
    known = [cell for cell in cells if cell.result.score.known]
    unseen = [cell for cell in known if seen is not None and cell.item not in seen]
    results = [cell.result for cell in cells]
    right = sum(cell.result.score.right for cell in known)
    return PlannerRow(
        planner=planner,
        cells=len(known),
        right=right,
        interval=wilson(right, len(known)),
        difference=difference,
        verdicts=Counter(result.score.verdict for result in results),
        planning_tokens=_mean(results, lambda each: each.planning.total),
        work_tokens=_mean(results, lambda each: each.work.total),
        judging_tokens=_mean(_judging(results), lambda each: each.total),
        judging_cost=_mean(_judging(results), lambda each: each.cost),
        cost=_mean(results, lambda each: (each.planning + each.work).cost),
        calls=_mean(results, lambda each: each.calls),
        steps=_mean(results, lambda each: each.steps),
        seconds=_mean(results, lambda each: each.seconds),
        shapes=Counter(result.topology for result in results if result.topology is not None),
        workers=sum((Counter(dict(result.workers)) for result in results), Counter[str]()),
        seen=None if seen is None else len(known) - len(unseen),
        unseen_right=None if seen is None else sum(cell.result.score.right for cell in unseen),
    )


def _judging(results: Iterable[CellResult]) -> list[Usage]:
    return [sum(result.judging, NOTHING_USED) for result in results if result.judging]


def _mean(results: Iterable[T], of: Callable[[T], float | None]) -> float | None:
    known = [value for value in map(of, results) if value is not None]
    return fmean(known) if known else None


def _router(workers: Sequence[Sequence[Cell]], first: Mapping[str, bool]) -> PlannerRow:
    """Right where any worker alone is, on what all of them answered."""
    verdicts = [_verdicts_of(cells) for cells in workers]
    common = set.intersection(*(set(each) for each in verdicts))
    best = {key: any(each[key] for each in verdicts) for key in common}
    right = sum(best.values())
    return PlannerRow(
        planner=ROUTER,
        cells=len(best),
        right=right,
        interval=wilson(right, len(best)),
        difference=paired_difference(best, first),
        verdicts={"right": right, "wrong": len(best) - right},
        computed=True,
    )


def _categories(
    items: Sequence[Item], own: Mapping[str, Sequence[Cell]]
) -> Mapping[str, Mapping[str, tuple[int, int]]]:
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for planner, cells in own.items():
        for cell in cells:
            category = items[cell.item].category
            if category is not None and cell.result.score.known:
                right, of = found.setdefault(category, {}).get(planner, (0, 0))
                found[category][planner] = (right + cell.result.score.right, of + 1)
    return found


# -- as text ---------------------------------------------------------------------------------------

COLUMNS = (
    "planner", "questions", "right", "accuracy", "low", "high", "difference", "difference_low",
    "difference_high", "p", "planning_tokens", "work_tokens", "cost", "calls", "steps", "seconds",
    "valid_plans", "no_plan", "failed", "refused", "routing_entropy", "shares", "shapes",
    "seen", "unseen_right", "unjudged", "judging_tokens", "judging_cost",
)  # fmt: skip

Figure = str | float | int | Mapping[str, float] | None


def row_values(row: PlannerRow) -> Mapping[str, Figure]:
    """A row's figures by column, unrounded; None where unknown. `shares` and `shapes` are by name."""
    interval, difference = row.interval, row.difference
    return {
        "planner": row.planner,
        "questions": row.cells,
        "right": row.right,
        "accuracy": row.accuracy,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "difference": None if difference is None else difference.difference,
        "difference_low": None if difference is None else difference.interval.low,
        "difference_high": None if difference is None else difference.interval.high,
        "p": None if difference is None else difference.p,
        "planning_tokens": row.planning_tokens,
        "work_tokens": row.work_tokens,
        "cost": row.cost,
        "calls": row.calls,
        "steps": row.steps,
        "seconds": row.seconds,
        "valid_plans": row.valid_plans,
        "no_plan": None if row.computed else row.verdicts.get("no plan", 0),
        "failed": None if row.computed else row.verdicts.get("failed", 0),
        "refused": None if row.computed else row.verdicts.get("refused", 0),
        "routing_entropy": row.routing_entropy,
        "shares": row.shares,
        "shapes": row.shapes,
        "seen": row.seen,
        "unseen_right": row.unseen_right,
        "unjudged": None if row.computed else row.verdicts.get("unjudged", 0),
        "judging_tokens": row.judging_tokens,
        "judging_cost": row.judging_cost,
    }


def as_csv(table: Table) -> str:
    """The rows as CSV, with a head."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _flat(figure) for name, figure in row_values(row).items()} for row in table.rows)
    return text.getvalue()


def _flat(figure: Figure) -> str | float | int | None:
    """In one cell: figures by name as JSON."""
    return json.dumps(dict(figure)) if isinstance(figure, Mapping) else figure


_LATEX = str.maketrans({**{mark: f"\\{mark}" for mark in "&%$#_{}"}, "\\": r"\textbackslash{}",
                        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})  # fmt: skip


def as_latex(table: Table) -> str:
    """A `tabular` with accuracy, its interval, the difference to the first planner and the usual costs."""
    lines = [
        *([] if table.judge is None else [f"% judged by {table.judge}"]),
        r"\begin{tabular}{lrrrrrr}",
        r"planner & accuracy & 95\,\% interval & difference & $p$ & tokens & calls \\",
        r"\hline",
    ]
    for row in table.rows:
        interval = "" if row.interval is None else f"{row.interval.low:.3f}--{row.interval.high:.3f}"
        difference, p = "", ""
        if row.difference is not None:
            difference, p = f"{row.difference.difference:+.3f}", p_value(row.difference.p).replace("<", "$<$")
        cells = (
            row.planner.translate(_LATEX),
            _rounded(row.accuracy, 3),
            interval,
            difference,
            p,
            _rounded(row.tokens, 0),
            _rounded(row.calls, 2),
        )
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"


def _rounded(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
