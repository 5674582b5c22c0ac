"""All that a page shows of one experiment, read in one go. Knows no Streamlit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conductor.engine.experiments import Trial, trials_of
from conductor.runs.state import RunState
from conductor.values.messages import NOTHING_USED, Usage
from storage import ExperimentRecord
from studio.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Results:
    """The current state of an experiment: the run `base` that it is compared with, its trials, and the
    `states` of those that were begun, by their place. `failure` is why it was stopped early.
    """

    record: ExperimentRecord
    base: RunState
    trials: tuple[Trial, ...]
    states: Mapping[int, RunState]
    live: bool
    failure: str | None

    @classmethod
    def load(cls, bench: Workbench, record: ExperimentRecord) -> Results:
        """Raises `StorageError` where the store cannot be read."""
        live = bench.experimenting.live(record.id)
        base = bench.state(bench.store.runs.find(record.base))
        return cls(
            record=record,
            base=base,
            trials=trials_of(record.experiment, base.workflow) if base.workflow is not None else (),
            states=bench.experimenting.states(record.id),
            live=record.id in bench.experimenting.under_way(record.session),
            failure=live.trouble if live is not None else None,
        )

    @property
    def usage(self) -> Usage:
        """What all trials together have used so far."""
        return sum((state.usage for state in self.states.values()), NOTHING_USED)
