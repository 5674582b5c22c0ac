"""The run behind a response, and all such runs of a server: begins, reads, stores, counts and stops them.

A request becomes a session of the workbench like any other. Knows the backend and whose usage it is; knows no
sockets and not how an answer is written.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from secrets import token_hex
from typing import Any, Concatenate, NamedTuple, ParamSpec
from weakref import WeakSet

from conductor.errors import ConductorError, SessionBusy, WorkflowError
from conductor.planner.planner import check_query
from conductor.runs.events import Event
from conductor.runs.request import RunRequest
from conductor.runs.scope import EDITED, RunScope
from conductor.values.conversation import MAX_CONVERSATION, MAX_QUERY, Turn
from conductor.values.output import Output
from conductor.values.total import NOTHING, Total
from conductor.workers.pool.pool import Pool
from storage.records import RequestSession, Revision
from storage.store import SessionStore
from studio.access.auth import Principal, TokenAuthenticator
from studio.access.errors import ApiError
from studio.api.answers.answer import Answer
from studio.api.backend import Backend
from studio.api.error_answers import NO_RETRY, server_stopping, stopped_with_server
from studio.api.stored.visible import RESPONSE, ResponseOrigin, answer_id, set_aside
from studio.api.stored.worker_conversations import WorkerConversation, next_turn
from studio.api.webhook import Webhooks
from studio.sessions.activity import Activity
from studio.workbench import Workbench

_log = logging.getLogger(__name__)

_ANSWER_BYTES = 4

SETTLE_SECONDS = 2.0
"""How long the work behind the last answers of a server may take."""


class Rerun(NamedTuple):
    """A workflow that runs once more in its session: see `SessionRunner.begin_run`."""

    revision: Revision
    scope: RunScope = EDITED
    preloaded: Mapping[int, Output] = {}


P = ParamSpec("P")
_Start = Callable[Concatenate["ResponseRuns", P], Coroutine[Any, Any, "ResponseRun"]]


def _left_if_cancelled(start: _Start[P]) -> _Start[P]:
    """A start that goes on where its request is cancelled meanwhile; its run is left as soon as it began."""

    def leave(starting: asyncio.Task[ResponseRun]) -> None:
        if not starting.cancelled() and starting.exception() is None:
            starting.result().leave()

    @wraps(start)
    async def starts(self: ResponseRuns, /, *args: P.args, **kwargs: P.kwargs) -> ResponseRun:
        starting = asyncio.create_task(start(self, *args, **kwargs))
        self.starts.add(starting)
        starting.add_done_callback(self.starts.discard)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(leave)
            raise

    return starts


class ResponseRuns:
    """All runs of one server; `webhooks` get those that end in the background. Used in its event loop."""

    def __init__(self, backend: Backend, auth: TokenAuthenticator, webhooks: Webhooks | None = None) -> None:
        self.backend = backend
        self.auth = auth
        self.webhooks = webhooks
        self._running: WeakSet[ResponseRun] = WeakSet()
        self._stopping = False
        self.starts: set[asyncio.Task[ResponseRun]] = set()
        # Work that outlives the request that caused it.
        self._follow_ups: set[asyncio.Task[None]] = set()

    @_left_if_cancelled
    async def start(
        self,
        request: RunRequest,
        stored_as: RequestSession,
        principal: Principal,
        *,
        pool: Pool,
        app: str | None = None,
        stops: tuple[str, ...] = (),
        opening: dict[str, Any] | None = None,
        events: bool = False,
        background: bool = False,
        resumes: Rerun | None = None,
        answer: str = "",
        goes_on_since: float | None = None,
        repeats: bool = False,
        then_run: bool = True,
    ) -> ResponseRun:
        """Create the request's session and start; the answer ends before the first of the `stops`.

        `pool`, `app` and `background` are what `ResponseRun` has of them. `opening` is the response as far as
        it is known, to be stored from the start on; with `events` the client is sent the run's own, too.
        Where it `resumes` a workflow, that runs once more in its session, and `answer` is the mark of the
        response among those of the session, which began at `goes_on_since` (Unix seconds); one that `repeats`
        is no request of its own. Unless `then_run`, a request without a workflow is only planned.
        What can be refused is refused before anything is stored: raises `ConductorError`. Raises `ApiError`
        once the server stops; then nothing was started or charged.
        """
        if self._stopping:
            raise server_stopping()
        request = replace(request, by=principal.asker)
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Event | None] = asyncio.Queue()

        def put(event: Event | None) -> None:
            # A server may stop at any moment; its closed loop takes no event.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(queue.put_nowait, event)

        # A workflow that was given runs once.
        rounds = request.settings.rounds if request.workflow is None else 1
        verbatim = request.conversation.verbatim
        origin = ResponseOrigin(
            rounds=rounds,
            live=request.sent_on,
            verbatim=verbatim,
            events=events,
            answer=answer,
            following=len(request.conversation.following),
        )
        begin = partial(_begin, then_run=then_run)
        if resumes is not None:
            begin = partial(_resume, resumes, since=goes_on_since)
        started = await self.backend.call(
            begin, request, stored_as, listen=put, opening=opening, origin=origin
        )
        run = ResponseRun(
            self,
            started.session,
            Answer(
                rounds=rounds,
                stops=stops,
                live=request.sent_on,
                verbatim=verbatim,
                used_before=started.used_before,
            ),
            principal,
            pool,
            queue,
            started.activity,
            request=request,
            lifetime=stored_as.lifetime,
            app=app,
            continued=started.continued,
            origin=started.origin,
            conversation=None if resumes is not None else WorkerConversation.of(request, stored_as),
            background=background,
            repeats=repeats,
        )
        run.ended.add_done_callback(lambda _: put(None))
        if opening is not None:
            run.started_at = opening["created_at"]
        self._running.add(run)
        try:
            # The run has begun meanwhile; nothing is sent of it before it is durable.
            if started.written is not None:
                await asyncio.wrap_future(started.written)
            if self._stopping:
                await run.interrupt(stopped_with_server())
        except BaseException:
            run.leave()
            raise
        return run

    async def stop(self) -> None:
        """End all runs: each sends its client an error, which is not to be retried."""
        self._stopping = True
        await asyncio.gather(*(run.interrupt(stopped_with_server()) for run in list(self._running)))

    async def finished(self) -> None:
        """Wait until every run that began so far has ended, also in the background."""
        ends = [asyncio.wrap_future(run.ended) for run in self._running]
        if ends:
            await asyncio.wait(ends)

    def follow_up(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        """Start work that no request waits for; an error goes to the log only."""
        task = asyncio.create_task(_logged(work))
        self._follow_ups.add(task)
        task.add_done_callback(self._follow_ups.discard)
        return task

    @property
    def busy(self) -> bool:
        """Whether work is left behind the answers."""
        return bool(self._follow_ups)

    def _left(self) -> set[asyncio.Future[Any]]:
        unfinished = (run.wound_up for run in self._running if not run.wound_up.done())
        return {*self.starts, *self._follow_ups, *unfinished}

    async def settle(self) -> None:
        """Wait until nothing begins, every run is wound up and no work is left behind the answers, for
        `SETTLE_SECONDS` at most; end the webhooks.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                while left := self._left():
                    await asyncio.wait(left)
        if self.webhooks is not None:
            await self.webhooks.stop()


