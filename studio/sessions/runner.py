"""Planning and running in sessions: begun from any thread, done in the background, one thing at a time.

Knows the store and the sessions' activities; `conductor.orchestration` makes the rounds, the recorder
writes, and the workbench offers what a person may do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from conductor.engine.known_outputs import OutputArchive
from conductor.engine.meter import Meter
from conductor.orchestration.recorder import RunHistory
from conductor.orchestration.rounds import new_id, plan_request, responses_of
from conductor.orchestration.runtime import Runtime, Runtimes
from conductor.planner.conductor import PlanRequest
from conductor.runs.events import Event
from conductor.runs.request import Asker, ChangeRequest, RequestState, RunRequest
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState
from conductor.values.budget import Used
from conductor.values.messages import SeenResponse
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.workers.endpoint.transport.timing import CALLERS
from conductor.workflow.plan_report import PlanReport
from storage.records import RequestSession, Revision
from storage.store import SessionStore
from studio.sessions.activity import Activities, Activity, LiveAlternatives
from studio.sessions.background_runs import Background, LiveRun, LiveState
from studio.sessions.job import Job
from studio.sessions.person_limits import PersonLimits, admitted
from studio.sessions.recorder import BatchPlace, SessionRecorder
from studio.telemetry.observer import Observer, Watches

Listener = Callable[[Event], None]
"""Called with each event in the background loop's thread; must be quick."""


