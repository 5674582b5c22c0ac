"""The gate of an evaluation for a team's CI: what its first planner may not be worse than.

Knows tables and exit codes; prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from conductor.errors import DataError
from conductor.evaluation.evaluation_table import ROUTER, EvaluationTable, PlannerRow, signs_of
from conductor.evaluation.mean import Mean
from conductor.evaluation.statistics import Rate, with_holm
from conductor.text.formatting import dollars, duration
from studio.cli.options import above_zero, flag, number, option

UNDECIDED = 5
"""The exit code where answers are missing: of a gate whose verdict depends on them, or without a gate."""

Finding = tuple[int, str]
"""1 where the gate is closed, or `UNDECIDED`; and the sentence that names why."""

_PANEL = "When it fails (exit code 1, and 5 where missing answers decide)"
_ceiling = partial(option, panel=_PANEL)
_share = number("a number from 0 to 1, such as 0.9", lambda value: 0 <= value <= 1)


@dataclass(frozen=True)
class Gate:
    """What the first planner is compared with. None is no limit."""

    fail_if_beaten_by: Annotated[
        list[str] | None,
        _ceiling("This planner is significantly better than the first. Once for each.", "NAME"),
    ] = None
    fail_below: Annotated[
        float | None, _ceiling("Fewer answers of the first planner are right, 0 to 1.", "SHARE", _share)
    ] = None
    by_interval: Annotated[
        bool,
        flag("--by-interval", "--fail-below is for the lower end of the 95% interval.", panel=_PANEL),
    ] = False
    fail_above_cost: Annotated[
        float | None, _ceiling("The first planner's mean answer costs more.", "USD", above_zero)
    ] = None
    fail_above_tokens: Annotated[
        float | None, _ceiling("The first planner's mean answer takes more tokens.", "N", above_zero)
    ] = None
    fail_above_seconds: Annotated[
        float | None, _ceiling("The first planner's mean answer takes longer.", "S", above_zero)
    ] = None
    fail_above_invalid: Annotated[
        float | None, _ceiling("More plans of the first planner are not valid, 0 to 1.", "SHARE", _share)
    ] = None

    @property
    def is_set(self) -> bool:
        return self != Gate()

    def check(self, planners: Sequence[str], *, advice: str = "") -> None:
        """Raise `DataError` for a name that is none of the planners, and for an interval without a share."""
        for name in self.fail_if_beaten_by or ():
            if _named(planners, name) is None and name != ROUTER:
                raise DataError(
                    f"This evaluation has no planner {name!r}; it has {', '.join(planners)}.{advice}"
                )
        if self.by_interval and self.fail_below is None:
            raise DataError(f"--by-interval goes with --fail-below SHARE.{advice}")

    def findings(
        self, table: EvaluationTable, rates: tuple[Rate | None, Rate | None], *, missing: int
    ) -> Iterator[Finding]:
        """Why it is closed, or may be. `rates` are the first planner's if all its answers that are missing,
        so many, were wrong, and if all were right.
        """
        row = table.rows[0]
        yield from _beaten(table, self.fail_if_beaten_by or ())
        if self.fail_below is not None:
            yield from self._below(row.planner, rates)
        means: Sequence[tuple[Mean | None, float | None, Callable[[float], str], str]] = (
            (row.cost, self.fail_above_cost, dollars, "costs"),
            (row.tokens, self.fail_above_tokens, lambda value: f"{value:,.0f} tokens", "takes"),
            (row.seconds, self.fail_above_seconds, duration, "takes"),
        )
        for mean, most, words, verb in means:
            if most is not None:
                yield from _above(f"{row.planner} {verb}", mean, most, words)
        if self.fail_above_invalid is not None:
            yield from _invalid(row, self.fail_above_invalid, missing)

    def _below(self, planner: str, rates: tuple[Rate | None, Rate | None]) -> Iterator[Finding]:
        assert self.fail_below is not None, "it is asked for"
        low, high = (
            0.0 if rate is None else rate.interval.low if self.by_interval else rate.mean for rate in rates
        )
        if low >= self.fail_below:
            return
        which = "the lower end of the interval of right answers" if self.by_interval else "right answers"
        words = f"{planner} is below {_percent(self.fail_below)} {which}"
        if high < self.fail_below:
            yield 1, f"{words}: {_percent(high)}{' at most' if high > low else ''}"
        else:
            yield UNDECIDED, f"undecided, as answers are missing: whether {words}"


def code_of(findings: Iterable[Finding]) -> int:
    """The exit code: 1 where the gate is closed for certain, else `UNDECIDED` where it may be."""
    codes = {code for code, _ in findings}
    return 1 if 1 in codes else max(codes, default=0)


def _beaten(table: EvaluationTable, names: Sequence[str]) -> Iterator[Finding]:
    """By those that are significantly better than the first, by the p of these together."""
    rows = {row.planner: row for row in table.rows}
    compared: dict[str, PlannerRow] = {}
    for name in names:
        full_name = _named(rows, name)
        if full_name is None:
            raise DataError(f"This evaluation has no planner {name!r}; it has {', '.join(rows)}.")
        compared[full_name] = rows[full_name]
    differences = with_holm([row.difference for row in compared.values()])
    signs = signs_of(compared.values())
    for planner, difference in zip(compared, differences, strict=True):
        possible = signs.get(planner, frozenset({0}))
        if 1 not in possible:
            continue
        together = f", of {len(compared)} together by Holm" if len(compared) > 1 else ""
        by = "" if difference is None else (
            f" by {difference.difference:.1%} (p = {difference.read_p:.3g}{together})"
        )  # fmt: skip
        words = f"{planner} is better than {table.rows[0].planner}{by}"
        if possible == {1}:
            yield 1, words
        else:
            yield UNDECIDED, f"undecided, as answers are missing: whether {words}"


def _named(planners: Iterable[str], name: str) -> str | None:
    """The planner of that name; a session's workflow of now is named with its revision."""
    matches = [each for each in planners if each == name or each.startswith(f"{name}@")]
    return name if name in matches else next(iter(matches), None)


def _above(begins: str, mean: Mean | None, most: float, words: Callable[[float], str]) -> Iterator[Finding]:
    if mean is None:
        yield UNDECIDED, f"undecided, as that is unknown: whether {begins} more than {words(most)} an answer"
    elif not mean.at_most and mean.value * mean.size > most * mean.of:
        least = "at least " if mean.part else ""
        yield 1, f"{begins} {least}{words(mean.value * mean.size / mean.of)} an answer, above {words(most)}"
    elif mean.value > most or mean.part:
        figure = mean.words(words)
        yield UNDECIDED, f"undecided: whether {begins} more than {words(most)} an answer; known is {figure}"


def _invalid(row: PlannerRow, most: float, missing: int) -> Iterator[Finding]:
    without, of = row.verdicts.get("no plan", 0), sum(row.verdicts.values())
    plans = of - row.unanswered
    words = f"of the plans of {row.planner} {without} of {plans} are not valid, above {_percent(most)}"
    if without > most * (plans + missing):
        yield 1, words
    elif without + missing > most * (plans + missing):
        yield UNDECIDED, f"undecided, as answers are missing: whether {words}"


def _percent(share: float) -> str:
    return f"{share:.1%}"
