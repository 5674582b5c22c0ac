"""Experiments: variants of the current workflow, tried on what its last run gave.

Each trial is a separate run, several at once, all counted by one meter; ordinary runs of the session continue
beside them. `conductor.engine.experiments` decides what a trial is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.estimate import Estimate, estimate, together
from conductor.engine.experiments import Experiment, StepSearch, Trial, trials_of
from conductor.engine.known_outputs import KnownOutputs
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.engine.schedule import blast_radius
from conductor.errors import WorkflowError
from conductor.orchestration.rounds import new_id
from conductor.runs.request import Asker
from conductor.runs.state import RunState
from conductor.values.messages import SeenResponse
from conductor.workers.endpoint.transport.timing import CALLERS
from conductor.workers.pool.pool import Pool
from conductor.workflow.model import Workflow
from storage.records import ExperimentRecord, RunRecord
from studio.sessions.activity import failure_of
from studio.sessions.background_runs import LiveRun
from studio.sessions.person_limits import admitted
from studio.workbench.bench import Bench
from studio.workbench.comparison.marking import Marking
from studio.workbench.running import Running

AT_ONCE = 6
"""Trials that run at the same time; workers' own limits apply, too."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Base:
    """The run that trials are compared with: its end, its workflow, what its steps saw of a round before."""

    record: RunRecord
    state: RunState
    workflow: Workflow
    previous: tuple[SeenResponse, ...] = ()

    def bound(self, trial: Trial, pool: Pool) -> BoundWorkflow:
        return BoundWorkflow.of(
            trial.workflow,
            query=self.state.query,
            pool=pool,
            previous=self.previous,
            conversation=self.state.conversation,
        )