class _Started(NamedTuple):
    """A session whose activity has begun; `written`: the write of it, or None once it is durable.
    `used_before` is what the request took that this one goes on with; `continued` as in `ResponseRun`.
    """

    session: str
    activity: Activity
    origin: ResponseOrigin
    written: Future[None] | None = None
    continued: bool = False
    used_before: Total = NOTHING


def _begin(
    bench: Workbench,
    request: RunRequest,
    stored_as: RequestSession,
    *,
    listen: Callable[[Event], None],
    opening: dict[str, Any] | None,
    origin: ResponseOrigin,
    then_run: bool,
) -> _Started:
    # Messages that a worker gets as they came share one limit, whichever of them is the question.
    most = MAX_CONVERSATION if request.conversation.verbatim else MAX_QUERY
    request = replace(request, query=check_query(request.query, most=most))
    if opening is not None and stored_as.keep:
        origin = origin.model_copy(update={"owner": bench.store.processes.owner})
        stored_as = stored_as.model_copy(update={"response": origin.beside(opening)})
    going = partial(_continue, bench, stored_as=stored_as, listen=listen, origin=origin)
    if stored_as.continues is None:
        continued = _next_turn(bench, request, stored_as, going)
    else:
        with _not_busy("The session of these calls"):
            continued = going(request, revision=stored_as.continues)
    if continued is None:
        session, written = bench.runner.begin_session(request, stored_as, listen=listen, then_run=then_run)
        return _Started(session, _going(bench, session), origin, written)
    session, origin = continued
    if opening is not None and stored_as.keep:
        bench.store.requests.keep_response(session, origin.beside(opening))
    return _Started(session, _going(bench, session), origin, continued=True)


