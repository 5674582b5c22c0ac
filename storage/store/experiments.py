"""What the application asks about experiments."""

from __future__ import annotations

from conductor.engine.trials import EdgeTest, Swap
from storage import experiments
from storage.records import ExperimentRecord, RunRecord
from storage.store.transactions import Transactions


class Experiments(Transactions):
    """Experiments on a run; their trials are runs of their own."""

    def add_experiment(self, session: str, experiment: Swap | EdgeTest, *, base: str) -> ExperimentRecord:
        """Keep an experiment that is about to be made on the run `base`."""
        return self._write(experiments.add, session, experiment, base=base, now=self._clock())

    def experiment(self, experiment: str) -> ExperimentRecord:
        """The experiment of that id."""
        return self._remember(experiments.find, experiment)

    def experiments(self, session: str) -> tuple[ExperimentRecord, ...]:
        """The session's experiments, newest first."""
        return self._remember(experiments.of_session, session)

    def trials(self, experiment: str) -> tuple[RunRecord, ...]:
        """The runs that an experiment has so far, by trial."""
        return self._remember(experiments.trials_of, experiment)