@dataclass
class SessionRunner:
    """Begins planning and runs. What has begun continues with the runtime that it began with."""

    store: SessionStore
    background: Background
    activities: Activities
    runtimes: Runtimes
    observers: Sequence[Observer] = ()

    @property
    def runtime(self) -> Runtime:
        """Who plans and answers in what begins now. Raises `PoolError` while that cannot be read."""
        return self.runtimes()

    def begin_plan(
        self,
        session: str,
        request: RunRequest,
        *,
        then_run: bool,
        after: RunState | None = None,
        rejected: tuple[PlanReport, ...] = (),
        listen: Listener | None = None,
    ) -> LiveState:
        """Ask the Conductor for the round after the run `after`, and run what it plans when `then_run`.

        `rejected` are earlier answers in that round, which go back with their reasons; then nothing is run.
        Returns at once. Raises `PoolError` as `plan_request`, `WorkflowError` where the session is active,
        `LimitReached` where limits of who asks allow nothing more.
        """
        plan = LiveState()
        job = self._job(session, request, Activity(plan=plan), after=after)
        planning = plan_request(request, pool=job.runtime.pool, after=after)
        planning = planning.model_copy(update={"rejected": rejected})
        with self.activities.claim(session):
            limits = admitted(self.store, request.by)
            self._begin(job, job.rounds(after=after) if then_run else job.plan(planning), listen, limits)
        return plan

    def begin_answer(
        self, session: str, request: RunRequest, *, other_outputs: OutputArchive, meter: Meter
    ) -> None:
        """Plan and run the request, or run the workflow that an earlier process planned for it, with no
        person to ask and on recorded results of tools; returns at once.

        `other_outputs` are those of other sessions, which steps with just the same requests take over;
        `meter` counts for many sessions, within the limits of who asks. Raises as `WorkflowRun`.
        """
        request = replace(request, attended=False, recorded=True)
        with self.activities.claim(session):
            head = self.store.revisions.head(session)
            activity = Activity(plan=LiveState() if head is None else None)
            job = self._job(session, request, activity, meter=meter, other_outputs=other_outputs)
            run = None
            if head is not None:
                history = job.recorder.read_history()
                run = job.run(head.workflow, history=history, after=self._run_before(head))
                job.recorder.write_start(run, revision=head.id)
            self._begin(job, job.rounds(started=run))

    def begin_alternatives(
        self, session: str, request: RunRequest, *, count: int, after: RunState | None = None
    ) -> LiveAlternatives:
        """Ask the Conductor for `count` plans at once, to choose from; returns at once.

        They share one budget, and each is asked for once. None of them becomes the session's workflow.
        """
        planning = plan_request(request, pool=self.runtime.pool, after=after)
        planning = planning.model_copy(update={"varied": True})
        with self.activities.claim(session):
            limits = admitted(self.store, request.by)
            live = LiveAlternatives(new_id(), tuple(LiveState() for _ in range(count)))
            self._begin_apart(session, request, planning, live, limits, after=after)
        return live

    def begin_change(
        self,
        session: str,
        request: RunRequest,
        change: ChangeRequest,
        *,
        revision: str,
        after: RunState | None = None,
    ) -> LiveAlternatives:
        """Ask the Conductor once for a changed plan, beside the session's own; returns at once.

        What is asked for is stored before the Conductor is called, by the id of the `batch`.
        """
        planning = plan_request(request, pool=self.runtime.pool, after=after)
        planning = planning.model_copy(update={"change": change})
        with self.activities.claim(session):
            limits = admitted(self.store, request.by)
            live = LiveAlternatives(new_id(), (LiveState(),), is_change=True)
            self.store.changes.add(
                session, live.batch, revision=revision, wish=change.wish, author=request.by.person
            )
            self._begin_apart(session, request, planning, live, limits, after=after)
        return live

    def _begin_apart(
        self,
        session: str,
        request: RunRequest,
        planning: PlanRequest,
        live: LiveAlternatives,
        limits: PersonLimits | None,
        *,
        after: RunState | None,
    ) -> None:
        """Ask for all of these plans at once, in a session that is claimed."""
        meter, turn = Meter(request.settings.budget), asyncio.Lock()
        activity = Activity(alternatives=live)
        plans: list[tuple[AsyncGenerator[Event, None], Activity]] = []
        for number, plan in enumerate(live.plans, start=1):
            place = BatchPlace(live.batch, number, turn)
            job = self._job(session, request, activity, meter=meter, after=after, place=place)
            plans.append((job.alternative(planning), Activity(plan=plan)))
        watches = [self._watches(session) for _ in plans]
        work = self.within(limits, meter, _pass_on_all(plans, watches))
        self.activities.begin(session, activity, _in_turn(request.by, session, work))

    def begin_run(
        self,
        session: str,
        request: RunRequest,
        *,
        revision: Revision,
        scope: RunScope,
        preloaded: Mapping[int, Output],
        listen: Listener | None = None,
        limits: PersonLimits | None = None,
    ) -> LiveRun:
        """Run `revision` as far as `scope`, and after a whole run the further rounds of the settings; returns
        at once. `limits` have admitted it already. Raises as `begin_plan` and `WorkflowRun`.
        """
        with self.activities.claim(session):
            return self._run(
                session,
                request,
                revision=revision,
                scope=scope,
                preloaded=preloaded,
                listen=listen,
                limits=limits,
            )

    def continue_session(
        self, request: RunRequest, *, revision: str, stored_as: RequestSession, listen: Listener
    ) -> str:
        """Run the request's workflow in the session of a revision, with the results of the tools that its run
        called; the session's id.

        The final step alone sees them; the others keep their outputs. Raises as `begin_run`.
        """
        session = self.store.revisions.find(revision).session
        with self.activities.claim(session):
            limits = admitted(self.store, request.by)
            continued = self.store.requests.continue_session(request, revision=revision, stored_as=stored_as)
            self._run(
                session,
                request,
                revision=continued,
                scope=EDITED,
                preloaded={},
                listen=listen,
                limits=limits,
            )
        return session

    def _run(
        self,
        session: str,
        request: RunRequest,
        *,
        revision: Revision,
        scope: RunScope,
        preloaded: Mapping[int, Output],
        listen: Listener | None,
        limits: PersonLimits | None,
    ) -> LiveRun:
        meter = planned_meter(self.store, session, request.settings, resumes=scope.resumption > 0)
        job = self._job(session, request, Activity(), meter=meter)
        run = job.run(
            revision.workflow,
            history=job.recorder.read_history(),
            after=self._run_before(revision),
            scope=scope,
            preloaded=preloaded,
        )
        # What goes on by itself was admitted when it began.
        limits = limits or admitted(self.store, request.by, paced=not scope.resumption)
        live = job.recorder.write_start(run, revision=revision.id)
        self._begin(job, job.rounds(started=run), listen, limits)
        return live

    def begin_session(
        self, request: RunRequest, stored_as: RequestSession, *, listen: Listener, then_run: bool = True
    ) -> tuple[str, Future[None]]:
        """Create a session of an API request and plan and run it there; the session's id, and when it is
        durable. Unless `then_run`, a request without a workflow is only planned.

        Returns at once; a run whose session cannot be stored is stopped. What can be refused is refused
        before anything is stored: raises `PoolError` as `plan_request` and `WorkflowError` for a workflow
        that this pool cannot run, `LimitReached` as `begin_plan`.
        """
        session = new_id()
        job = self._job(session, request, Activity(plan=None if request.workflow else LiveState()))
        planning, run = None, None
        if request.workflow is None:
            planning = plan_request(request, pool=job.pool)
        else:
            run = job.run(request.workflow, history=RunHistory())
        limits = admitted(self.store, request.by)
        write = self.store.requests.begin(
            request,
            session=session,
            stored_as=stored_as,
            pool_label=job.pool.label,
            run=None if run is None else run.run,
        )
        if run is None:
            # Planning belongs to a session that there is.
            write.result()
        with self.activities.claim(session):
            if run is not None:
                self.background.register(run, start_write=write)
            events = job.rounds(started=run) if planning is None or then_run else job.plan(planning)
            self._begin(job, events, listen, limits)
        return session, write

    def previous(self, revision: Revision) -> tuple[SeenResponse, ...]:
        """What the steps of the round before answered, as this revision's steps may see it."""
        return responses_of(self._run_before(revision))

    def _run_before(self, revision: Revision) -> RunState | None:
        """The run that a revision of a later round looks back on; None in a first round."""
        return None if revision.looks_back is None else self.store.runs.state(revision.looks_back)

    def _job(
        self,
        session: str,
        request: RunRequest,
        activity: Activity,
        *,
        meter: Meter | None = None,
        after: RunState | None = None,
        place: BatchPlace | None = None,
        other_outputs: OutputArchive | None = None,
    ) -> Job:
        """A job of this session, with the runtime of now."""
        looks_back = None if after is None else after.run
        recorder = SessionRecorder(
            self.store,
            self.background,
            session,
            activity,
            looks_back,
            place,
            request.by,
            other_outputs or OutputArchive(),
        )
        return Job(request, self.runtime, meter or Meter(request.settings.budget), activity, recorder)

    def _begin(
        self,
        job: Job,
        events: AsyncGenerator[Event, None],
        listen: Listener | None = None,
        limits: PersonLimits | None = None,
    ) -> None:
        """Begin a job in its session, which is claimed."""
        watches = self._watches(job.session)
        work = self.within(limits, job.meter, _pass_on(events, job.activity, watches, listen))
        self.activities.begin(job.session, job.activity, _in_turn(job.request.by, job.session, work))

    async def within(
        self, limits: PersonLimits | None, meter: Meter, work: Coroutine[Any, Any, None]
    ) -> None:
        """Do the work, which `meter` counts, within limits of a person."""
        if limits is None:
            await work
            return
        limits.limit(meter)
        try:
            await work
        finally:
            limits.settle(self.store, meter.charged_tokens)

    def _watches(self, session: str) -> Watches:
        return Watches(self.observers, session)


