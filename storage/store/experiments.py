"""The store's methods for experiments."""

from __future__ import annotations

from conductor.engine.experiments import EdgeTest, Swap
from storage.ownership import interruption
from storage.records import ExperimentRecord, RunRecord
from storage.store.transactions import Part
from storage.tables import experiments


class Experiments(Part):
    """Experiments on a run; their trials are separate runs."""

    def add(self, session: str, experiment: Swap | EdgeTest, *, base: str) -> ExperimentRecord:
        """Keep an experiment that is about to be made on the run `base`."""
        return self._write(experiments.add, session, experiment, base=base, now=self._clock())

    def find(self, experiment: str) -> ExperimentRecord:
        """The experiment of that id."""
        return self._remember(experiments.find, experiment)

    def of_session(self, session: str) -> tuple[ExperimentRecord, ...]:
        """The session's experiments, newest first."""
        return self._remember(experiments.of_session, session)

    def trials(self, experiment: str) -> tuple[RunRecord, ...]:
        """The runs that an experiment has so far, by trial."""
        return self._remember(experiments.trials_of, experiment)

    def running(self, session: str) -> frozenset[str]:
        """The session's experiments of which a trial has no end yet, whichever process makes them."""
        return self._remember(experiments.running, session)

    def ask_to_stop(self, experiment: str) -> None:
        """Ask the process that makes it to stop its trials, which it does within a second, and to begin no
        other one; nothing happens to an experiment without a trial.
        """
        self._write(interruption.ask_to_stop_experiment, experiment, now=self._clock())

    def is_asked_to_stop(self, experiment: str) -> bool:
        """Whether another process requested that no further trial of it begins."""
        return self._read(interruption.is_asked_to_stop, experiment)
