"""Plans asked of a Conductor for a session, followed to their ends and kept as they are written.

Knows one planning, or several at once; what goes on in a session besides, and what follows, is
conducting's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from conductor.background import LivePlan
from conductor.engine.meter import Meter
from conductor.events import Event, PlanningFailed, PlanningStarted, WorkflowPlanned
from conductor.messages import Usage
from conductor.orchestrate import metered_plan, new_id, plan_round
from conductor.planner.planner import STOPPED, PlanningEnd
from storage.alternatives import LiveAlternatives
from storage.call import Call
from storage.store import SessionStore


@dataclass(frozen=True, slots=True)
class Place:
    """Where a plan stands among those asked for at once: their common id, and its number from 1."""

    batch: str
    number: int


class Planning:
    """In the loop's thread; what is asked for lives on in the `LivePlan` that is given."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    async def planned(self, call: Call, live: LivePlan, meter: Meter) -> bool:
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
        told = False
        try:
            async with aclosing(attempts) as events:
                async for event in events:
                    if isinstance(event, PlanningStarted):
                        begun, end, told = event, None, False
                    if isinstance(event, PlanningEnd):
                        end = event
                        # Kept before anybody hears of it, so that who looks next finds it.
                        await self._kept(call, begun, end, place=place)
                        told = True
                    _tell(event, call, live)
        except asyncio.CancelledError:
            if end is None:
                stopped = _failed(f"{STOPPED}.", run=begun.run if begun else new_id(), seq=live.state.seq + 1)
                await self._kept(call, begun, stopped, place=place)
                live.hear(stopped)
            elif not told:
                # It came before the stop, and is kept; nothing follows it.
                _tell(end, call, live)
            raise
        finally:
            live.done.set()
        return end

    async def asked_at_once(self, call: Call, live: LiveAlternatives) -> None:
        """Ask for all of them, each once and within one budget; none becomes the session's workflow."""
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

    async def _kept(
        self, call: Call, begun: PlanningStarted | None, end: PlanningEnd, *, place: Place | None
    ) -> None:
        """Keep it to the end, also where planning is stopped meanwhile: the thread goes on in any case."""
        # No task, which would be cancelled as well where the loop winds down.
        keep = partial(self._keep, call, begun, end, place=place)
        keeping = asyncio.get_running_loop().run_in_executor(None, keep)
        try:
            await asyncio.shield(keeping)
        except asyncio.CancelledError:
            await keeping
            raise

    def _keep(
        self, call: Call, begun: PlanningStarted | None, end: PlanningEnd, *, place: Place | None
    ) -> None:
        card, round = call.ensemble.conductor.card, call.request.round
        answered = None if isinstance(end, PlanningFailed) else end
        workflow = None
        try:
            if place is None and isinstance(end, WorkflowPlanned) and end.report.workflow is not None:
                workflow = end.report.workflow if call.finish is None else call.finish(end.report.workflow)
        finally:
            # The plan is kept, too, where it could not be finished.
            self._store.add_plan(
                call.session,
                planner=card.name,
                planner_kind=card.kind,
                report=answered.report if answered else None,
                failure=end.message if isinstance(end, PlanningFailed) else None,
                usage=answered.usage if answered else Usage(),
                seconds=answered.seconds if answered else None,
                round=round,
                attempt=place.number if place else begun.attempt if begun else 1,
                looks_back=call.looks_back,
                alternative=place.batch if place else None,
                workflow=workflow,
                note="Planned" if round == 1 else f"Planned for round {round}",
            )


def _tell(event: Event, call: Call, live: LivePlan) -> None:
    live.hear(event)
    if call.listen is not None:
        call.listen(event)


async def _no_room() -> AsyncGenerator[Event]:
    message = "The budget's limit of calls leaves no room for this one; raise it, then ask again."
    yield _failed(message, run=new_id(), seq=0)


def _failed(message: str, *, run: str, seq: int) -> PlanningFailed:
    return PlanningFailed(run=run, seq=seq, at=time.time(), message=message)
