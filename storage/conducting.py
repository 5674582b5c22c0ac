"""What goes on in a session: a Conductor plans, a workflow runs, further rounds follow; one at a time.

Knows the store and the background loop; every step of the way is kept before the next begins. What a
person wants and may want is the workbench's matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from conductor.background import Background, LivePlan, LiveRun
from conductor.engine.extent import EDITED, Extent
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.messages import SeenResponse
from conductor.modes import Settings
from conductor.orchestrate import new_id, plan_request, responses_of
from conductor.output import Output
from conductor.planner.conductor import PlanRequest
from conductor.run_state import RunState
from storage.alternatives import LiveAlternatives
from storage.call import Call, Listener
from storage.ensemble import Ensemble, Ensembles
from storage.ongoing import Ongoing
from storage.planning import Planning
from storage.records import Revision
from storage.starting import run_before, started_run
from storage.store import SessionStore


class Conducting(Ongoing):
    """Begun from any thread; `listen` hears each event in the loop's thread, and must be quick."""

    def __init__(self, store: SessionStore, background: Background, *, ensembles: Ensembles) -> None:
        super().__init__(background)
        self._store = store
        self._planning = Planning(store)
        self._ensembles = ensembles

    @property
    def ensemble(self) -> Ensemble:
        """Who plans and answers in what begins now. Raises `PoolError` while that cannot be read."""
        return self._ensembles()

    def begin_plan(self, call: Call, *, then_run: bool) -> LivePlan:
        """Ask the Conductor, and run what it plans when `then_run`; returns at once."""
        with self._claim(call.session):
            live = self._plans[call.session] = LivePlan()
            self._go_on(call.session, self._plan(call, live, then_run=then_run))
        return live

    async def _plan(self, call: Call, live: LivePlan, *, then_run: bool) -> None:
        meter = Meter(call.settings.budget)
        if await self._planning.planned(call, live, meter) and then_run:
            run = await self._background.prepared(partial(self._prepared, call, meter))
            await self._rounds(run, call, meter)

    def begin_alternatives(self, call: Call, *, count: int) -> LiveAlternatives:
        """Ask the Conductor for `count` plans at once, to choose from; returns at once.

        They share one budget, and each is asked for once. None of them becomes the session's workflow.
        """
        with self._claim(call.session):
            live = self._alternatives[call.session] = LiveAlternatives.of(count, batch=new_id())
            self._go_on(call.session, self._planning.asked_at_once(call, live))
        return live

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
        with self._claim(session):
            meter = Meter(settings.budget)
            asked = self._store.session(session)
            request = PlanRequest(query=asked.query, conversation=asked.said_before, workers=())
            call = Call(
                session=session, ensemble=self.ensemble, request=request, settings=settings, listen=listen
            )
            live = self._prepared(call, meter, extent=extent, preloaded=preloaded)
            self._go_on(session, self._rounds(live, call, meter))
        return live

    def begin_started(self, call: Call, run: WorkflowRun, meter: Meter) -> LiveRun:
        """Follow a run that the store has as started, and go on as `begin_run` does; returns at once."""
        with self._claim(call.session):
            live = self._background.register(run, call.listen)
            self._go_on(call.session, self._rounds(live, call, meter))
        return live

    async def _rounds(self, live: LiveRun, call: Call, meter: Meter) -> None:
        """Follow a run, then look back and go on as long as the settings and the Conductor want."""
        while True:
            await self._follow(call.session, live)
            state = live.state
            if state.status != "finished" or not state.whole or state.round >= call.settings.rounds:
                return
            call = _looking_back(call, state)
            plan = self._plans[call.session] = LivePlan()
            if not await self._planning.planned(call, plan, meter):
                return
            live = await self._background.prepared(partial(self._prepared, call, meter))

    def _prepared(
        self,
        call: Call,
        meter: Meter,
        *,
        extent: Extent = EDITED,
        preloaded: Mapping[int, Output] | None = None,
    ) -> LiveRun:
        """A run of the current workflow, started in the store and not yet followed."""
        run = started_run(self._store, call, meter, extent=extent, preloaded=preloaded)
        return self._background.register(run, call.listen)

    def previous(self, revision: Revision) -> tuple[SeenResponse, ...]:
        """What the steps of the round before answered, as this revision's steps may see it."""
        return responses_of(run_before(self._store, revision))


def _looking_back(call: Call, after: RunState) -> Call:
    """The call for the round after a run."""
    request = plan_request(
        call.request.query,
        pool=call.ensemble.pool,
        settings=call.settings,
        after=after,
        conversation=call.request.conversation,
    )
    return replace(call, request=request, looks_back=after.run)