@dataclass(slots=True)
class LiveExperiment:
    """An experiment under way, read from any thread. `stopped` prevents further trials from starting."""

    record: ExperimentRecord
    by: Asker
    work: Future[None] | None = None
    stopped: bool = False
    runs: list[LiveRun] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether no trial runs or will run any more."""
        return self.work is not None and self.work.done()

    @property
    def failure(self) -> str | None:
        """The error that ended it, such as a full store, or None."""
        return failure_of(self.work, "experimented")


class Experiments:
    """Trying variants of the current workflow; begun from any thread."""

    def __init__(self, bench: Bench, running: Running) -> None:
        self._bench, self._running = bench, running
        self._live: dict[str, LiveExperiment] = {}
        self._marking = Marking(bench.background)
        self._beginning = Lock()

    def base(self, session: str) -> Base | None:
        """The newest finished run of all steps of the current workflow; None if it has none.

        Trials wait at no gate.
        """
        head = self._bench.required_head(session)
        for run, state in self._running.recent_states(session):
            if state.status == "finished" and state.whole and state.is_run_of(head.workflow):
                assert state.workflow is not None, "it has finished"
                return Base(run, state, state.workflow.ungated, previous=self._bench.runner.previous(head))
        return None

    def estimate(self, experiment: Experiment, base: Base) -> Estimate:
        """What the trials of an experiment on that run will probably take. Raises `WorkflowError` where the
        experiment does not fit the run's workflow or the pool.
        """
        pool, reusable = self._bench.pool, KnownOutputs.of(base.state)
        history = self._bench.store.runs.outputs(base.record.session)
        estimates = []
        for trial in trials_of(experiment, base.workflow):
            bound = base.bound(trial, pool)
            radius = blast_radius(None, bound, reusable, scope=trial.scope, preloaded=base.state.outputs)
            estimates.append(estimate(bound, radius.runs, history, cards=pool.cards, outputs=radius.outputs))
        return together(estimates, at_once=AT_ONCE)

    def begin(self, session: str, experiment: Experiment, *, meter: Meter | None = None) -> LiveExperiment:
        """Try variants of the current workflow on what its last run gave, counted by `meter`, None: within
        the session's budget; returns at once.

        Raises `WorkflowError` where the current workflow has no finished run to compare with, an experiment
        of the session goes on already, or this one does not fit the workflow or the pool; where the step is
        sought that spoiled an answer which is right already, too, and `DataError` if none could be right.
        """
        base = self.base(session)
        if base is None:
            raise WorkflowError("A trial needs a finished run of the current workflow. Run it first.")
        trials = trials_of(experiment, base.workflow)
        counts = meter is None
        meter = meter or Meter(self._bench.settings(session).budget)
        pool = self._bench.runner.runtime.pool_for(meter)
        for trial in trials:
            trial.workflow.check_workers(pool.cards)
        if isinstance(experiment, StepSearch):
            self._check_wrong(base, experiment)
        # Of two who begin at once, the later sees the earlier's.
        with self._beginning:
            if self.under_way(session):
                raise WorkflowError("A trial is running in this session. Wait for it, or stop it first.")
            limits = admitted(self._bench.store, self._bench.asker) if counts else None
            record = self._bench.store.experiments.add(session, experiment, base=base.state.run)
            live = self._live[record.id] = LiveExperiment(record, self._bench.asker)
        work = self._run(live, trials, base=base, pool=pool, meter=meter)
        live.work = self._bench.background.spawn(self._bench.runner.within(limits, meter, work))
        return live

    def _check_wrong(self, base: Base, search: StepSearch) -> None:
        self._marking.check(search.accepted)
        answer = base.state.answer
        if answer is not None and self._marking.right(answer, search.accepted):
            raise WorkflowError(
                f"The answer of this run is already right by the check {search.accepted.check!r}, so "
                "no step made it wrong. If it is not right, enter another accepted answer or check."
            )

    def live(self, experiment: str) -> LiveExperiment | None:
        """An experiment that this process began, also when it is over; None for others."""
        return self._live.get(experiment)

    def under_way(self, session: str) -> frozenset[str]:
        """The session's experiments under way in this process, or with trials running in another one."""
        # A copy: other threads begin others meanwhile.
        experiments = [live for live in tuple(self._live.values()) if live.record.session == session]
        here = frozenset(live.record.id for live in experiments if not live.done)
        return here | self._bench.store.experiments.running(session) - {
            live.record.id for live in experiments
        }

    def stop(self, experiment: str) -> None:
        """Start no further trial and stop those that run; finished results are kept. Where another process
        runs it, that one is requested to stop it.
        """
        live = self._live.get(experiment)
        if live is None:
            self._bench.store.experiments.ask_to_stop(experiment)
        else:
            self._stop(live)

    def _stop(self, live: LiveExperiment) -> None:
        live.stopped = True
        for run in list(live.runs):
            self._bench.background.cancel(run.run)

    def states(self, experiment: str) -> dict[int, RunState]:
        """The trials so far by their place, live or from the store."""
        return {
            run.trial: self._bench.state(run)
            for run in self._bench.store.experiments.trials(experiment)
            if run.trial is not None
        }

    def right(
        self, record: ExperimentRecord, states: Mapping[int, RunState], *, wait: bool = True
    ) -> dict[int, bool]:
        """Of the trials of a search for the step that have an answer, by place, whether it is right; of one
        that is under way, and without `wait`, as far as it is known.
        """
        if not isinstance(record.experiment, StepSearch):
            return {}
        answers = {at: state.answer for at, state in states.items() if not state.live}
        final_answers = {at: answer for at, answer in answers.items() if answer is not None}
        live = self._live.get(record.id)
        over = live is None or live.done
        return self._marking.verdicts(final_answers, record.experiment.accepted, wait=wait and over)

    async def _run(
        self, live: LiveExperiment, trials: Sequence[Trial], *, base: Base, pool: Pool, meter: Meter
    ) -> None:
        store, room = self._bench.store, asyncio.Semaphore(AT_ONCE)
        CALLERS.set(live.by.turns(live.record.session))

        async def go(at: int, trial: Trial) -> None:
            async with room:
                if live.stopped or meter.crossing is not None:
                    return
                try:
                    if await asyncio.to_thread(store.experiments.is_asked_to_stop, live.record.id):
                        self._stop(live)
                        return
                    run = await self._bench.background.prepared(
                        partial(self._prepared, live, at, trial, base=base, pool=pool, meter=meter),
                        stopped=lambda: live.stopped,
                    )
                    await self._follow(live, run)
                    search, answer = live.record.experiment, run.state.answer
                    if isinstance(search, StepSearch) and answer is not None:
                        await self._marking.mark(answer, search.accepted)
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

    async def _follow(self, live: LiveExperiment, run: LiveRun) -> None:
        live.runs.append(run)
        try:
            if live.stopped:
                run.cancel()
            await self._bench.background.follow(run)
        finally:
            # The store has it from here on; the experiment stays in memory for as long as the process lives.
            live.runs.remove(run)

    def _prepared(
        self, live: LiveExperiment, at: int, trial: Trial, *, base: Base, pool: Pool, meter: Meter
    ) -> LiveRun:
        """A trial's run, started in the store and not yet followed. What it compares is each worker's own
        answer, so no fallback answers in its place.
        """
        pool = pool.without_fallbacks.unattended
        run = WorkflowRun(
            base.bound(trial, pool),
            pool,
            run=new_id(),
            reusable=KnownOutputs.of(base.state),
            scope=trial.scope,
            preloaded=base.state.outputs,
            parent=base.state.run,
            round=base.state.round,
            meter=meter,
        )
        self._bench.store.runs.start(
            run=run.run,
            session=base.record.session,
            revision=base.record.revision,
            parent=run.parent,
            pool_label=pool.label,
            round=run.round,
            experiment=live.record.id,
            trial=at,
            by=live.by,
        )
        return self._bench.background.register(run)