def _next_turn(
    bench: Workbench,
    request: RunRequest,
    stored_as: RequestSession,
    going: Callable[..., tuple[str, ResponseOrigin]],
) -> tuple[str, ResponseOrigin] | None:
    """Go on in the session of the conversation with a worker alone that the request is the next turn of; None
    without one, and where that is busy.
    """
    conversation = WorkerConversation.of(request, stored_as)
    if conversation is None:
        return None
    turn = next_turn(bench.store, conversation, request, stored=stored_as.keep)
    if turn is None:
        return None
    with suppress(WorkflowError, SessionBusy):
        return going(turn[0], revision=turn[1].id)
    return None


def _continue(
    bench: Workbench,
    request: RunRequest,
    *,
    revision: str,
    stored_as: RequestSession,
    listen: Callable[[Event], None],
    origin: ResponseOrigin,
) -> tuple[str, ResponseOrigin]:
    """Go on in the session of a revision, whose newest response is an earlier one from now on."""
    session = bench.store.revisions.find(revision).session
    latest = bench.store.runs.latest(session)
    followed = bench.store.sessions.find(session).earlier_conversation.following
    bench.runner.continue_session(request, revision=revision, stored_as=stored_as, listen=listen)
    set_aside(bench.store, session, followed=followed)
    update = {
        "run_before": None if latest is None else latest.id,
        "following": len(request.conversation.following),
        "answer": token_hex(_ANSWER_BYTES),
    }
    return session, origin.model_copy(update=update)


def _resume(
    resumes: Rerun,
    bench: Workbench,
    request: RunRequest,
    stored_as: RequestSession,  # noqa: ARG001 - as `_begin`
    *,
    listen: Callable[[Event], None],
    opening: dict[str, Any] | None,
    origin: ResponseOrigin,
    since: float | None,
) -> _Started:
    session = resumes.revision.session
    used_before = NOTHING
    if since is not None:
        used_before = bench.store.sessions.total_by(session, request.by, since=since)
    with _not_busy("The session of this response"):
        latest = bench.store.runs.latest(session)
        bench.runner.begin_run(session, request, listen=listen, **resumes._asdict())
    if opening is not None:
        before = None if latest is None else latest.id
        origin = origin.model_copy(update={"owner": bench.store.processes.owner, "run_before": before})
        bench.store.requests.keep_response(session, origin.beside(opening))
    return _Started(session, _going(bench, session), origin, used_before=used_before)


def _going(bench: Workbench, session: str) -> Activity:
    activity = bench.activities.activity(session)
    assert activity is not None, "just started"
    return activity


@contextmanager
def _not_busy(what: str) -> Iterator[None]:
    """Raises `ApiError` where a session is busy in the block."""
    try:
        yield
    except (WorkflowError, SessionBusy) as error:
        message = f"{what} is busy: {error}"
        raise ApiError(message, status=409, code="session_busy", headers=NO_RETRY) from error