async def _in_turn(by: Asker, session: str, work: Coroutine[Any, Any, None]) -> None:
    """Do the work, whose requests wait in the turns of that asker and session."""
    CALLERS.set(by.turns(session))
    await work


async def _pass_on(
    events: AsyncGenerator[Event, None], activity: Activity, watches: Watches, listen: Listener | None = None
) -> None:
    """Read events to their end, and pass them to other threads, to watchers and to the listener."""
    try:
        async with aclosing(events):
            async for event in events:
                activity.show(event)
                watches.see(event)
                if listen is not None:
                    listen(event)
    finally:
        activity.end()
        watches.end()


async def _pass_on_all(
    plans: Sequence[tuple[AsyncGenerator[Event, None], Activity]], watches: Sequence[Watches]
) -> None:
    """Read the events of plans that are requested at once, all to their ends."""
    try:
        readers = [_pass_on(*plan, watch) for plan, watch in zip(plans, watches, strict=True)]
        ends = await asyncio.gather(*readers, return_exceptions=True)
    finally:
        # Also those that were stopped before they began.
        for _, activity in plans:
            activity.end()
    # An error of one of them does not keep the others from their ends.
    broke = next((end for end in ends if isinstance(end, BaseException)), None)
    if broke is not None:
        raise broke


def planned_meter(store: SessionStore, session: str, settings: Settings, *, resumes: bool = False) -> Meter:
    """A meter for the session's next run that has counted the planning since the run before, and that run
    where the next one `resumes` it by itself.
    """
    meter = Meter(settings.budget)
    if settings.budget.open:
        return meter
    last = store.runs.latest(session)
    plans = [
        plan for plan in store.plans.of_session(session) if last is None or plan.created_at >= last.started_at
    ]
    used, estimated = store.plans.charged(tuple(plan.id for plan in plans))
    computed = sum(plan.planner_kind == "offline" for plan in plans)
    seconds = sum(plan.seconds or 0.0 for plan in plans)
    earlier = used.model_copy(update={"seconds": seconds, "calls": used.calls + computed})
    meter.count_earlier(earlier, estimated=estimated)
    if resumes and last is not None:
        state = store.runs.state(last.id)
        for before in (state.used_before, RequestState((state,)).charged):
            meter.count_earlier(before, estimated=True)
        meter.count_earlier(Used(seconds=state.seconds or 0.0))
    return meter
