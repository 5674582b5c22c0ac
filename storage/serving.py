"""The orchestra over the workbench: what the API is asked becomes a session like any other.

Knows the API's protocols and the workbench. The store is asked in threads of their own, so that many
requests can wait for it at once; events come from the background loop into the one that asked. What another
token's request began is answered as if it were not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from conductor.api.orchestra import Answered, Performance, Saved, Task
from conductor.conversation import NOTHING_SAID
from conductor.errors import ConductorError, StorageError
from conductor.events import Event
from conductor.orchestrate import plan_request
from conductor.planner.planner import check_query
from conductor.workers.protocol import WorkerCard
from storage.call import Call
from storage.heard import Heard
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

    async def saved(self, id: str, *, token: str | None) -> Saved | None:
        """See `Orchestra.saved`."""
        return await self.in_thread(self._saved, id, token=token)

    async def newest_saved(self) -> Sequence[Saved]:
        """See `Orchestra.newest_saved`."""
        return await self.in_thread(self._newest_saved)

    async def answered(self, session: str, *, token: str | None) -> Answered | None:
        """See `Orchestra.answered`."""
        return await self.in_thread(self._answered, session, token=token)

    async def response(self, session: str, *, token: str | None) -> str | None:
        """See `Orchestra.response`."""
        return await self.in_thread(self._response, session, token=token)

    async def delete(self, session: str, *, token: str | None) -> bool:
        """See `Orchestra.delete`."""
        return await self.in_thread(self._delete, session, token=token)

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

    def _there(self, id: str, *, token: str | None) -> Session | None:
        """The session of that id, None where it is not there for whoever asks."""
        store = self._workbench().store
        try:
            session = store.session(id)
        except StorageError:
            return None
        own = token is None or store.is_open_to(id, token=token)
        return session if own and session.deleted_at is None else None

    def _saved(self, id: str, *, token: str | None) -> Saved | None:
        store = self._workbench().store
        session = self._there(id, token=token)
        if session is None:
            return self._revision(id, token=token)
        head = store.head(id)
        if head is None:
            return None
        return Saved(id, title=session.title, workflow=head.workflow, created_at=session.created_at)

    def _revision(self, id: str, *, token: str | None) -> Saved | None:
        try:
            revision = self._workbench().store.revision(id)
        except StorageError:
            return None
        session = self._there(revision.session, token=token)
        if session is None:
            return None
        return Saved(id, title=session.title, workflow=revision.workflow, created_at=revision.created_at)

    def _newest_saved(self) -> Sequence[Saved]:
        store = self._workbench().store
        found: list[Saved] = []
        for page in range(_PAGES):
            sessions = store.sessions(limit=_PAGE, offset=page * _PAGE)
            saved = (self._saved(one.id, token=None) for one in sessions if _is_for_models(one))
            found += (one for one in saved if one is not None)
            if len(found) >= LISTED or len(sessions) < _PAGE:
                break
        return found[:LISTED]

    def _answered(self, id: str, *, token: str | None) -> Answered | None:
        session = self._there(id, token=token)
        if session is None or session.origin != "api":
            return None
        runs = self._workbench().store.runs(id)
        answer = next((run.answer for run in runs if run.status == "finished" and run.answer), None)
        if answer is None:
            return None
        return Answered(session.query, conversation=session.said_before, answer=answer)

    def _response(self, id: str, *, token: str | None) -> str | None:
        return None if self._there(id, token=token) is None else self._workbench().store.response(id)

    def _delete(self, id: str, *, token: str | None) -> bool:
        if self._response(id, token=token) is None:
            return False
        self._workbench().store.delete_session(id)
        return True

    def _begin(self, task: Task, heard: Heard) -> tuple[Session, Future[None]]:
        workbench = self._workbench()
        session = workbench.store.begin_request(
            check_query(task.query),
            pool_label=workbench.pool.label,
            settings=task.settings,
            conversation=None if task.conversation == NOTHING_SAID else task.conversation,
            tags=task.tags,
            token=task.token,
            workflow=task.workflow,
            keep=task.keep,
        )
        heard.stop = lambda: workbench.stop(session.id)
        try:
            if task.workflow is None:
                workbench.conducting.begin_plan(_call(workbench, session, task, heard), then_run=True)
            else:
                workbench.start(session.id, listen=heard.hear)
        except ConductorError:
            # The request is refused, and may come again: nothing is left of it.
            self._remove(session.id)
            raise
        going = workbench.conducting.going(session.id)
        assert going is not None, "just begun"
        return session, going

    def keep_response(self, session: str, body: str) -> None:
        """See `Performance.keep_response`."""
        self._workbench().store.keep_response(session, body)

    def put_away(self, session: str, *, keep: bool) -> None:
        """See `Performance.put_away`."""
        self._workbench().conducting.forget(session)
        if not keep:
            self._remove(session)

    def _remove(self, session: str) -> None:
        store = self._workbench().store
        store.delete_session(session)
        store.remove_session(session)


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

    async def keep_response(self, body: str) -> None:
        """See `Performance.keep_response`."""
        await self._orchestra.in_thread(self._orchestra.keep_response, self.session, body)

    async def put_away(self) -> None:
        """See `Performance.put_away`."""
        await self._orchestra.in_thread(self._orchestra.put_away, self.session, keep=self._keep)
