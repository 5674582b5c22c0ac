"""A finished run at any moment of it: its events up to then, through the same fold as live.

Knows events, their fold, and how a replay proceeds by the given clock; knows no page and no store.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

from conductor.runs.events import Event, Retry
from conductor.runs.state import RunState, advance, fold
from conductor.runs.step_state import StepState
from conductor.runs.timeline import Moments

SPEEDS = (1.0, 2.0, 5.0, 10.0, 50.0)
"""How many seconds of the run a second of its replay may show."""

_SLOW_SPEEDS = (0.01, 0.1)
_SEEN, _LONG = 2.0, 20.0
"""Seconds: a replay shorter than the first is too quick to follow and is slowed down, to no more than the
second."""

_CHECKPOINTS = 64
_LEAST_BETWEEN = 64
"""At most so many folded states of a run are cached, and at least so many events lie between two of them."""


@dataclass(frozen=True)
class Recording:
    """A run's events in order, and the state at any second of it.

    States in between are cached, so that a moment costs the fold of a few events however long the run.
    """

    events: tuple[Event, ...]
    _checkpoints: tuple[RunState, ...] = field(repr=False, default=())
    _between: int = field(repr=False, default=_LEAST_BETWEEN)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Recording:
        """The recording of a run's stream, as far as it can be folded: an event may be missing there."""
        folded = tuple(events)
        between = max(_LEAST_BETWEEN, -(-len(folded) // _CHECKPOINTS))
        checkpoints: list[RunState] = []
        state = RunState()
        for at in range(0, len(folded), between):
            checkpoints.append(state)
            try:
                state = fold(folded[at : at + between], state)
            except ValueError:
                folded = folded[: at + _foldable(folded[at:], state)]
                break
        return cls(events=folded, _checkpoints=tuple(checkpoints), _between=between)

    @cached_property
    def moments(self) -> Moments:
        """The times that the events hold and the state does not."""
        return Moments.of(self.events)

    @property
    def began(self) -> float:
        """Unix seconds of the first event, 0 if it has none."""
        return self.events[0].at if self.events else 0.0

    @property
    def seconds(self) -> float:
        """From the first event to the last that the run's own process wrote."""
        return 0.0 if self.moments.last is None else max(0.0, self.moments.last - self.began)

    def at(self, seconds: float) -> RunState:
        """The state so many seconds after the first event, with all that had happened by then.

        A run that is over reads as it ended from `seconds` on, and as running before.
        """
        if seconds >= self.seconds:
            return self._folded(len(self.events))
        return self._folded(bisect_right(self._times, seconds))

    def _folded(self, count: int) -> RunState:
        """The state after the first `count` events."""
        if not self._checkpoints:
            return RunState()
        checkpoint = min(count // self._between, len(self._checkpoints) - 1)
        return fold(self.events[checkpoint * self._between : count], self._checkpoints[checkpoint])

    @cached_property
    def _times(self) -> tuple[float, ...]:
        """Seconds after which each event had happened; a clock that was set back does not undo what had."""
        return tuple(accumulate((event.at - self.began for event in self.events), max))


def _foldable(events: Iterable[Event], state: RunState) -> int:
    """How many of the events can be folded one after another."""
    count = 0
    for event in events:
        try:
            state = advance(state, event)
        except ValueError:
            break
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class Replay:
    """The position of a run's replay: `position` seconds into it, when it was last touched.

    `seconds` is how long the run took. `playing_since` is the Unix second since which it plays at `speed`,
    None while it is paused. `revision` is the session's workflow when the replay began: an edit ends the
    replay.
    """

    run: str
    revision: str
    seconds: float
    position: float = 0.0
    speed: float = 1.0
    playing_since: float | None = None

    @property
    def playing(self) -> bool:
        """Whether time passes in it."""
        return self.playing_since is not None

    def at(self, now: float) -> float:
        """Seconds into the run at the Unix second `now`."""
        passed = 0.0 if self.playing_since is None else max(0.0, now - self.playing_since)
        return min(self.seconds, self.position + passed * self.speed)

    def over(self, now: float) -> bool:
        """Whether it has reached the end, where there is nothing left to replay."""
        return self.at(now) >= self.seconds


def speeds_for(seconds: float) -> tuple[float, ...]:
    """The speeds to offer for a run that took so many seconds: slow ones, too, where it was over at once."""
    slow = tuple(speed for speed in _SLOW_SPEEDS if seconds < _SEEN and seconds / speed <= _LONG)
    return (*slow, *SPEEDS)


def first_speed(seconds: float) -> float:
    """The speed to begin with: the run's own, or the fastest at which a short run can be followed."""
    fit = (speed for speed in reversed(speeds_for(seconds)) if speed <= 1 and seconds / speed >= _SEEN)
    return next(fit, min(speeds_for(seconds)))


def as_of(state: RunState, *, moment: float, now: float) -> RunState:
    """The state of the Unix second `moment`, with its times moved as if that were `now`.

    A page computes how long a step has been running from the present time.
    """
    return _moved(state, now - moment)


def _moved(state: RunState, by: float) -> RunState:
    return replace(
        state,
        started_at=_later(state.started_at, by),
        finished_at=_later(state.finished_at, by),
        planning_retries=_retries(state.planning_retries, by),
        steps=tuple(_moved_step(step, by) for step in state.steps),
    )


def _moved_step(step: StepState, by: float) -> StepState:
    return replace(
        step,
        started_at=_later(step.started_at, by),
        finished_at=_later(step.finished_at, by),
        retries=_retries(step.retries, by),
        timed_calls=tuple(call.moved(by) for call in step.timed_calls),
        inner=tuple(_moved(inner, by) for inner in step.inner),
    )


def _later(at: float | None, by: float) -> float | None:
    return None if at is None else at + by


def _retries(retries: tuple[Retry, ...], by: float) -> tuple[Retry, ...]:
    return tuple(retry.model_copy(update={"at": retry.at + by}) for retry in retries)
