"""The orchestra over the workbench: what the API is asked becomes a session like any other.

Knows the API's protocols and the workbench. The store is asked in threads of their own, so that many
requests can wait for it at once; events come from the background loop into the one that asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from conductor.api.orchestra import Answered, Performance, Saved, Task
from conductor.engine.assignment import Assignment
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.events import Event
from conductor.orchestrate import new_id, plan_request
from conductor.planner.planner import check_query
from conductor.workers.pool import Pool
from conductor.workflow import Workflow
from storage import shown
from storage.call import Call
from storage.ensemble import Ensemble
from storage.heard import Heard
from storage.requests import NewRequest
from storage.store import SessionStore
from storage.text import plain
from storage.workbench import Workbench

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 16


class WorkbenchOrchestra:
    """See `Orchestra`. `workbench` may open it on the first call; used in one event loop."""

    def __init__(self, workbench: Callable[[], Workbench]) -> None:
        self._workbench = workbench
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="conductor-api")

    @property
    def _store(self) -> SessionStore:
        return self._workbench().store

    async def pool(self) -> Pool:
        """See `Orchestra.pool`."""
        return await self.in_thread(lambda: self._workbench().pool)

    async def saved(self, id: str, *, token: str | None) -> Saved | None:
        """See `Orchestra.saved`."""
        return await self.in_thread(lambda: shown.saved(self._store, id, token=token))

    async def newest_saved(self) -> Sequence[Saved]:
        """See `Orchestra.newest_saved`."""
        return await self.in_thread(lambda: shown.newest_saved(self._store))

    async def answered(self, session: str, *, token: str | None) -> Answered | None:
        """See `Orchestra.answered`."""
        return await self.in_thread(lambda: shown.answered(self._store, session, token=token))

    async def response(self, session: str, *, token: str | None) -> str | None:
        """See `Orchestra.response`."""
        return await self.in_thread(lambda: shown.response(self._store, session, token=token))

    async def delete(self, session: str, *, token: str | None) -> bool:
        """See `Orchestra.delete`."""
        return await self.in_thread(lambda: shown.delete(self._store, session, token=token))

    async def begin(self, task: Task) -> Performance:
        """See `Orchestra.begin`."""
        heard = Heard(asyncio.get_running_loop())
        session, going = await self.in_thread(self._begin, task, heard)
        heard.ends_with(going)
        return SessionPerformance(self, session, heard=heard, going=going, keep=task.keep)

    async def in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: work(*args, **kwargs))

    # -- in a thread -------------------------------------------------------------------------------

    def _begin(self, task: Task, heard: Heard) -> tuple[str, Future[None]]:
        """Whatever can be refused is refused before anything is kept; then all is kept at once."""
        workbench = self._workbench()
        conducting = workbench.conducting
        call, meter = _call(conducting.ensemble, task, heard), Meter(task.settings.budget)
        run = None if task.workflow is None else _run(task.workflow, call, meter)
        workbench.store.begin_request(
            NewRequest(
                session=call.session,
                query=call.request.query,
                pool_label=call.ensemble.pool.label,
                settings=task.settings,
                conversation=None if task.conversation.nothing else task.conversation,
                tags=task.tags,
                token=task.token,
                workflow=task.workflow,
                run=None if run is None else run.run,
                keep=task.keep,
            )
        )
        if run is None:
            conducting.begin_plan(call, then_run=True)
        else:
            conducting.begin_started(call, run, meter)
        going = conducting.going(call.session)
        assert going is not None, "just begun"
        return call.session, going

    def keep_response(self, session: str, body: str) -> None:
        """See `Performance.keep_response`."""
        self._store.keep_response(session, body)

    def stop(self, session: str) -> None:
        """See `Performance.stop`."""
        self._workbench().conducting.stop(session)

    def put_away(self, session: str, *, keep: bool) -> None:
        """See `Performance.put_away`."""
        self._workbench().conducting.forget(session)
        if not keep:
            self._store.delete_session(session)
            self._store.remove_session(session)


def _call(ensemble: Ensemble, task: Task, heard: Heard) -> Call:
    """What is asked of the Conductor, in a session that is still to be made."""
    request = plan_request(
        # As the store will have it.
        plain(check_query(task.query)),
        pool=ensemble.pool,
        settings=task.settings,
        conversation=task.conversation,
    )
    return Call(
        session=new_id(),
        ensemble=ensemble,
        request=request,
        settings=task.settings,
        listen=heard.hear,
        finish=task.finish,
    )


def _run(workflow: Workflow, call: Call, meter: Meter) -> WorkflowRun:
    """The run of a workflow that was given, the first one of its session."""
    pool, asked = call.ensemble.pool_for(meter), call.request
    assignment = Assignment.of(workflow, query=asked.query, pool=pool, conversation=asked.conversation)
    return WorkflowRun(assignment, pool, run=new_id(), meter=meter)


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
        await self._orchestra.in_thread(self._orchestra.stop, self.session)

    async def keep_response(self, body: str) -> None:
        """See `Performance.keep_response`."""
        await self._orchestra.in_thread(self._orchestra.keep_response, self.session, body)

    async def put_away(self) -> None:
        """See `Performance.put_away`."""
        await self._orchestra.in_thread(self._orchestra.put_away, self.session, keep=self._keep)
