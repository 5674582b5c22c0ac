"""A server that goes on by itself with runs whose process ended, as long as it serves.

The store names runs of other processes as they end; what is due of these, and of the last hour once a minute,
begins here. Knows the API's responses and the sessions of the app.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise, takewhile

from conductor.errors import ConductorError
from storage.records import RequestSession, RunRecord
from storage.store import SessionStore
from studio.api.answers import responses
from studio.api.answers.response_run import Rerun
from studio.api.endpoints.service import Service
from studio.api.requests.resumed_request import within_limits
from studio.api.stored.visible import StoredResponse
from studio.workbench import Workbench
from studio.workbench.resuming import resumes_by_itself

LOOK_SECONDS = 60.0
"""How often runs are looked for that went on nowhere when their process ended."""

_log = logging.getLogger(__name__)


class ResumingServer:
    """Goes on with runs, in the event loop of the `service`, from `begin` to `stop`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._backend = service.backend
        self._ended: asyncio.Queue[frozenset[str]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Go on with what is due now, and from now on; does nothing where the setting is off."""
        if resumes_by_itself():
            self._task = asyncio.create_task(self._go_on())

    async def stop(self) -> None:
        """Begin nothing more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _go_on(self) -> None:
        loop = asyncio.get_running_loop()

        def ended(runs: frozenset[str]) -> None:
            # A server may stop at any moment; its closed loop takes nothing.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._ended.put_nowait, runs)

        runs: Collection[str] | None = None
        while True:
            try:
                await self._backend.look_up(lambda store: store.processes.watch_ends(ended))
                for run in await self._backend.call(lambda bench, runs: bench.resuming.due(runs), runs):
                    await self._resume(run)
            except ConductorError as error:
                _log.warning("runs of processes that ended were not looked for: %s", error)
            runs = None
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    runs = await self._ended.get()

    async def _resume(self, run: RunRecord) -> None:
        """Go on with a run, unless another process or a person does, or this one cannot."""
        try:
            session = await self._backend.look_up(lambda store: store.sessions.find(run.session))
            if session.origin == "api":
                await self._resume_response(run)
            else:
                await self._backend.call(_begin, run)
        except ConductorError as error:
            _log.info("the run %s did not go on by itself: %s", run.id, error)
        except Exception:  # noqa: BLE001 - one run that cannot go on keeps no other from it
            _log.exception("the run %s did not go on by itself", run.id)

    async def _resume_response(self, run: RunRecord) -> None:
        """Go on with the run of a response that is stored and has no end; its client may be gone."""
        response = await self._backend.look_up(_response, run.session)
        if response is None:
            return
        if await self._backend.look_up(_ran_again, response):
            await self._backend.call(_begin, run)
            return
        work = await self._backend.call(lambda bench: bench.resuming.work(run))
        principal = await self._service.auth.sender(run.token, person=run.person)
        if work is None or principal is None:
            return
        pool = await self._backend.pool()
        limited = within_limits(
            work.request, work.revision.workflow, principal, pool, of="this response", param="response_id"
        )
        work = work._replace(request=replace(limited, sent_on=True))
        if not await self._backend.call(lambda bench: bench.resuming.can_run(run, work)):
            return
        request, since = responses.request_of(response.shape), response.shape["created_at"]
        going = await self._service.runs.start(
            work.request,
            RequestSession(token=principal.token),
            principal,
            pool=pool,
            app=self._service.app_url,
            opening=responses.opening_shape(request, started_at=since),
            background=True,
            resumes=Rerun(work.revision, work.scope, work.preloaded),
            answer=response.answer,
            goes_on_since=since,
            repeats=True,
        )
        going.on_unread = partial(responses.outcome, request, going)
        going.leave()


def _begin(bench: Workbench, run: RunRecord) -> None:
    work = bench.resuming.work(run)
    if work is not None and bench.resuming.can_run(run, work):
        bench.runner.begin_run(run.session, **work._asdict())


def _ran_again(store: SessionStore, response: StoredResponse) -> bool:
    """Whether a person ran the session again since the response began, whose own runs are one a round."""
    before = None if response.origin is None else response.origin.run_before
    since = takewhile(lambda run: run.id != before, store.runs.of_session(response.session))
    return any(newer.round <= older.round for newer, older in pairwise(since))


def _response(store: SessionStore, session: str) -> StoredResponse | None:
    """The session's newest response, if that has not ended."""
    body = store.requests.response(session)
    response = None if body is None else StoredResponse.read(session, body)
    return None if response is None or response.ended else response
