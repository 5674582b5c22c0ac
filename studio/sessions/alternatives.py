"""Plans that are requested at once, to choose from: as they are written, read from any thread.

Knows live plans only; who asks and keeps them is planning's.
"""

from __future__ import annotations

from dataclasses import dataclass

from conductor.runs.state import RunState
from studio.sessions.background_runs import LivePlan

FEWEST, MOST = 2, 5
"""How many plans may be requested at once."""


@dataclass(frozen=True)
class LiveAlternatives:
    """`batch` is what the plans will have in common in the store."""

    batch: str
    plans: tuple[LivePlan, ...]

    @classmethod
    def of(cls, count: int, *, batch: str) -> LiveAlternatives:
        """As many as `count`, none of them begun."""
        return cls(batch=batch, plans=tuple(LivePlan() for _ in range(count)))

    @property
    def done(self) -> bool:
        """Whether all have ended."""
        return self.ended == len(self.plans)

    @property
    def ended(self) -> int:
        """How many have ended."""
        return sum(plan.done.is_set() for plan in self.plans)

    @property
    def states(self) -> tuple[RunState, ...]:
        """The newest snapshots, in the order of asking."""
        return tuple(plan.state for plan in self.plans)
