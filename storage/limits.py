"""Limits of who makes requests, a token or a person: budgets of a period, and rates.

Pure; knows neither requests nor how limits are stored.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from pydantic import Field

from conductor.values.budget import Budget
from conductor.values.messages import Value

Period = Literal["day", "month", "total"]
"""What a budget is for: each day or month of the calendar (UTC), or all requests together."""

Rate = Literal["requests", "tokens"]

MINUTE = 60.0


class Spent(Value):
    """What `requests` have used together, by estimate what no endpoint reports.

    `unknown_tokens` counts the calls whose tokens are in the sum by estimate; `unknown_costs` those whose
    dollars are, or are not in it, where their worker has no price.
    """

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    unknown_tokens: int = 0
    unknown_costs: int = 0


class Limits(Value):
    """What is allowed; None leaves one open. `tokens` and `cost` (US dollars) are the budget of a `period`;
    those `per_minute` are rates.
    """

    tokens: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    period: Period = "total"
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)

    @property
    def has_budget(self) -> bool:
        return self.tokens is not None or self.cost is not None

    @property
    def has_rate(self) -> bool:
        return self.requests_per_minute is not None or self.tokens_per_minute is not None

    @property
    def texts(self) -> tuple[str, ...]:
        """Each limit in words; empty without a limit."""
        each = {"day": "a day", "month": "a month", "total": "in total"}[self.period]
        amounts = (
            (self.tokens, "{:,} tokens " + each),
            (self.cost, "${:g} " + each),
            (self.requests_per_minute, "{:,} requests per minute"),
            (self.tokens_per_minute, "{:,} tokens per minute"),
        )
        return tuple(words.format(amount) for amount, words in amounts if amount is not None)

    def left(self, spent: Spent) -> Budget | None:
        """What is left of the budget after so much was spent; None if nothing is left."""
        tokens = None if self.tokens is None else self.tokens - spent.tokens
        cost = None if self.cost is None else self.cost - spent.cost
        if (tokens is not None and tokens <= 0) or (cost is not None and cost <= 0):
            return None
        return Budget(tokens=tokens, cost=cost)


class Levels(NamedTuple):
    """What is left of the rates of a minute, None for one that is open; below 0 is a debt. Not `passed`:
    there was not one of each, and nothing was taken.
    """

    passed: bool
    requests: float | None
    tokens: float | None

    def of(self, limits: Limits) -> list[tuple[Rate, int, float]]:
        """Of each rate that is limited, the limit and the level."""
        rates: list[tuple[Rate, int | None, float | None]] = [
            ("requests", limits.requests_per_minute, self.requests),
            ("tokens", limits.tokens_per_minute, self.tokens),
        ]
        return [
            (kind, limit, limit if level is None else level)
            for kind, limit, level in rates
            if limit is not None
        ]

    def wait(self, limits: Limits) -> tuple[float, Rate]:
        """The seconds to wait until all would pass, and for which rate; 0 where it passed."""
        waits: list[tuple[float, Rate]] = [
            (max(0.0, (1 - level) * MINUTE / limit), kind) for kind, limit, level in self.of(limits)
        ]
        return (0.0, "requests") if self.passed else max(waits)


NO_RATE = Levels(passed=True, requests=None, tokens=None)


def begin_of(period: Period, *, now: float) -> float:
    """When the period began that `now` is in; both in Unix seconds."""
    day = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return {"day": day.timestamp(), "month": day.replace(day=1).timestamp(), "total": 0.0}[period]


def end_of(period: Period, *, now: float) -> float | None:
    """When the next period begins (Unix seconds), or None without a period."""
    at = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    match period:
        case "day":
            return (at + timedelta(days=1)).timestamp()
        case "month":
            return (at.replace(day=1) + timedelta(days=32)).replace(day=1).timestamp()
        case "total":
            return None


def day_of(now: float) -> str:
    """The day of the calendar (UTC), as 2026-11-01."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
