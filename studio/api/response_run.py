"""The run behind a response, and all such runs of a server: counts their usage, stores and stops them.

Knows the backend and whose usage it is; knows no sockets and not how an answer is written.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from conductor.errors import ConductorError
from conductor.runs.events import Event
from conductor.runs.request import RunRequest
from storage.records import RequestSession
from studio.access.auth import Authenticator, Principal
from studio.api.answer import Answer
from studio.api.backend import SessionRun, StoreBackend
from studio.api.errors import server_stopping, stopped_with_server

_log = logging.getLogger(__name__)

SETTLE_SECONDS = 2.0
"""How long the work behind the last answers of a server may take."""


class FollowUps:
    """Work that outlives the request that caused it."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """Whether any is left."""
        return bool(self._tasks)

    async def done(self, *, within: float) -> None:
        """Wait until none is left, also of what it starts itself, for so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._tasks:
                    await asyncio.wait(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start it; an error goes to the log only."""
        task = asyncio.create_task(self._logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @staticmethod
    async def _logged(work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:  # noqa: BLE001 - no request waits for it any more
            _log.exception("work after a request failed")


class ResponseRun:
    """`answer` is what came so far; `stored`: its session stays afterwards."""

    def __init__(
        self,
        run: SessionRun,
        answer: Answer,
        *,
        auth: Authenticator,
        principal: Principal,
        follow_ups: FollowUps,
        stored: bool,
    ) -> None:
        self.session = run.session
        self.answer = answer
        self.stored = stored
        self.started_at = time.time()
        self._run = run
        self._auth = auth
        self._principal = principal
        self._follow_ups = follow_ups
        self._started = time.monotonic()
        self._over = False
        self._left = False
        self._interruption: ConductorError | None = None

    @property
    def seconds(self) -> float:
        """Since it started."""
        return time.monotonic() - self._started

    @property
    def failure(self) -> Exception | None:
        """What ended it early, where its events do not contain the reason."""
        return self._interruption or self._run.failure

    async def progress(self) -> AsyncGenerator[tuple[Event, str], None]:
        """Each event with the text that it adds to the answer. The usage is recorded before the end."""
        async for event in self._run.events():
            yield event, self.answer.add(event)
        self._over = True
        await asyncio.shield(self._follow_ups.start(self._record_usage()))

    async def whole(self) -> None:
        """Read all events."""
        async for _ in self.progress():
            pass

    async def store(self, response: dict[str, Any]) -> None:
        """Store the response that is about to be sent, where the session is stored at all.

        A response that cannot be stored is sent all the same; the log has the reason.
        """
        if not self.stored:
            return
        try:
            await self._run.store_response(json.dumps(response))
        except ConductorError:
            _log.exception("the response of the session %s was not stored", self.session)

    async def interrupt(self, reason: ConductorError) -> None:
        """Stop it while the client still reads; where it then has no answer, `failure` is the reason."""
        if not self._over and not self._left:
            self._interruption = reason
            await self._run.stop()

    def leave(self) -> None:
        """Stop what still runs: the client no longer reads. Must be called at least once."""
        if not self._left:
            self._left = True
            self._follow_ups.start(self._wind_up())

    async def _wind_up(self) -> None:
        if not self._over:
            await self._run.stop()
            async for event in self._run.events():
                self.answer.add(event)
            # In a separate task, so that an error there does not keep the run open.
            await self._follow_ups.start(self._record_usage())
        await self._run.close()

    async def _record_usage(self) -> None:
        await self._auth.record_usage(self._principal, self.answer.state.usage)


class ResponseRuns:
    """All runs of one server. Used in its event loop."""

    def __init__(self, backend: StoreBackend, auth: Authenticator) -> None:
        self.follow_ups = FollowUps()
        self._backend = backend
        self._auth = auth
        self._running: WeakSet[ResponseRun] = WeakSet()
        self._stopping = False

    async def start(
        self,
        request: RunRequest,
        stored_as: RequestSession,
        principal: Principal,
        *,
        stops: Sequence[str] = (),
    ) -> ResponseRun:
        """Start a run; its answer ends before the first of the `stops`.

        Raises `ApiError` once the server stops; then nothing was started or charged.
        """
        if self._stopping:
            raise server_stopping()
        # A workflow that was given runs once.
        rounds = request.settings.rounds if request.workflow is None else 1
        run = ResponseRun(
            await self._backend.start(request, stored_as),
            Answer(rounds=rounds, stops=stops, live=request.sent_on),
            auth=self._auth,
            principal=principal,
            follow_ups=self.follow_ups,
            stored=stored_as.keep,
        )
        self._running.add(run)
        if self._stopping:
            await run.interrupt(stopped_with_server())
        return run

    async def stop(self) -> None:
        """End all runs: each sends its client an error, which is not to be retried."""
        self._stopping = True
        await asyncio.gather(*(run.interrupt(stopped_with_server()) for run in list(self._running)))

    async def settle(self) -> None:
        """Wait until no work is left behind the answers, for `SETTLE_SECONDS` at most."""
        await self.follow_ups.done(within=SETTLE_SECONDS)
