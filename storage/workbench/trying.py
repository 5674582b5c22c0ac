"""Trying variants of the current workflow."""

from __future__ import annotations

from conductor.engine.meter import Meter
from conductor.engine.trials import Experiment
from conductor.errors import WorkflowError
from storage.experimenting import Base, LiveExperiment
from storage.workbench.bench import LOOKED_BACK, Bench


class Trying(Bench):
    """Trying variants of the current workflow."""

    def experiment(self, session: str, experiment: Experiment) -> LiveExperiment:
        """Try variants of the current workflow on what its last run gave; returns at once.

        Raises `WorkflowError` where the current workflow has no finished run to compare with, an experiment
        of the session goes on already, or this one does not fit the workflow.
        """
        base = self.base(session)
        if base is None:
            raise WorkflowError(
                "An experiment is compared with a finished run of the workflow as it is now; run it first."
            )
        return self.experimenting.begin(
            experiment,
            on=base,
            ensemble=self.conducting.ensemble,
            meter=Meter(self.settings(session).budget),
        )

    def base(self, session: str) -> Base | None:
        """The newest finished run of all steps of the current workflow; None where it has none."""
        head = self.required_head(session)
        for run in self.store.runs(session)[:LOOKED_BACK]:
            state = self.state(run)
            if state.status == "finished" and state.whole and state.tells_of(head.workflow):
                return Base(record=run, state=state, previous=self.conducting.previous(head))
        return None
