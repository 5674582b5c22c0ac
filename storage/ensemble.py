"""Who plans and who answers: a pool and the Conductor that writes workflows for it.

A frozen value, so that what has begun goes on with those it began with, whatever is configured meanwhile.
Knows neither files nor sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from conductor.budget import NO_BUDGET
from conductor.engine.meter import Meter
from conductor.modes import Settings
from conductor.planner.conductor import Conductor
from conductor.recursion import with_conductor
from conductor.workers.pool import Pool


@dataclass(frozen=True)
class Ensemble:
    """`nests`: the Conductor is one more worker of its own pool, beside `workers`."""

    workers: Pool
    conductor: Conductor
    nests: bool = False

    @cached_property
    def pool(self) -> Pool:
        """All who may be given a step."""
        return self.pool_for(Meter(NO_BUDGET))

    def pool_for(self, meter: Meter) -> Pool:
        """The pool of a run whose spending `meter` counts."""
        if not self.nests:
            return self.workers
        return with_conductor(self.workers, self.conductor, settings=Settings(), meter=meter)


Ensembles = Callable[[], Ensemble]
"""The ensemble for what begins now. Raises `PoolError` while what is configured cannot be read."""
