"""The durable recorder: what orchestration does in one session, written to the store.

Knows the store, and what of it other threads read meanwhile; knows neither what is asked nor what follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from conductor.engine.known_outputs import KnownOutputs, OutputArchive
from conductor.engine.run import WorkflowRun
from conductor.orchestration.recorder import RunHistory
from conductor.orchestration.rounds import new_id
from conductor.planner.conductor import PlanRequest
from conductor.planner.planner import PlanningEnd
from conductor.runs.events import AnswerKept, Event, PlanningFailed, PlanRejected, WorkflowPlanned
from conductor.runs.request import UNKNOWN_ASKER, Asker
from conductor.values.charge import Charge, total_of
from conductor.values.messages import Usage
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow
from storage.store import SessionStore
from studio.sessions.activity import Activity
from studio.sessions.background_runs import Background, LiveRun, to_the_end


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """A plan's place among those requested at once: their common id, and its number from 1.

    All plans of a `batch` share `turn`, so that they begin in the order of their numbers.
    """

    batch: str
    number: int
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class SessionRecorder:
    """See `conductor.orchestration.recorder.Recorder`. `looks_back` is the id of the run before, from round 2
    on; a plan with a `place` is an alternative, which becomes no revision; `by` is who asks. `other_outputs`
    are those of other sessions.

    Belongs to the background loop, but for `read_history` and `write_start`.
    """

    store: SessionStore
    background: Background
    session: str
    activity: Activity
    looks_back: str | None = None
    place: BatchPlace | None = None
    by: Asker = UNKNOWN_ASKER
    other_outputs: OutputArchive = field(default_factory=OutputArchive)
    _planning: str = ""
    _attempt: dict[str, Any] = field(default_factory=dict)
    _revision: str = ""

    async def begin_plan(self, request: PlanRequest, *, planner: WorkerCard) -> None:
        """See `Recorder.begin_plan`: the plan reads interrupted should this process die before its end."""
        # Before anything is waited for, so that a stop finds what it is to stop.
        self.activity.begin_planning()
        place = self.place
        self._planning = new_id()
        self._attempt = {
            "planner": planner.name,
            "planner_kind": planner.kind,
            "round": request.round,
            "attempt": len(request.rejected) + 1 if place is None else place.number,
            "looks_back": self.looks_back,
            "alternative": None if place is None else place.batch,
            "by": self.by,
        }
        async with nullcontext() if place is None else place.turn:
            await _in_thread(partial(self.store.plans.begin, self._planning, self.session, **self._attempt))

    async def write_plan(
        self,
        request: PlanRequest,
        end: PlanningEnd,
        workflow: Workflow | None,
        charges: Sequence[Charge],
    ) -> None:
        """See `Recorder.write_plan`: the plan and the revision that is made of it are one transaction."""
        await _in_thread(partial(self._add_plan, request, end, workflow, charges))

    def _add_plan(
        self,
        request: PlanRequest,
        end: PlanningEnd,
        workflow: Workflow | None,
        charges: Sequence[Charge],
    ) -> None:
        answered = None if isinstance(end, PlanningFailed) else end
        self._revision = new_id()
        self.store.plans.add(
            self.session,
            **self._attempt,
            report=answered.report if answered else None,
            failure=end.message if isinstance(end, PlanningFailed) else None,
            stopped=isinstance(end, PlanningFailed) and end.stopped,
            usage=total_of(charges).usage if charges else answered.usage if answered else Usage(),
            charges=charges,
            seconds=answered.seconds if answered else None,
            workflow=workflow if self.place is None else None,
            revision=self._revision,
            note=_note(request, answered),
            planning=self._planning,
        )

    async def history(self) -> RunHistory:
        return await asyncio.to_thread(self.read_history)

    def read_history(self) -> RunHistory:
        """What the session's runs gave and what others did, and its newest run."""
        latest = self.store.runs.latest(self.session)
        reusable = known_outputs(self.store, self.session, self.other_outputs)
        return RunHistory(reusable, latest=None if latest is None else latest.id)

    async def start_run(self, run: WorkflowRun) -> None:
        """See `Recorder.start_run`: a run of the revision that was planned last."""
        write = partial(self.write_start, run, revision=self._revision)
        await self.background.prepared(write, stopped=lambda: self.activity.stopped)

    def write_start(self, run: WorkflowRun, *, revision: str) -> LiveRun:
        """Write that a run of `revision` starts; other threads may follow it from here on.

        Raises `StorageError` where the session runs already, or went on behind the run that this one resumes.
        """
        self.store.runs.start(
            run=run.run,
            session=self.session,
            revision=revision,
            parent=run.parent,
            pool_label=run.label,
            round=run.round,
            by=self.by,
            resumes=run.resumes,
        )
        return self.background.register(run)

    def events(self, run: WorkflowRun) -> AsyncGenerator[Event, None]:
        """See `Recorder.events`: shown to other threads once they are written."""
        live = self.background.live(run.run)
        assert live is not None, "started before"
        self.activity.begin_running(live)
        self.looks_back = run.run
        return self.background.events(live)


def known_outputs(store: SessionStore, session: str, others: OutputArchive | None = None) -> KnownOutputs:
    """What a run of the session may take over: what its own runs gave, then the outputs of `others`."""
    if store.runs.latest(session) is None and store.sessions.find(session).forked_from is None:
        return KnownOutputs(archive=others or OutputArchive())
    archive = OutputArchive(store.runs.outputs(session))
    archive.extend(others or ())
    return KnownOutputs(store.runs.earlier(session), archive)


def _note(request: PlanRequest, answered: WorkflowPlanned | AnswerKept | PlanRejected | None) -> str:
    """What the revision of a plan is noted as."""
    planned = "Planned" if request.round == 1 else f"Planned for round {request.round}"
    other = None if answered is None else answered.report.handed_over
    return planned if other is None else f"{planned} by the {other.planner}, to which it was handed over"


async def _in_thread(work: Callable[[], object]) -> None:
    """Call it in a thread, which runs to its end also where planning is stopped meanwhile."""
    await to_the_end(asyncio.get_running_loop().run_in_executor(None, work))
