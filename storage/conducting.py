"""What goes on in a session: a Conductor plans, a workflow runs, further rounds follow; one at a time.

Knows the store and the background loop; every step of the way is kept before the next begins. What a
person wants and may want is the workbench's matter.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from concurrent import futures
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from conductor.background import Background, LivePlan, LiveRun
from conductor.engine.assignment import Assignment
from conductor.engine.extent import EDITED, Extent
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.errors import ConductorError, WorkflowError
from conductor.events import Event, PlanningFailed, PlanningStarted, WorkflowPlanned
from conductor.messages import SeenResponse, Usage
from conductor.modes import Settings
from conductor.orchestrate import metered_plan, new_id, plan_request, plan_round, responses_of
from conductor.output import Output
from conductor.planner.conductor import PlanRequest
from conductor.planner.planner import STOPPED, PlanningEnd
from conductor.run_state import RunState
from conductor.workflow import Workflow
from storage.alternatives import LiveAlternatives
from storage.ensemble import Ensemble, Ensembles
from storage.records import Revision
from storage.store import SessionStore

Listener = Callable[[Event], None]

ENDING_SECONDS = 0.5
"""How long a run that has told its end may take until nothing of it is left."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Call:
    """A round's plan to be asked for; `looks_back` is the id of the run before, from round 2 on.

    All that follows from it goes on with its `ensemble`. `finish` makes of a planned workflow the one that is
    kept and run; what it raises ends what goes on.
    """

    session: str
    ensemble: Ensemble
    request: PlanRequest
    settings: Settings
    looks_back: str | None = None
    listen: Listener | None = None
    finish: Callable[[Workflow], Workflow] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a plan stands among those asked for at once: their common id, and its number from 1."""

    batch: str
    number: int


class Conducting:
    """Begun from any thread; `listen` hears each event in the loop's thread, and must be quick."""

    def __init__(self, store: SessionStore, background: Background, *, ensembles: Ensembles) -> None:
        self._store = store
        self._background = background
        self._ensembles = ensembles
        self._plans: dict[str, LivePlan] = {}
        self._alternatives: dict[str, LiveAlternatives] = {}
        self._busy: dict[str, Future[None]] = {}

    @property
    def ensemble(self) -> Ensemble:
        """Who plans and answers in what begins now. Raises `PoolError` while that cannot be read."""
        return self._ensembles()

    def live_plan(self, session: str) -> LivePlan | None:
        """The planning under way, None when there is none."""
        live = self._plans.get(session)
        return None if live is None or live.done.is_set() else live

    def live_alternatives(self, session: str) -> LiveAlternatives | None:
        """The plans that are asked for at once, None while there are none under way."""
        return self._alternatives.get(session) if self.busy(session) else None

    def busy(self, session: str) -> bool:
        """Whether this process plans or runs here, or will do so next."""
        going = self._busy.get(session)
        return going is not None and not going.done()

    def trouble(self, session: str) -> str | None:
        """Why what last went on here broke off, such as a full store; None where it came to an end."""
        going = self._busy.get(session)
        error = going.exception() if going is not None and going.done() and not going.cancelled() else None
        if error is None or isinstance(error, ConductorError):
            return None if error is None else str(error)
        return "The program broke while it planned or ran; its log says how. What was finished is kept."

    def wait(self, session: str) -> None:
        """Wait until nothing goes on any more. Raises what broke, should something have."""
        going = self._busy.get(session)
        if going is not None:
            going.result()

    def going(self, session: str) -> Future[None] | None:
        """What goes on here, or went on last: done once nothing more follows. None where none is known."""
        return self._busy.get(session)

    def forget(self, session: str) -> None:
        """Let go of what was here, where it is over; `trouble` tells nothing of it then."""
        if not self.busy(session):
            for kept in (self._busy, self._plans, self._alternatives):
                kept.pop(session, None)

    def stop(self, session: str) -> None:
        """Stop planning; a run is stopped by its own id. Nothing happens where nobody plans."""
        if self.live_plan(session) is not None or self.live_alternatives(session) is not None:
            self._busy[session].cancel()

    # -- plans -----------------------------------------------------------------------------------

    def begin_plan(self, call: Call, *, then_run: bool) -> LivePlan:
        """Ask the Conductor, and run what it plans when `then_run`; returns at once."""
        self._claim(call.session)
        live = LivePlan()
        self._plans[call.session] = live
        self._go_on(call.session, self._plan(call, live, then_run=then_run))
        return live

    async def _plan(self, call: Call, live: LivePlan, *, then_run: bool) -> None:
        meter = Meter(call.settings.budget)
        if await self._planned(call, live, meter) and then_run:
            run = await asyncio.to_thread(self._prepared, call, meter)
            await self._rounds(run, call, meter)

    async def _planned(self, call: Call, live: LivePlan, meter: Meter) -> bool:
        """Whether the Conductor wrote a workflow, which then is the session's newest revision."""
        conductor = call.ensemble.conductor
        attempts = plan_round(call.request, conductor=conductor, settings=call.settings, meter=meter)
        return isinstance(await self._heard(call, live, attempts), WorkflowPlanned)

    async def _heard(
        self, call: Call, live: LivePlan, attempts: AsyncGenerator[Event], *, place: Place | None = None
    ) -> PlanningEnd | None:
        """Follow planning to its end, and keep each attempt; a plan with a `place` is an alternative."""
        begun: PlanningStarted | None = None
        end: PlanningEnd | None = None
        try:
            async with aclosing(attempts) as events:
                async for event in events:
                    begun = event if isinstance(event, PlanningStarted) else begun
                    if isinstance(event, PlanningEnd):
                        end = event
                        # Kept before anybody hears of it, so that who looks next finds it.
                        await asyncio.to_thread(self._keep, call, begun, end, place=place)
                    live.hear(event)
                    if call.listen is not None:
                        call.listen(event)
        except asyncio.CancelledError:
            stopped = PlanningFailed(
                run=begun.run if begun else new_id(),
                seq=live.state.seq + 1,
                at=time.time(),
                message=f"{STOPPED}.",
            )
            self._keep(call, begun, stopped, place=place)
            live.hear(stopped)
            raise
        finally:
            live.done.set()
        return end

    def begin_alternatives(self, call: Call, *, count: int) -> LiveAlternatives:
        """Ask the Conductor for `count` plans at once, to choose from; returns at once.

        They share one budget, and each is asked for once. None of them becomes the session's workflow.
        """
        self._claim(call.session)
        live = LiveAlternatives.of(count, batch=new_id())
        self._alternatives[call.session] = live
        self._go_on(call.session, self._asked_at_once(call, live))
        return live

    async def _asked_at_once(self, call: Call, live: LiveAlternatives) -> None:
        meter = Meter(call.settings.budget)
        room = call.settings.budget.calls
        conductor = call.ensemble.conductor
        streams = (
            self._heard(
                call,
                plan,
                # A call that the budget refuses would cross it, and so stop those under way.
                metered_plan(call.request, conductor=conductor, meter=meter)
                if room is None or number <= room
                else _no_room(),
                place=Place(live.batch, number),
            )
            for number, plan in enumerate(live.plans, start=1)
        )
        try:
            ends = await asyncio.gather(*streams, return_exceptions=True)
        finally:
            # Also those that were stopped before they began.
            for plan in live.plans:
                plan.done.set()
        # What one of them met with does not keep the others from being asked to their ends.
        broke = next((end for end in ends if isinstance(end, BaseException)), None)
        if broke is not None:
            raise broke

    def _keep(
        self, call: Call, begun: PlanningStarted | None, end: PlanningEnd, *, place: Place | None
    ) -> None:
        card = call.ensemble.conductor.card
        answered = None if isinstance(end, PlanningFailed) else end
        kept = self._store.add_plan(
            call.session,
            planner=card.name,
            planner_kind=card.kind,
            report=answered.report if answered else None,
            failure=end.message if isinstance(end, PlanningFailed) else None,
            usage=answered.usage if answered else Usage(),
            seconds=answered.seconds if answered else None,
            round=call.request.round,
            attempt=place.number if place else begun.attempt if begun else 1,
            looks_back=call.looks_back,
            alternative=place.batch if place else None,
        )
        if place is None and isinstance(end, WorkflowPlanned) and end.report.workflow is not None:
            note = "Planned" if kept.round == 1 else f"Planned for round {kept.round}"
            workflow = end.report.workflow if call.finish is None else call.finish(end.report.workflow)
            self._store.add_revision(call.session, workflow, origin="conductor", note=note, plan=kept.id)

    # -- runs ------------------------------------------------------------------------------------

    def begin_run(
        self,
        session: str,
        *,
        settings: Settings,
        extent: Extent,
        preloaded: Mapping[int, Output],
        listen: Listener | None,
    ) -> LiveRun:
        """Run the current workflow as far as `extent`, and further rounds as the settings say after a whole
        run; returns at once.
        """
        self._claim(session)
        meter = Meter(settings.budget)
        asked = self._store.session(session)
        request = PlanRequest(query=asked.query, conversation=asked.said_before, workers=())
        call = Call(
            session=session, ensemble=self.ensemble, request=request, settings=settings, listen=listen
        )
        live = self._prepared(call, meter, extent=extent, preloaded=preloaded)
        self._go_on(session, self._rounds(live, call, meter))
        return live

    async def _rounds(self, live: LiveRun, call: Call, meter: Meter) -> None:
        """Follow a run, then look back and go on as long as the settings and the Conductor want."""
        while True:
            await self._background.follow(live)
            state = live.state
            if state.status != "finished" or not state.whole or state.round >= call.settings.rounds:
                return
            pool = call.ensemble.pool
            request = plan_request(
                call.request.query,
                pool=pool,
                settings=call.settings,
                after=state,
                conversation=call.request.conversation,
            )
            call = replace(call, request=request, looks_back=state.run)
            plan = self._plans[call.session] = LivePlan()
            if not await self._planned(call, plan, meter):
                return
            live = await asyncio.to_thread(self._prepared, call, meter)

    def _prepared(
        self,
        call: Call,
        meter: Meter,
        *,
        extent: Extent = EDITED,
        preloaded: Mapping[int, Output] | None = None,
    ) -> LiveRun:
        """A run of the current workflow, started in the store and not yet followed."""
        session = call.session
        head = self._store.head(session)
        if head is None:
            raise WorkflowError("This session has no workflow yet; plan one first.")
        pool = call.ensemble.pool_for(meter)
        before = self.before(head)
        last = self._store.latest_run(session)
        asked = self._store.session(session)
        run = WorkflowRun(
            Assignment.of(
                head.workflow,
                query=asked.query,
                pool=pool,
                previous=responses_of(before),
                conversation=asked.said_before,
            ),
            pool,
            run=new_id(),
            outputs=self._store.outputs(session),
            extent=extent,
            preloaded=preloaded,
            parent=last.id if last else None,
            round=before.round + 1 if before else 1,
            meter=meter,
        )
        self._store.start_run(
            run=run.run,
            session=session,
            revision=head.id,
            parent=run.parent,
            pool_label=pool.label,
            round=run.round,
        )
        return self._background.register(run, call.listen)

    def before(self, revision: Revision) -> RunState | None:
        """The run that a revision of a later round looks back on; None in a first round."""
        return None if revision.looks_back is None else self._store.run_state(revision.looks_back)

    def previous(self, revision: Revision) -> tuple[SeenResponse, ...]:
        """What the steps of the round before answered, as this revision's steps may see it."""
        return responses_of(self.before(revision))

    def _go_on(self, session: str, work: Coroutine[Any, Any, None]) -> None:
        self._busy[session] = self._background.spawn(_logged(work))

    def _claim(self, session: str) -> None:
        """Raise `WorkflowError` where something goes on already."""
        if self.live_plan(session) is not None:
            raise WorkflowError("The Conductor is planning in this session; wait for it, or stop it first.")
        going = self._busy.get(session)
        # What has just told its end may still be putting its things away.
        if going is not None and not futures.wait([going], timeout=ENDING_SECONDS).done:
            raise WorkflowError("This session is running already; stop that run first.")
        self._alternatives.pop(session, None)


async def _no_room() -> AsyncGenerator[Event]:
    message = "The budget's limit of calls leaves no room for this one; raise it, then ask again."
    yield PlanningFailed(run=new_id(), seq=0, at=time.time(), message=message)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    """A fault of this program is told in its log; what a user can mend is told by `trouble`."""
    try:
        await work
    except ConductorError:
        raise
    except Exception:
        _log.exception("what went on in a session broke")
        raise
