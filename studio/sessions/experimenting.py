"""Experiments under way: each trial is a separate run, several at once, all counted by one meter.

Knows the store and the background loop; `conductor.engine.experiments` decides what a trial is. Ordinary
runs of the session continue beside them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.experiments import Experiment, Trial, frozen_outputs, trials_of
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.errors import ConductorError, WorkflowError
from conductor.orchestrate import new_id
from conductor.runs.state import RunState
from conductor.runtime import Runtime
from conductor.values.messages import SeenResponse
from conductor.workers.pool.pool import Pool
from storage.records import ExperimentRecord, RunRecord
from storage.store import SessionStore
from studio.sessions.background_runs import Background, LiveRun

AT_ONCE = 6
"""Trials that run at the same time; workers' own limits apply, too."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Base:
    """The run that trials are compared with, its end, and what its steps saw of a round before."""

    record: RunRecord
    state: RunState
    previous: tuple[SeenResponse, ...] = ()


@dataclass(slots=True)
class LiveExperiment:
    """An experiment under way, read from any thread. `stopped` prevents further trials from starting."""

    record: ExperimentRecord
    work: Future[None] | None = None
    stopped: bool = False
    runs: list[LiveRun] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether no trial runs or will run any more."""
        return self.work is not None and self.work.done()

    @property
    def trouble(self) -> str | None:
        """The error that ended it, such as a full store; None where there was none."""
        error = self.work.exception() if self.work is not None and self.work.done() else None
        if error is None:
            return None
        if isinstance(error, ConductorError):
            return str(error)
        return "The program failed while it experimented; its log has the error. What was finished is kept."


class Experimenting:
    """Begun from any thread."""

    def __init__(
        self, store: SessionStore, background: Background, *, state: Callable[[RunRecord], RunState]
    ) -> None:
        self._store = store
        self._background = background
        self._state = state
        self._live: dict[str, LiveExperiment] = {}
        self._beginning = Lock()

    def begin(self, experiment: Experiment, *, on: Base, runtime: Runtime, meter: Meter) -> LiveExperiment:
        """Run the trials of `experiment` on the run `on`; returns at once.

        Raises `WorkflowError` where the experiment does not fit the run's workflow or the pool, or another
        one of the session is under way.
        """
        base = on.state
        if base.workflow is None or base.status != "finished" or not base.whole:
            raise WorkflowError(
                "An experiment is compared with a finished run of all steps; run the workflow first."
            )
        trials = trials_of(experiment, base.workflow)
        pool = runtime.pool_for(meter)
        for trial in trials:
            trial.workflow.check_workers(pool.names)
        session = on.record.session
        # Of two who begin at once, the later sees the earlier's.
        with self._beginning:
            if self.under_way(session):
                raise WorkflowError("An experiment goes on in this session; wait for it, or stop it first.")
            record = self._store.experiments.add(session, experiment, base=base.run)
            live = self._live[record.id] = LiveExperiment(record)
        live.work = self._background.spawn(self._run(live, trials, on=on, pool=pool, meter=meter))
        return live

    def live(self, experiment: str) -> LiveExperiment | None:
        """An experiment that this process began, also when it is over; None for others."""
        return self._live.get(experiment)

    def under_way(self, session: str) -> frozenset[str]:
        """The session's experiments under way in this process, or with trials running in another one."""
        # A copy: other threads begin others meanwhile.
        begun = [live for live in tuple(self._live.values()) if live.record.session == session]
        here = frozenset(live.record.id for live in begun if not live.done)
        return here | self._store.experiments.running(session) - {live.record.id for live in begun}

    def stop(self, experiment: str) -> None:
        """Start no further trial and stop those that run; finished results are kept. Where another process
        runs it, that one is requested to stop it.
        """
        live = self._live.get(experiment)
        if live is None:
            self._store.experiments.ask_to_stop(experiment)
        else:
            self._stop(live)

    def _stop(self, live: LiveExperiment) -> None:
        live.stopped = True
        for run in list(live.runs):
            self._background.cancel(run.run)

    def states(self, experiment: str) -> dict[int, RunState]:
        """The trials so far by their place, live or from the store."""
        return {
            run.trial: self._state(run)
            for run in self._store.experiments.trials(experiment)
            if run.trial is not None
        }

    async def _run(
        self, live: LiveExperiment, trials: Sequence[Trial], *, on: Base, pool: Pool, meter: Meter
    ) -> None:
        room = asyncio.Semaphore(AT_ONCE)

        async def go(at: int, trial: Trial) -> None:
            async with room:
                if live.stopped or meter.crossing is not None:
                    return
                try:
                    if await asyncio.to_thread(self._store.experiments.is_asked_to_stop, live.record.id):
                        self._stop(live)
                        return
                    run = await self._background.prepared(
                        partial(self._prepared, live, at, trial, on=on, pool=pool, meter=meter)
                    )
                    await self._followed(live, run)
                except Exception:
                    # The others are stopped as by a person, so that the events of each include its end.
                    self._stop(live)
                    raise

        ends = await asyncio.gather(
            *(go(at, trial) for at, trial in enumerate(trials)), return_exceptions=True
        )
        broke = next((end for end in ends if isinstance(end, BaseException)), None)
        if broke is not None:
            _log.error("experiment %s broke", live.record.id, exc_info=broke)
            raise broke

    async def _followed(self, live: LiveExperiment, run: LiveRun) -> None:
        live.runs.append(run)
        try:
            if live.stopped:
                run.cancel()
            await self._background.follow(run)
        finally:
            # The store has it from here on; the experiment stays in memory for as long as the process lives.
            live.runs.remove(run)

    def _prepared(
        self, live: LiveExperiment, at: int, trial: Trial, *, on: Base, pool: Pool, meter: Meter
    ) -> LiveRun:
        """A trial's run, started in the store and not yet followed."""
        bound = BoundWorkflow.of(
            trial.workflow,
            query=on.state.query,
            pool=pool,
            previous=on.previous,
            conversation=on.state.conversation,
        )
        run = WorkflowRun(
            bound,
            pool,
            run=new_id(),
            outputs=frozen_outputs(on.state),
            scope=trial.scope,
            preloaded=on.state.outputs,
            parent=on.state.run,
            round=on.state.round,
            meter=meter,
        )
        self._store.runs.start(
            run=run.run,
            session=on.record.session,
            revision=on.record.revision,
            parent=run.parent,
            pool_label=pool.label,
            round=run.round,
            experiment=live.record.id,
            trial=at,
        )
        return self._background.register(run)
