"""What the upstream's log shows of any of its requests: the bounds that a figure must keep to.

Knows the log and the prices; knows nothing of the product. Tokens are counts, costs US dollars.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any, Literal, NamedTuple

from tests.accounting.reporting_upstream import PLANNER, Sent


class ModelPrice(NamedTuple):
    """US dollars a million tokens; `cached` is None if the pool file does not name it."""

    prompt: float
    completion: float
    cached: float | None = None


PRICES: Mapping[str, ModelPrice | None] = {
    "a": ModelPrice(2.0, 8.0),
    "b": ModelPrice(0.15, 0.6, 0.05),
    "c": None,
    "d": ModelPrice(1.0, 1.0),
    "e": ModelPrice(3.0, 15.0),
    PLANNER: ModelPrice(0.5, 1.5),
}
"""Of each model; "d" never reports a usage."""

Bound = Literal["exact", "at least", "at most", "charged"]
"""`charged`: what is known, and an estimate of what is not."""


class Amount(NamedTuple):
    """A number as it is shown; a `value` of None is shown as unknown."""

    value: float | None
    bound: Bound = "exact"

    def __str__(self) -> str:
        if self.value is None:
            return "unknown"
        return f"{self.value:g}" if self.bound == "exact" else f"{self.bound} {self.value:g}"


@dataclass(frozen=True)
class Range:
    """What is true of a sum: `least` is known, `most` as well unless `is_open`, where a part is unknown.

    `may_be_open`: a request was broken off, so that a part may be unknown, and need not be.
    """

    least: float
    most: float
    is_open: bool
    may_be_open: bool

    def fault(self, figure: Amount) -> str | None:
        """Why the amount is wrong, None if it is not."""
        value, unknown = figure.value, self.is_open or self.may_be_open
        if value is None:
            return None if unknown else "is unknown, and nothing in it is"
        match figure.bound:
            case "exact":
                if self.is_open:
                    return "is exact, and a part of it is unknown"
                if not _equal(self.least, self.most):
                    return f"is exact, and only known to be from {self.least:g} to {self.most:g}"
                return None if _equal(value, self.least) else f"is exact, and {self.least:g} was reported"
            case "at least":
                if value > self.least and not _equal(value, self.least):
                    return f"is a lower bound, and {self.least:g} is known"
                return None if unknown or self.least < self.most else "is a bound, and nothing is unknown"
            case "charged":
                # What came while a request was broken off may not have been read any more.
                if value < self.least and not (self.may_be_open or _equal(value, self.least)):
                    return f"is charged, and {self.least:g} is known"
                return None if unknown or self.least < self.most else "is a bound, and nothing is unknown"
            case "at most":
                if self.is_open:
                    return "is an upper bound, and a part of it is unknown"
                if value < self.most and not _equal(value, self.most):
                    return f"is an upper bound, and may be {self.most:g}"
                return None if unknown or self.least < self.most else "is a bound, and nothing is unknown"


def _equal(left: float, right: float) -> bool:
    return isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)


class Truth(NamedTuple):
    """What some requests used together."""

    tokens: Range
    cost: Range


def truth_of(requests: Iterable[Sent], *, is_broken_off: bool = False) -> Truth:
    """What these requests used. `is_broken_off`: their run was stopped or killed, so that the product may not
    know whether a request was under way.
    """
    requests = tuple(requests)
    # A refused call, and one that broke before a word and without a report, takes nothing.
    words_alone = any(each.has_words and each.report is None for each in requests)
    half = is_broken_off or any(_is_half(each) for each in requests)
    reported = [(each.model, each.report) for each in requests if each.report is not None]
    tokens = sum(tokens_of(report) for _, report in reported)
    costs = [_cost(model, report) for model, report in reported]
    return Truth(
        Range(tokens, tokens, words_alone, half),
        Range(
            sum(cost[0] for cost in costs if cost is not None),
            sum(cost[1] for cost in costs if cost is not None),
            words_alone or None in costs,
            half,
        ),
    )


def _is_half(sent: Sent) -> bool:
    """Whether it broke off after words with what was counted until then, or because its client left."""
    breaks = sent.behaviour in ("counts, cut", "cut in words")
    return sent.outcome in (None, "disconnected") or (breaks and sent.report is not None)


def tokens_of(report: Mapping[str, Any]) -> int:
    """Prompt and completion, with what stands in the total alone."""
    return max(int(report["total_tokens"]), int(report["prompt_tokens"]) + int(report["completion_tokens"]))


def _cost(model: str, report: Mapping[str, Any]) -> tuple[float, float] | None:
    """The least and the most that it cost, None if its price is unknown."""
    if "cost" in report:
        return report["cost"], report["cost"]
    price = PRICES[model]
    if price is None:
        return None
    prompt = report["prompt_tokens"]
    cached = report.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    rest = (prompt - cached) * price.prompt + (tokens_of(report) - prompt) * price.completion
    least, most = (0.0, price.prompt) if price.cached is None else (price.cached, price.cached)
    return (rest + cached * least) / 1e6, (rest + cached * most) / 1e6
