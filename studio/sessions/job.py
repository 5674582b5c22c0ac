"""A job of a session: which request, with whom, within which limits, and where it is recorded.

Knows `conductor.orchestration.rounds`; knows no other session, and begins nothing by itself.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from functools import cached_property

from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.orchestration.recorder import RunHistory
from conductor.orchestration.rounds import orchestrate, plan_round, recorded_plan, workflow_run
from conductor.orchestration.runtime import Runtime
from conductor.planner.conductor import Conductor, PlanRequest
from conductor.runs.events import Event
from conductor.runs.request import RunRequest
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState
from conductor.values.output import Output
from conductor.workers.pool.pool import Pool
from conductor.workflow.model import Workflow
from studio.sessions.activity import Activity
from studio.sessions.recorder import SessionRecorder


@dataclass(frozen=True)
class Job:
    """One thing that a session does. Its methods are what it may be; each is called at most once."""

    request: RunRequest
    runtime: Runtime
    meter: Meter
    activity: Activity
    recorder: SessionRecorder

    @property
    def session(self) -> str:
        return self.recorder.session

    @property
    def conductor(self) -> Conductor:
        return self.runtime.planner_for(self.request.settings)

    @cached_property
    def pool(self) -> Pool:
        """Who answers, with calls that the meter counts."""
        return self.runtime.pool_for(self.meter)

    def plan(self, request: PlanRequest) -> AsyncGenerator[Event, None]:
        """Plan one round, in as many attempts as the settings allow."""
        return plan_round(
            request, self.request, conductor=self.conductor, meter=self.meter, recorder=self.recorder
        )

    def alternative(self, request: PlanRequest) -> AsyncGenerator[Event, None]:
        """Ask for a plan once."""
        return recorded_plan(
            request, self.request, conductor=self.conductor, meter=self.meter, recorder=self.recorder
        )

    def rounds(
        self, *, after: RunState | None = None, started: WorkflowRun | None = None
    ) -> AsyncGenerator[Event, None]:
        """Plan and run all rounds, from the one after the run `after` or with a run that is recorded."""
        return orchestrate(
            self.request,
            conductor=self.conductor,
            pool=self.pool,
            meter=self.meter,
            recorder=self.recorder,
            after=after,
            started=started,
        )

    def run(
        self,
        workflow: Workflow,
        *,
        history: RunHistory,
        after: RunState | None = None,
        scope: RunScope = EDITED,
        preloaded: Mapping[int, Output] | None = None,
    ) -> WorkflowRun:
        """A run of a workflow, for `rounds` to start with. See `WorkflowRun` for the errors."""
        return workflow_run(
            self.request,
            workflow,
            self.pool,
            meter=self.meter,
            history=history,
            after=after,
            scope=scope,
            preloaded=preloaded,
        )
