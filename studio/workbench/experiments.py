"""Trying variants of the current workflow."""

from __future__ import annotations

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.estimate import Estimate, estimate, together
from conductor.engine.experiments import Experiment, frozen_outputs, trials_of
from conductor.engine.meter import Meter
from conductor.engine.schedule import blast_radius
from conductor.errors import WorkflowError
from studio.sessions.experimenting import AT_ONCE, Base, LiveExperiment
from studio.workbench.base import LOOKED_BACK, Bench


class Experiments:
    """Trying variants of the current workflow."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def begin(self, session: str, experiment: Experiment) -> LiveExperiment:
        """Try variants of the current workflow on what its last run gave; returns at once.

        Raises `WorkflowError` where the current workflow has no finished run to compare with, an experiment
        of the session goes on already, or this one does not fit the workflow.
        """
        base = self.base(session)
        if base is None:
            raise WorkflowError(
                "An experiment is compared with a finished run of the workflow as it is now; run it first."
            )
        return self._bench.experimenting.begin(
            experiment,
            on=base,
            runtime=self._bench.runner.runtime,
            meter=Meter(self._bench.settings(session).budget),
        )

    def estimate(self, experiment: Experiment, base: Base) -> Estimate:
        """What the trials of an experiment on that run will probably take. Raises `WorkflowError` where the
        experiment does not fit the run's workflow or the pool.
        """
        if base.state.workflow is None:
            raise WorkflowError("The run has no workflow to try variants of.")
        pool, outputs = self._bench.pool, frozen_outputs(base.state)
        history = self._bench.store.runs.outputs(base.record.session).values()
        estimates = []
        for trial in trials_of(experiment, base.state.workflow):
            bound = BoundWorkflow.of(
                trial.workflow,
                query=base.state.query,
                pool=pool,
                previous=base.previous,
                conversation=base.state.conversation,
            )
            radius = blast_radius(None, bound, outputs, scope=trial.scope, preloaded=base.state.outputs)
            estimates.append(estimate(bound, radius.runs, history, cards=pool.cards, known=radius.known))
        return together(estimates, at_once=AT_ONCE)

    def base(self, session: str) -> Base | None:
        """The newest finished run of all steps of the current workflow; None where it has none."""
        head = self._bench.required_head(session)
        for run in self._bench.store.runs.of_session(session)[:LOOKED_BACK]:
            state = self._bench.state(run)
            if state.status == "finished" and state.whole and state.tells_of(head.workflow):
                return Base(record=run, state=state, previous=self._bench.runner.previous(head))
        return None
