"""The requests of a run's player, checked; how a moment of a run is written; the recordings it plays.

A request comes from the browser, so nothing about it is taken for granted. Knows the store, no page.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conductor.runs.replay import Recording, Replay, speeds_for
from storage import SessionStore


@dataclass(frozen=True, slots=True)
class Unit:
    """How times of one run are written: in `name`s of so many `seconds`, with that many digits."""

    name: str
    seconds: float
    digits: int

    def number(self, seconds: float) -> str:
        """Seconds in this unit, without its name."""
        return f"{seconds / self.seconds:.{self.digits}f}"


_MINUTES = Unit("min", 60.0, 1)
_UNITS = (
    (0.01, Unit("ms", 0.001, 1)),
    (0.0995, Unit("ms", 0.001, 0)),
    (1.0, Unit("s", 1.0, 2)),
    (600.0, Unit("s", 1.0, 1)),
)
"""Below how many seconds which unit is used."""


def unit_of(seconds: float) -> Unit:
    """The unit for a run that took so many seconds: one for all its times, so that they compare."""
    return next((unit for below, unit in _UNITS if seconds < below), _MINUTES)


def moment_text(position: float, seconds: float) -> str:
    """Where in a run a replay stands, such as "1.2 of 5.0 s"."""
    unit = unit_of(seconds)
    return f"{unit.number(position)} of {unit.number(seconds)} {unit.name}"


def read_replay(wish: Any, *, run: str, revision: str, seconds: float, now: float) -> Replay | None:
    """The replay of `run` that `wish` asks for: {"position", "playing", "speed"}, or None if it asks for
    the end or cannot be read.

    Positions are seconds into the run, which took `seconds`; `now` is in Unix seconds. See `Replay` for
    `revision`.
    """
    if not isinstance(wish, dict):
        return None
    position, speed = _number(wish.get("position")), _number(wish.get("speed"))
    if position is None or position >= seconds or speed not in speeds_for(seconds):
        return None
    return Replay(
        run=run,
        revision=revision,
        seconds=seconds,
        position=max(0.0, position),
        speed=speed,
        playing_since=now if wish.get("playing") is True else None,
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


# A replay reads the same recording many times.
@lru_cache(maxsize=4)
def recording(store: SessionStore, run: str) -> Recording:
    """What the store has of a run that is over. Raises `StorageError` for an unknown run."""
    return Recording.of(store.runs.events(run))
