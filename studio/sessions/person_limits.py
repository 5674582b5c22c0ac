"""Limits of the person who asks: whether something may begin now, and what it may use.

Knows the store; requests with a token have the token's limits alone, and who is unknown has none.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass

from conductor.engine.meter import Meter
from conductor.errors import LimitReached, StorageError
from conductor.own_settings import command_name
from conductor.runs.request import Asker
from conductor.values.budget import Allowance, Budget, Used
from storage.limits import NO_RATE, Levels, Limits, Spent, day_of, end_of
from storage.store import SessionStore

NEAR = 0.8
"""The share of a budget from which on a person is near its end."""

_OF_PERIOD = {"day": "of today", "month": "of this month", "total": "in total"}


@dataclass(frozen=True)
class PersonLimits:
    """The limits of the person who asks, and what they have `spent` of the budget."""

    by: Asker
    limits: Limits
    spent: Spent

    @classmethod
    def of(cls, store: SessionStore, by: Asker) -> PersonLimits | None:
        """None for an asker with a token, who is unknown, or without limits."""
        if by.token is not None or by.person is None:
            return None
        limits = store.people.limits_of(by.person)
        if limits is None:
            return None
        spent = store.people.spent(by.person, limits) if limits.has_budget else Spent()
        return cls(by, limits, spent)

    @property
    def share(self) -> float:
        """How much of the budget is used, 1 for all of it; 0 without one."""
        limits, spent = self.limits, self.spent
        return max(
            spent.tokens / limits.tokens if limits.tokens else 0, spent.cost / (limits.cost or math.inf)
        )

    @property
    def words(self) -> str:
        """What is used of the budget, and when it renews; "" without one."""
        limits, spent = self.limits, self.spent
        parts = [] if limits.tokens is None else [f"{spent.tokens:,} of {limits.tokens:,} tokens"]
        parts += [] if limits.cost is None else [f"${spent.cost:.4f} of ${limits.cost:g}"]
        return f"{', '.join(parts)} {_OF_PERIOD[limits.period]}{self._renewal}" if parts else ""

    @property
    def _renewal(self) -> str:
        end = end_of(self.limits.period, now=time.time())
        return "" if end is None else f", renewed on {day_of(end)} (UTC)"

    def check(self, levels: Levels = NO_RATE) -> None:
        """Raises `LimitReached` where the budget is used up, or the rates of a minute are at these levels."""
        if self.share >= 1:
            end = end_of(self.limits.period, now=time.time())
            raise LimitReached(
                f"The budget of {self.by.person} is used up: {self.words}. `{command_name()} people limit` "
                "changes it.",
                seconds=None if end is None else end - time.time(),
                rate=None,
            )
        if not levels.passed:
            seconds, rate = levels.wait(self.limits)
            most = {"requests": self.limits.requests_per_minute, "tokens": self.limits.tokens_per_minute}[
                rate
            ]
            raise LimitReached(
                f"{self.by.person} may have {most:,} {rate} per minute; try again in {math.ceil(seconds)} s.",
                seconds=seconds,
                rate=rate,
            )

    def limit(self, meter: Meter) -> None:
        """Have the meter stop what uses up the budget."""
        limits = self.limits
        if limits.has_budget:
            allowance = Allowance(
                budget=Budget(tokens=limits.tokens, cost=limits.cost),
                used=Used(tokens=self.spent.tokens, cost=self.spent.cost),
                # No name: a session that is shared or exported has this text.
                of=f"the person's limit {_OF_PERIOD[limits.period]}{self._renewal}",
            )
            meter.allow(allowance)

    def settle(self, store: SessionStore, tokens: int) -> None:
        """Take the tokens that were used from those of the minute; not waited for."""
        with suppress(StorageError):
            store.people.spend(self.by, self.limits, tokens)


def admitted(store: SessionStore, by: Asker, *, paced: bool = True) -> PersonLimits | None:
    """The limits within which something begins now, which takes a request of the minute if it is `paced`;
    None without limits. Raises `LimitReached` where they allow nothing more.
    """
    limits = PersonLimits.of(store, by)
    if limits is not None:
        limits.check()
        if paced:
            limits.check(store.people.take(by, limits.limits))
    return limits


def check_admits(store: SessionStore, by: Asker) -> None:
    """Raises `LimitReached` where nothing may begin now; takes nothing."""
    limits = PersonLimits.of(store, by)
    if limits is not None:
        limits.check(store.people.look(by, limits.limits))
