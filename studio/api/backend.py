"""What the API runs on: a request becomes a session of the workbench like any other.

Knows the workbench and the store, both used in threads of their own so that many requests can wait for the
store at once; knows no HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Concatenate, ParamSpec, TypeVar

from conductor.planner.planner import MAX_QUERY, check_query
from conductor.runs.events import Event
from conductor.runs.request import RunRequest
from conductor.values.conversation import MAX_CONVERSATION
from conductor.workers.pool.pool import Pool
from storage.database.encoding import plain
from storage.records import RequestSession
from storage.store import SessionStore
from studio.sessions.event_bridge import EventBridge
from studio.workbench import Workbench

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 16


class StoreBackend:
    """Runs requests, and reads what is stored. Methods raise `ConductorError`.

    `workbench` may open the workbench on its first call. Used in one event loop.
    """

    def __init__(self, workbench: Callable[[], Workbench]) -> None:
        self._workbench = workbench
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="conductor-api")

    async def pool(self) -> Pool:
        """The workers, as of now."""
        return await self.in_thread(lambda: self._workbench().pool)

    async def look_up(
        self, query: Callable[Concatenate[SessionStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The result of one of the functions in `stored`."""
        return await self.in_thread(lambda: query(self._workbench().store, *args, **kwargs))

    async def start(self, request: RunRequest, stored_as: RequestSession) -> SessionRun:
        """Create the session and start. What can be refused is refused before anything is stored."""
        events = EventBridge(asyncio.get_running_loop())
        session, ended = await self.in_thread(lambda: self._start(request, stored_as, events))
        events.ends_with(ended)
        return SessionRun(self, session, events, ended, stored=stored_as.keep)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """The result of `work`, done in one of the backend's threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    # -- in a thread -------------------------------------------------------------------------------

    def _start(
        self, request: RunRequest, stored_as: RequestSession, events: EventBridge
    ) -> tuple[str, Future[None]]:
        # Messages that a worker gets as they came share one limit, whichever of them is the question.
        most = MAX_CONVERSATION if request.conversation.verbatim else MAX_QUERY
        # As the store will have it.
        request = replace(request, query=plain(check_query(request.query, most=most)))
        workbench = self._workbench()
        session = workbench.runner.begin_session(request, stored_as, listen=events.put)
        ended = workbench.activities.going(session)
        assert ended is not None, "just started"
        return session, ended

    def store_response(self, session: str, body: str) -> None:
        """See `SessionRun.store_response`."""
        self._workbench().store.requests.keep_response(session, body)

    def stop(self, session: str) -> None:
        """See `SessionRun.stop`."""
        self._workbench().activities.stop(session)

    def close(self, session: str, *, stored: bool) -> None:
        """See `SessionRun.close`."""
        self._workbench().activities.forget(session)
        if not stored:
            self._workbench().store.sessions.delete(session)
            self._workbench().store.housekeeping.remove_session(session)


class SessionRun:
    """A request that runs in its session. Used in the event loop that started it."""

    def __init__(
        self, backend: StoreBackend, session: str, events: EventBridge, ended: Future[None], *, stored: bool
    ) -> None:
        self.session = session
        self._backend = backend
        self._events = events
        self._ended = ended
        self._stored = stored

    @property
    def failure(self) -> Exception | None:
        """Once it is over: what ended it early, None where its events contain the reason."""
        if not self._ended.done() or self._ended.cancelled():
            return None
        error = self._ended.exception()
        return error if isinstance(error, Exception) and not isinstance(error, CancelledError) else None

    def events(self) -> AsyncIterator[Event]:
        """The events of all planning and all rounds. Each comes once; an interrupted reader can go on."""
        return self._events

    async def stop(self) -> None:
        """Stop it with all calls that it makes; it is over within a second."""
        await self._backend.in_thread(lambda: self._backend.stop(self.session))

    async def store_response(self, body: str) -> None:
        """Store the body that it was answered with. Raises `StorageError`."""
        await self._backend.in_thread(lambda: self._backend.store_response(self.session, body))

    async def close(self) -> None:
        """Called once it is over: frees its memory, and removes a session that is not to be stored."""
        await self._backend.in_thread(lambda: self._backend.close(self.session, stored=self._stored))
