"""A response whose run any process carries out, read from the store while it goes on.

Knows the store's runs and who began them; knows no sockets. What it yields is what the process of the run
yields: the same events, folded in the same way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from conductor.runs.events import Event, RunFinished
from conductor.runs.state import RunStatus
from conductor.workers.pool.pool import Pool
from storage.records import RunRecord
from storage.store import SessionStore
from studio.api.answers.answer import Answer
from studio.api.answers.response_run import ResponseRun
from studio.api.backend import Backend
from studio.api.error_answers import failed_run, unsupported
from studio.api.stored import visible
from studio.api.stored.visible import ResponseOrigin, StoredResponse
from studio.workbench import Workbench

LOOK_SECONDS = 0.1
"""How often the store is read while the run goes on."""

STOP_SECONDS = 10.0
"""How long a stop is waited for: the run's process notices it within a second."""

_NO_ANSWER: Collection[RunStatus] = ("failed", "cancelled", "over_budget", "paused")
"""How a run ends without an answer, so that no other round follows it."""

QUIET_SECONDS = 1.0
"""After how long without an event it is checked that the process of the run lives."""


@dataclass(eq=False)
class FollowedRun:
    """A `ResponseRun` as far as it is read from the store. It goes on whether it is read or not."""

    stored_response: StoredResponse
    pool: Pool
    _backend: Backend
    _app: str | None
    answer: Answer = field(init=False)
    _run: str | None = None
    _seq: int = -1
    _origin: ResponseOrigin = field(init=False)
    _over: set[str] = field(default_factory=set)
    _last: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        origin = self.stored_response.origin
        if origin is None:
            raise unsupported("stream", "an earlier version answered, which stored no stream.")
        self._origin = origin
        self.answer = Answer(rounds=origin.rounds, live=origin.live, verbatim=origin.verbatim)

    @property
    def session(self) -> str:
        return self.stored_response.session

    @property
    def answer_id(self) -> str:
        return visible.answer_id(self.session, self.stored_response.answer)

    @property
    def continued(self) -> bool:
        return bool(self.stored_response.answer)

    @property
    def started_at(self) -> float:
        return float(self.stored_response.shape["created_at"])

    @property
    def seconds(self) -> float:
        return max(0.0, time.time() - self.started_at)

    @property
    def url(self) -> str | None:
        return None if self._app is None else f"{self._app}/?session={self.session}"

    @property
    def failure(self) -> Exception | None:
        """See `ResponseRun.failure`; where the run's process stored no response, it died, perhaps after the
        end of its run.
        """
        runs = self.answer.state.runs
        ended = bool(runs) and runs[-1].status in _NO_ANSWER
        return None if self._last is not None or ended else interrupted()

    @property
    def stopped(self) -> bool:
        """See `ResponseRun.stopped`: then its process stored the response."""
        return False

    async def progress(self) -> AsyncGenerator[tuple[Event, str], None]:
        """See `ResponseRun.progress`. It ends where the response is stored, or its process has died."""
        quiet_since = -QUIET_SECONDS
        while True:
            # Looked at first: what ended was stored before.
            over, events = await self._backend.look_up(
                self._look, alive=time.monotonic() - quiet_since < QUIET_SECONDS
            )
            for event in events:
                yield event, self.answer.add(event)
            if over:
                return
            if events:
                quiet_since = time.monotonic()
            await asyncio.sleep(LOOK_SECONDS)

    async def whole(self) -> None:
        async for _ in self.progress():
            pass

    async def stop(self) -> None:
        """Have it stopped, wherever it runs; returns once its response is stored, or after `STOP_SECONDS`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                # Another process may stop it, so nothing here is set when it has.
                while not await self._backend.call(self._ask_to_stop):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)

    def _ask_to_stop(self, bench: Workbench) -> bool:
        """Ask once more: a plan may have become a run meanwhile. Whether it is over."""
        now = visible.again(bench.store, self.stored_response)
        if now.ended or visible.is_abandoned(bench.store, now):
            return True
        # Not a run that waits at a gate: its response is about to be stored as it ended.
        bench.running.stop_work(self.session)
        return False

    async def store(self, response: dict[str, Any]) -> dict[str, Any]:
        """The response that the run's process stored; where it died before, `response` without what only that
        process knew: what planning took, and when the answer was there.
        """
        if self._last is not None:
            return self._last
        return {**response, "usage": None, "conductor": {"session": self.session, "url": self.url}}

    def _look(self, store: SessionStore, *, alive: bool) -> tuple[bool, list[Event]]:
        """Whether it is over, and the new events; `alive`: its process lived a moment ago."""
        now = visible.again(store, self.stored_response)
        # Another process goes on with it, and writes the answer again from its beginning.
        resumed = now.origin is not None and now.origin.run_before != self._origin.run_before
        if now.ended and not resumed:
            self._last = dict(now.shape)
        over = resumed or now.ended or (not alive and visible.is_abandoned(store, now))
        return over, list(self._new_events(store))

    def _new_events(self, store: SessionStore) -> list[Event]:
        new_events: list[Event] = []
        for run in self._rounds(store):
            if run.id in self._over:
                continue
            if run.id != self._run:
                self._run, self._seq = run.id, -1
            events = store.runs.events(run.id, after=self._seq)
            new_events += events
            self._seq = events[-1].seq if events else self._seq
            if not events or not isinstance(events[-1], RunFinished):
                break
            self._over.add(run.id)
        return new_events

    def _rounds(self, store: SessionStore) -> list[RunRecord]:
        """The response's own runs, oldest first: what people run afterwards begins another round 1, or is a
        round behind the last one.
        """
        rounds: list[RunRecord] = []
        newest = takewhile(lambda run: run.id != self._origin.run_before, store.runs.of_session(self.session))
        for run in reversed(list(newest)):
            if run.round > self._origin.rounds or (rounds and run.round != rounds[-1].round + 1):
                break
            rounds.append(run)
        return rounds


AnsweredRun = ResponseRun | FollowedRun
"""What an answer is written from."""


def interrupted() -> Exception:
    """The process that made this answer died before its end."""
    message = (
        "The server that made this answer ended before the answer did; its finished steps are stored. Read "
        "the response again: where no other server goes on with it, resume it."
    )
    return failed_run(message, code="run_interrupted")
