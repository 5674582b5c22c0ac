"""The crew of an evaluation on a Ray cluster: actors that answer batches of items, and those that replace
lost ones.

Knows Ray; what an actor does is the answerer's.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from studio.cluster.answerer import Answerer, Brief, own_version
from studio.evaluation.crew import Part, Unit

LOOK_SECONDS = 0.5
"""How often it is looked whether the evaluation is over."""

ALONE_SECONDS = 120.0
"""How long an evaluation waits for a first process, or for a new one when all are lost."""

MOST_LOST = 3
"""Items whose process was lost so often are not given to another one."""

_NOBODY = (
    f"The Ray cluster had no place for a process in {ALONE_SECONDS:.0f} seconds: each takes one CPU. "
    "Add a machine, or end what else runs there."
)


@dataclass(frozen=True)
class _Batch:
    units: tuple[Unit, ...]
    lost: int = 0


class RayCrew:
    """A process for each CPU of the cluster that is connected to."""

    def __init__(self, *, pool: str, database: str | None, usable: Sequence[str]) -> None:
        self._pool, self._database, self._usable = pool, database, tuple(usable)

    def answer(
        self, evaluation: str, units: Sequence[Unit], *, parallel: int, over: Callable[[], bool]
    ) -> Iterator[Part]:
        """See `Crew.answer`."""
        brief = Brief(evaluation, self._pool, self._database, own_version(), self._usable)
        shift = _Shift(brief, units, parallel=parallel)
        try:
            yield from shift.work(over)
        finally:
            shift.end()


class _Shift:
    """The actors while they answer. `_asked` has of each reference that is waited for whose it is: an
    actor's, which begins (None) or answers a batch.
    """

    def __init__(self, brief: Brief, units: Sequence[Unit], *, parallel: int) -> None:
        import ray  # noqa: PLC0415 - an extra

        self._ray = ray
        self._brief = brief
        processes = max(1, int(ray.cluster_resources().get("CPU", 0)))
        # Small enough that all end at about the same time, large enough that few items wait for the last one.
        size = max(1, min(4 * parallel, ceil(len(units) / (4 * processes))))
        self._waiting = deque(
            _Batch(tuple(units[start : start + size])) for start in range(0, len(units), size)
        )
        self._actor = ray.remote(num_cpus=1, max_concurrency=2, scheduling_strategy="SPREAD")(Answerer)
        self._asked: dict[Any, tuple[Any, _Batch | None]] = {}
        self._idle: list[Any] = []
        self._alone_since: float | None = time.monotonic()
        for _ in range(min(processes, len(self._waiting))):
            self._hire()

    def work(self, over: Callable[[], bool]) -> Iterator[Part]:
        """Give out the batches until all are answered, or it is over."""
        stopped = False
        while self._waiting or self._at_work:
            if not stopped and over():
                stopped = True
                self._waiting.clear()
                self._stop()
                continue
            done, _ = self._ray.wait(list(self._asked), timeout=LOOK_SECONDS)
            for reference in done:
                yield from self._come(reference, *self._asked.pop(reference))
            if self._alone_for > ALONE_SECONDS and self._waiting:
                yield Part(failure=_NOBODY)

    def end(self) -> None:
        """End every process."""
        for actor in (*self._idle, *(actor for actor, _ in self._asked.values())):
            self._ray.kill(actor)

    @property
    def _at_work(self) -> bool:
        return any(batch is not None for _, batch in self._asked.values())

    @property
    def _alone_for(self) -> float:
        """Seconds since there was a process that could answer."""
        if self._at_work or self._idle:
            self._alone_since = None
            return 0.0
        self._alone_since = self._alone_since or time.monotonic()
        return time.monotonic() - self._alone_since

    def _hire(self) -> None:
        """A new actor, which begins once the cluster has a place for it."""
        actor = self._actor.remote(self._brief)
        self._asked[actor.begin.remote()] = actor, None

    def _stop(self) -> None:
        for actor, batch in self._asked.values():
            if batch is not None:
                actor.stop.remote()

    def _come(self, reference: Any, actor: Any, batch: _Batch | None) -> Iterator[Part]:
        """Take what an actor answered, or that it is lost, and give out what waits."""
        try:
            answered = self._ray.get(reference)
        except self._ray.exceptions.RayActorError:
            # It may only be out of reach: it is not to go on beside the one that takes its place.
            self._ray.kill(actor)
            self._hire()
            if batch is not None:
                yield from self._lost(batch)
        else:
            if batch is None and answered is not None:
                # Its answers would be no planner's fault: it is given nothing.
                self._ray.kill(actor)
                yield Part(failure=answered)
                return
            self._idle.append(actor)
            if batch is not None:
                yield answered
        while self._waiting and self._idle:
            free, next_batch = self._idle.pop(), self._waiting.popleft()
            asked = free.answer.remote(next_batch.units, again=next_batch.lost > 0)
            self._asked[asked] = free, next_batch

    def _lost(self, batch: _Batch) -> Iterator[Part]:
        yield Part(lost=batch.units)
        if batch.lost + 1 == MOST_LOST:
            numbers = ", ".join(str(item + 1) for item, _ in batch.units)
            yield Part(
                failure=f"{MOST_LOST} processes of the Ray cluster ended while they answered the questions "
                f"{numbers}; see to the memory of its machines."
            )
        else:
            self._waiting.appendleft(replace(batch, lost=batch.lost + 1))