async def _logged(work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except Exception:  # noqa: BLE001 - no request waits for it any more
        _log.exception("work after a request failed")


@dataclass(eq=False)
class ResponseRun:
    """A request that runs in its session; `answer` is what came so far, from the `pool` as it was at the
    start. `lifetime` is that of its session, None if that is stored. `app` is the address of the app, None if
    it has none. `continued`: the session is that of an earlier request, whose calls of tools this one has the
    results of, or whose `conversation` with a worker alone goes on.
    """

    runs: ResponseRuns
    session: str
    answer: Answer
    principal: Principal
    pool: Pool
    _queue: asyncio.Queue[Event | None]
    _activity: Activity
    request: RunRequest
    lifetime: float | None
    app: str | None
    continued: bool = False
    conversation: WorkerConversation | None = None
    started_at: float = field(default_factory=time.time)
    _started: float = field(default_factory=time.monotonic)
    origin: ResponseOrigin = ResponseOrigin()
    """What is stored beside its response."""
    background: bool = False
    """Whether it goes on without a client."""
    repeats: bool = False
    """Whether it is a further answer to a request that has one."""
    on_unread: Callable[[], Coroutine[Any, Any, object]] | None = None
    """Called at its end where no reader was there to the end; stores what came of it."""
    _over: bool = False
    _left: bool = False
    _answered: bool = False
    _interruption: ConductorError | None = None
    wound_up: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Done once it was left, has ended, and what it leaves is stored."""

    @property
    def stored(self) -> bool:
        return self.lifetime is None

    @property
    def calls_tools(self) -> bool:
        """Once it is over: whether its answer calls tools, whose results another request may bring."""
        output = self.answer.state.output
        return output is not None and bool(output.tool_calls)

    @property
    def answer_id(self) -> str:
        return answer_id(self.session, self.origin.answer)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def url(self) -> str | None:
        """Where the session is in the app; only one that is stored has a link."""
        return f"{self.app}/?session={self.session}" if self.app is not None and self.stored else None

    @property
    def ended(self) -> Future[None]:
        """Done once all of its work has ended."""
        assert self._activity.work is not None, "it has begun"
        return self._activity.work

    @property
    def failure(self) -> Exception | None:
        """Once it is over: what ended it early, None if its events contain the reason or it was stopped."""
        if self._interruption is not None or self.stopped or not self.ended.done():
            return self._interruption
        error = self.ended.exception()
        return error if isinstance(error, Exception) and not isinstance(error, CancelledError) else None

    @property
    def stopped(self) -> bool:
        """Once it is over: whether a stop broke it off. Of one that a run heeded, that run's end has it."""
        if not self.ended.done() or self._interruption is not None:
            return False
        return self.ended.cancelled() or (self._activity.stopped and self.ended.exception() is not None)

    async def progress(self) -> AsyncGenerator[tuple[Event, str], None]:
        """Each event with the text that it adds to the answer. The usage is recorded before the end.

        Each event comes once, so what an interrupted reader leaves can be read by another one.
        """
        while (event := await self._queue.get()) is not None:
            yield event, self.answer.add(event)
        self._over = True
        await asyncio.shield(self.runs.follow_up(self._record()))

    def more(self) -> bool:
        """Whether a reader of the `progress` need not wait for what comes next."""
        # Behind the last event is the mark of the end, which waits for the store.
        return self._over or self._queue.qsize() > self.ended.done()

    @property
    def over(self) -> bool:
        """Whether its last event was read."""
        return self._over

    async def whole(self) -> None:
        async for _ in self.progress():
            pass

    async def store(self, response: dict[str, Any]) -> dict[str, Any]:
        """Store the response that is about to be sent, where the session is stored at all; returns it.

        A response that cannot be stored is sent all the same; the log has the reason.
        """
        self._answered = True
        if self.stored:
            body = self.origin.beside(response)
            try:
                await self.runs.backend.look_up(
                    lambda store: store.requests.keep_response(self.session, body)
                )
            except ConductorError:
                _log.exception("the response of the session %s was not stored", self.session)
        if self.background and self.runs.webhooks is not None:
            # Behind that, so that a receiver that asks for it finds it.
            self.runs.webhooks.send(response)
        return response

    async def interrupt(self, reason: ConductorError) -> None:
        """Stop it while the client still reads; where it then has no answer, `failure` is the reason, unless
        it was stopped before.
        """
        if not self._over and (self.background or not self._left):
            if not self._activity.stopped:
                self._interruption = reason
            await self._stop()

    def leave(self) -> None:
        """Stop what still runs, unless it is in the background: the client no longer reads. Must be called at
        least once.
        """
        self.runs.follow_up(self.wind_up())

    async def wind_up(self) -> None:
        """As `leave`; returns once it has ended and what it leaves is stored."""
        if not self._left:
            self._left = True
            try:
                await self._wind_up()
            finally:
                self.wound_up.set_result(None)

    async def _stop(self) -> None:
        """Stop it with all calls that it makes; it is over within a second."""
        await self.runs.backend.call(lambda bench: bench.activities.stop(self.session))

    async def _wind_up(self) -> None:
        if not self._over:
            if not self.background:
                await self._stop()
            while (event := await self._queue.get()) is not None:
                self.answer.add(event)
            self._over = True
            # In a separate task, so that an error there does not keep the run open.
            await self.runs.follow_up(self._record())
        if self.on_unread is not None and not self._answered:
            await self.runs.follow_up(self.on_unread())
        await self.runs.backend.call(self._forget)

    def _forget(self, bench: Workbench) -> None:
        bench.activities.forget(self.session)
        if self.lifetime is None:
            return
        # The results of earlier calls may be sent again where they got no answer.
        unanswered = self.continued and self.answer.state.answer is None
        if unanswered or self.calls_tools:
            bench.store.requests.extend(self.session, seconds=self.lifetime)
        else:
            bench.store.housekeeping.remove_session(self.session)

    def _note_turn(self, store: SessionStore) -> None:
        """Store by what the next turn of this conversation is known."""
        output = self.answer.state.output
        if self.conversation is None or output is None or not (self.stored or self.calls_tools):
            return
        response = f"{RESPONSE}{self.answer_id}" if self.stored else None
        answer = Turn(role="assistant", text=output.text, tool_calls=output.tool_calls)
        digests = self.conversation.answered(answer, stops=self.answer.stops, response=response)
        store.requests.set_newest_turn(self.session, digests=digests)

    async def _record(self) -> None:
        if self.conversation is not None:
            try:
                await self.runs.backend.look_up(self._note_turn)
            except ConductorError:
                _log.exception("the conversation of the session %s was not stored", self.session)
        await self.runs.auth.record_usage(
            self.principal, self.answer.state.charged.tokens, repeats=self.repeats
        )
