"""The budget of a run: values only. The engine counts and stops."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from conductor.values.messages import Value

Limit = Literal["tokens", "cost", "seconds", "calls"]


class Budget(Value):
    """Limits of a run with all that happens inside it; None leaves one open.

    `tokens` counts prompts and completions, `cost` is in US dollars, `seconds` is wall time from the start,
    `calls` counts requests to workers and Conductors.
    """

    tokens: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)
    calls: int | None = Field(default=None, ge=1)

    @property
    def open(self) -> bool:
        return self.tokens is None and self.cost is None and self.seconds is None and self.calls is None


NO_BUDGET = Budget()
"""The budget of a run unless one is set: no limits."""


class Used(Value):
    """What was used of a budget so far, as far as it is known: what is unknown counts as nothing."""

    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    calls: int = 0


class Allowance(Value):
    """What someone may use beside a run's own budget: a `budget`, and what was `used` of it before.
    `of` names whose it is, and when it renews.
    """

    budget: Budget
    used: Used
    of: str


class Crossing(Value):
    """A limit that was reached; the figures are in its unit: tokens, US dollars, seconds or calls."""

    limit: Limit
    """Which one."""
    used: float
    """What was taken."""
    allowed: float
    """What the budget gives."""
    needed: float | None = None
    """What a refused call takes at least, None for calls."""
    refused: bool = False
    """A call had no room, and those under way continue; otherwise these are stopped."""
    estimated: bool = False
    """A part of `used` is not an endpoint's own count."""
    of: str | None = Field(default=None, exclude_if=lambda of: of is None)
    """Whose limit it is and when it renews, in words; None for the run's own."""

    @property
    def words(self) -> str:
        """What was used of what was allowed, and what a refused call needs, for people."""
        about = "about " if self.estimated and self.limit in ("tokens", "cost") else ""
        more = "" if self.needed is None else f", and the next call takes at least about {self._needs}"
        of = "" if self.of is None else f" ({self.of})"
        return f"{about}{self._amounts} used{more}{of}"

    @property
    def _amounts(self) -> str:
        if self.limit == "cost":
            return f"${self.used:.4f} of ${self.allowed:g}"
        if self.limit == "seconds":
            return f"{self.used:.1f} of {self.allowed:g} seconds"
        return f"{self.used:,.0f} of {self.allowed:,.0f} {self.limit}"

    @property
    def _needs(self) -> str:
        needed = self.needed or 0.0
        return f"${needed:.4f}" if self.limit == "cost" else f"{needed:,.0f} {self.limit}"
