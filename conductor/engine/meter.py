"""Counts what a run and everything inside it spent, and says when that is too much.

One meter serves a whole tree of runs and planning calls. Knows budgets and usage, no run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from conductor.budget import Budget, Limit, Used
from conductor.messages import Usage


@dataclass(frozen=True, slots=True)
class Crossing:
    """A limit that was reached: how much was used and allowed, in the limit's unit."""

    limit: Limit
    used: float
    allowed: float


class Meter:
    """Belongs to one event loop. Time counts from its making; unknown tokens and costs count nothing."""

    def __init__(self, budget: Budget, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self.calls = 0
        self.crossing: Crossing | None = None
        self._tokens = 0
        self._cost = 0.0
        self._limited = not budget.open
        self._clock = clock
        self._begun = clock()
        self._watchers: list[Callable[[Crossing], None]] = []

    def watch(self, told: Callable[[Crossing], None]) -> Callable[[], None]:
        """Have `told` called once a limit is crossed; call what this returns to watch no more."""
        self._watchers.append(told)
        return lambda: self._watchers.remove(told)

    @property
    def used(self) -> Used:
        """All that was counted so far."""
        return Used(
            tokens=self._tokens,
            cost=self._cost,
            seconds=self._clock() - self._begun,
            calls=self.calls,
        )

    @property
    def seconds_left(self) -> float | None:
        """Until the limit of time, None where there is none."""
        allowed = self.budget.seconds
        return None if allowed is None else allowed - self.used.seconds

    def admit(self) -> bool:
        """Count a call about to be made; False, and a crossing, where the budget has no room for it."""
        if self.crossing is None and self._limited:
            for limit, used, allowed in self._limits():
                if used >= allowed:
                    self._cross(Crossing(limit, used, allowed))
                    break
        if self.crossing is not None:
            return False
        self.calls += 1
        return True

    def add(self, usage: Usage) -> None:
        """Count what a call used; what is unknown counts as nothing."""
        self._tokens += (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        self._cost += usage.cost or 0.0
        self.check()

    def check(self) -> None:
        """See whether a limit is crossed by now, and tell the watchers the first time."""
        if self.crossing is not None or not self._limited:
            return
        for limit, used, allowed in self._limits():
            if used > allowed or (limit == "seconds" and used >= allowed):
                self._cross(Crossing(limit, used, allowed))
                return

    def _cross(self, crossing: Crossing) -> None:
        self.crossing = crossing
        for told in tuple(self._watchers):
            told(crossing)

    def _limits(self) -> list[tuple[Limit, float, float]]:
        budget, used = self.budget, self.used
        limits: list[tuple[Limit, float, float | None]] = [
            ("tokens", used.tokens, budget.tokens),
            ("cost", used.cost, budget.cost),
            ("seconds", used.seconds, budget.seconds),
            ("calls", used.calls, budget.calls),
        ]
        return [(limit, spent, allowed) for limit, spent, allowed in limits if allowed is not None]
