"""Actors on a Ray cluster that do batches of work: hired, given the next batch, replaced where they are lost.

Knows Ray; what an actor does is its own. Knows no evaluation and no training.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from conductor.errors import ClusterError
from studio.cluster.connection import GONE, HeadWatch, cause_line

LOOK_SECONDS = 0.5
"""How often it is looked whether the work is over."""

ALONE_SECONDS = 120.0
"""How long work waits for a first process, or for a new one when all are lost."""

MOST_LOST = 3
"""A batch whose process was lost so often is not given to another one."""

_ACTOR_FAILURE = (
    "No process of this program can be made on the Ray cluster: {}. Its own code is sent there; each machine "
    "needs this Python, and the packages that the program requires, in the same versions."
)

_NOBODY = (
    f"The Ray cluster had no place for a process in {ALONE_SECONDS:.0f} seconds: each takes one CPU. "
    "Add a machine, or end what else runs there."
)

W = TypeVar("W")
A = TypeVar("A")
W_contra = TypeVar("W_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)


class Member(Protocol[W_contra, A_co]):
    """What runs inside an actor: made on the machine, it opens nothing before `begin`."""

    def begin(self) -> str | None:
        """Open what is needed, once; returns why that cannot be used, or None."""
        ...

    def answer(self, work: W_contra, *, again: bool) -> A_co:
        """Do a batch; `again`: another process was lost that had begun it."""
        ...


@dataclass(frozen=True)
class Done(Generic[W, A]):
    """Work, and what its process answered."""

    work: W
    answer: A


@dataclass(frozen=True)
class Failed:
    """Why no more can be done."""

    reason: str


@dataclass(frozen=True)
class _Batch(Generic[W]):
    work: W
    lost: int = 0


def places() -> int:
    """How many processes the cluster that is connected to has places for: one for each of its CPUs."""
    import ray  # noqa: PLC0415 - an extra

    return max(1, int(ray.cluster_resources().get("CPU", 0)))


class Shift(Generic[W, A]):
    """`processes` actors, each a `member` made of `inputs`; values without secrets are sent. `named`
    is what a batch is called where its process was lost too often.

    `_calls` has of each reference that is waited for whose it is: an actor's, which begins (None) or does a
    batch.
    """

    def __init__(
        self,
        member: Callable[..., Member[W, A]],
        *inputs: object,
        processes: int,
        named: Callable[[W], str],
    ) -> None:
        import ray  # noqa: PLC0415 - an extra

        self._ray = ray
        self._inputs, self._named = inputs, named
        self._actor = ray.remote(num_cpus=1, max_concurrency=2, scheduling_strategy="SPREAD")(member)
        self._head = HeadWatch()
        self._waiting: deque[_Batch[W]] = deque()
        self._calls: dict[Any, tuple[Any, _Batch[W] | None]] = {}
        self._idle: list[Any] = []
        self._alone_since: float | None = None
        self._ended = False
        for _ in range(processes):
            self._hire()

    def begin(self) -> None:
        """Wait for the first process. Raises `ClusterError` where there is no place for one, or it cannot be
        used.
        """
        for event in self._turns(lambda: not self._idle):
            if isinstance(event, Failed):
                raise ClusterError(event.reason)

    def work(self, batches: Sequence[W]) -> Iterator[Done[W, A] | Failed | None]:
        """Give out the batches until all are done; what came of each, as it comes, and each `LOOK_SECONDS`
        None.
        """
        self._waiting.extend(map(_Batch, batches))
        # Some may have been lost while there was no work.
        for actor in self._idle:
            self._calls[actor.begin.remote()] = actor, None
        self._idle.clear()
        yield from self._turns(lambda: bool(self._waiting) or self._at_work)

    def stop(self) -> None:
        """Give out nothing more, and have the members, which need a `stop` for it, end what they do; what
        came of that still comes.
        """
        self._waiting.clear()
        for actor, batch in self._calls.values():
            if batch is not None:
                actor.stop.remote()

    def end(self) -> None:
        """End every process; also what waits for them, in another thread."""
        self._ended = True
        for actor in (*self._idle, *(actor for actor, _ in tuple(self._calls.values()))):
            self._ray.kill(actor)

    def _turns(self, go_on: Callable[[], bool]) -> Iterator[Done[W, A] | Failed | None]:
        """What happens meanwhile; None at the end of each turn."""
        self._alone_since = None
        while go_on() and not self._ended:
            done, _ = self._ray.wait(list(self._calls), timeout=LOOK_SECONDS)
            # Those that were ended meanwhile are not to be replaced.
            for reference in () if self._ended else done:
                yield from self._come(reference, *self._calls.pop(reference))
            if self._alone_for > ALONE_SECONDS:
                yield Failed(_NOBODY)
            if self._head.gone:
                self._ended = True
                yield Failed(GONE)
            yield None

    @property
    def _at_work(self) -> bool:
        return any(batch is not None for _, batch in self._calls.values())

    @property
    def _alone_for(self) -> float:
        """Seconds since there was a process that could work."""
        if self._at_work or self._idle:
            self._alone_since = None
            return 0.0
        self._alone_since = self._alone_since or time.monotonic()
        return time.monotonic() - self._alone_since

    def _hire(self) -> None:
        """A new actor, which begins once the cluster has a place for it."""
        actor = self._actor.remote(*self._inputs)
        self._calls[actor.begin.remote()] = actor, None

    def _come(self, reference: Any, actor: Any, batch: _Batch[W] | None) -> Iterator[Done[W, A] | Failed]:
        """Take what an actor answered, or that it is lost, and give out what waits."""
        errors = self._ray.exceptions
        try:
            answered = self._ray.get(reference)
        except errors.RuntimeEnvSetupError as error:
            yield Failed(_ACTOR_FAILURE.format(cause_line(str(error))))
            return
        except (errors.RayActorError, errors.ObjectLostError) as error:
            if isinstance(error, errors.RayActorError) and error.actor_init_failed:
                # Another one would fail as this one did.
                yield Failed(_ACTOR_FAILURE.format(cause_line(str(error))))
                return
            # It may only be out of reach: it is not to go on beside the one that takes its place.
            self._ray.kill(actor)
            self._hire()
            if batch is not None:
                yield from self._lost(batch)
        else:
            if batch is None and answered is not None:
                # Its answers would be no planner's fault: it is given nothing.
                self._ray.kill(actor)
                yield Failed(answered)
                return
            self._idle.append(actor)
            if batch is not None:
                yield Done(batch.work, answered)
        self._give_out()

    def _give_out(self) -> None:
        while self._waiting and self._idle:
            free, batch = self._idle.pop(), self._waiting.popleft()
            reference = free.answer.remote(batch.work, again=batch.lost > 0)
            self._calls[reference] = free, batch

    def _lost(self, batch: _Batch[W]) -> Iterator[Failed]:
        if batch.lost + 1 == MOST_LOST:
            yield Failed(
                f"{MOST_LOST} processes of the Ray cluster ended while they worked on "
                f"{self._named(batch.work)}; see to the memory of its machines."
            )
        else:
            self._waiting.appendleft(replace(batch, lost=batch.lost + 1))
