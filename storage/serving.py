"""The orchestra over the workbench: what the API is asked becomes a session like any other.

Knows the API's protocols and the workbench. The store is asked in threads of their own, so that many
requests can wait for it at once; events come from the background loop into the one that asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from conductor.api.orchestra import Answered, Performance, Saved, Task
from conductor.conversation import NOTHING_SAID
from conductor.errors import StorageError
from conductor.events import Event, PlanningStarted, RunStarted
from conductor.orchestrate import plan_request
from conductor.workers.protocol import WorkerCard
from storage.call import Call
from storage.records import Session, SessionSummary
from storage.workbench import Workbench

P = ParamSpec("P")
T = TypeVar("T")

LISTED = 50
"""Saved workflows that the list of models has."""

_THREADS = 16
_PAGE = 200
_PAGES = 10
"""How many sessions are looked through for them: some have no workflow, or are requests themselves."""


class WorkbenchOrchestra:
    """See `Orchestra`. `workbench` may open it on the first call; used in one event loop."""

    def __init__(self, workbench: Callable[[], Workbench]) -> None:
        self._workbench = workbench
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="conductor-api")

    async def cards(self) -> Mapping[str, WorkerCard]:
        """See `Orchestra.cards`."""
        return await self.in_thread(lambda: self._workbench().pool.cards)

    async def label(self) -> str | None:
        """See `Orchestra.label`."""
        return await self.in_thread(lambda: self._workbench().pool.label)

    async def saved(self, id: str) -> Saved | None:
        """See `Orchestra.saved`."""
        return await self.in_thread(self._saved, id)

    async def newest_saved(self) -> Sequence[Saved]:
        """See `Orchestra.newest_saved`."""
        return await self.in_thread(self._newest_saved)

    async def answered(self, session: str) -> Answered | None:
        """See `Orchestra.answered`."""
        return await self.in_thread(self._answered, session)

    async def begin(self, task: Task) -> Performance:
        """See `Orchestra.begin`."""
        heard = Heard(asyncio.get_running_loop())
        session, going = await self.in_thread(self._begin, task, heard)
        heard.ends_with(going)
        return SessionPerformance(self, session.id, heard=heard, going=going, keep=task.keep)

    async def in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: work(*args, **kwargs))

    # -- in a thread -------------------------------------------------------------------------------

    def _saved(self, id: str) -> Saved | None:
        store = self._workbench().store
        try:
            session = store.session(id)
            head = store.head(id)
        except StorageError:
            return self._revision(id)
        if head is None or session.deleted_at is not None:
            return None
        return Saved(id, title=session.title, workflow=head.workflow, created_at=session.created_at)

    def _revision(self, id: str) -> Saved | None:
        store = self._workbench().store
        try:
            revision = store.revision(id)
            session = store.session(revision.session)
        except StorageError:
            return None
        if session.deleted_at is not None:
            return None
        return Saved(id, title=session.title, workflow=revision.workflow, created_at=revision.created_at)

    def _newest_saved(self) -> Sequence[Saved]:
        store = self._workbench().store
        found: list[Saved] = []
        for page in range(_PAGES):
            sessions = store.sessions(limit=_PAGE, offset=page * _PAGE)
            saved = (self._saved(one.id) for one in sessions if _is_for_models(one))
            found += (one for one in saved if one is not None)
            if len(found) >= LISTED or len(sessions) < _PAGE:
                break
        return found[:LISTED]

    def _answered(self, id: str) -> Answered | None:
        workbench = self._workbench()
        try:
            session = workbench.store.session(id)
            runs = workbench.store.runs(id)
        except StorageError:
            return None
        answer = next((run.answer for run in runs if run.status == "finished" and run.answer), None)
        if session.origin != "api" or session.deleted_at is not None or answer is None:
            return None
        return Answered(session.query, conversation=session.said_before, answer=answer)

    def _begin(self, task: Task, heard: Heard) -> tuple[Session, Future[None]]:
        workbench = self._workbench()
        session = workbench.ask(
            task.query,
            settings=task.settings,
            origin="api",
            conversation=None if task.conversation == NOTHING_SAID else task.conversation,
        )
        for tag in task.tags:
            workbench.store.add_tag(session.id, tag)
        heard.stop = lambda: workbench.stop(session.id)
        if task.workflow is None:
            workbench.conducting.begin_plan(_call(workbench, session, task, heard), then_run=True)
        else:
            workbench.store.add_revision(
                session.id, task.workflow, origin="import", note="Given with the request"
            )
            workbench.start(session.id, listen=heard.hear)
        going = workbench.conducting.going(session.id)
        assert going is not None, "just begun"
        return session, going

    def put_away(self, session: str, *, keep: bool) -> None:
        """See `Performance.put_away`."""
        workbench = self._workbench()
        workbench.conducting.forget(session)
        if not keep:
            workbench.store.delete_session(session)
            workbench.store.remove_session(session)


def _is_for_models(session: SessionSummary) -> bool:
    return session.steps is not None and session.origin != "api"


def _call(workbench: Workbench, session: Session, task: Task, heard: Heard) -> Call:
    ensemble = workbench.conducting.ensemble
    request = plan_request(
        session.query, pool=ensemble.pool, settings=task.settings, conversation=session.said_before
    )
    return Call(
        session=session.id,
        ensemble=ensemble,
        request=request,
        settings=task.settings,
        listen=heard.hear,
        finish=task.finish,
    )


class Heard:
    """Events on their way from the background loop's thread into `loop`, until what goes on has ended.

    `stop` stops what goes on; any thread may call it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.stop: Callable[[], None] = lambda: None
        self.stopping = False
        self._loop = loop
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._ended = False

    def hear(self, event: Event) -> None:
        """Called in the background loop's thread."""
        self._put(event)
        if self.stopping and isinstance(event, PlanningStarted | RunStarted):
            # It began while it was being stopped, and so was not there to be stopped. In a thread: the store
            # is asked, and this loop must not wait.
            self._loop.call_soon_threadsafe(lambda: self._loop.run_in_executor(None, self.stop))

    def ends_with(self, going: Future[None]) -> None:
        """Nothing more comes behind the end of `going`."""
        going.add_done_callback(lambda _: self._put(None))

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._ended:
            raise StopAsyncIteration
        event = await self._events.get()
        if event is None:
            self._ended = True
            raise StopAsyncIteration
        return event

    def _put(self, event: Event | None) -> None:
        # A server that has stopped hears nothing more.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)


class SessionPerformance:
    """See `Performance`."""

    def __init__(
        self,
        orchestra: WorkbenchOrchestra,
        session: str,
        *,
        heard: Heard,
        going: Future[None],
        keep: bool,
    ) -> None:
        self.session = session
        self._orchestra = orchestra
        self._heard = heard
        self._going = going
        self._keep = keep

    @property
    def trouble(self) -> Exception | None:
        """See `Performance.trouble`."""
        if not self._going.done() or self._going.cancelled():
            return None
        error = self._going.exception()
        return error if isinstance(error, Exception) and not isinstance(error, CancelledError) else None

    def events(self) -> AsyncIterator[Event]:
        """See `Performance.events`."""
        return self._heard

    async def stop(self) -> None:
        """See `Performance.stop`."""
        self._heard.stopping = True
        await self._orchestra.in_thread(self._heard.stop)

    async def put_away(self) -> None:
        """See `Performance.put_away`."""
        await self._orchestra.in_thread(self._orchestra.put_away, self.session, keep=self._keep)
