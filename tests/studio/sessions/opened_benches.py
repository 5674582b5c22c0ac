"""Workbenches over the test's store, with two simulated workers and a Conductor of the test's choice."""

from __future__ import annotations

from conductor.planner.conductor import Conductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.workbench import Workbench
from tests.support.runs.conductor_cases import ScriptedConductor


class Opened:
    """Opens workbenches; those in `benches` are closed after the test."""

    def __init__(self, url: str) -> None:
        self.benches: list[Workbench] = []
        self._url = url

    def __call__(self, *texts: str, conductor: Conductor | None = None, nests: bool = False) -> Workbench:
        """One whose Conductor answers with `texts` one after another, unless another `conductor` plans."""
        pool = Pool(workers=tuple(SimulatedWorker(name=name, answer=f"{name} says") for name in ("a", "b")))
        planner = conductor or ScriptedConductor(texts)
        self.benches.append(
            Workbench.over(SessionStore.open(self._url), pool=pool, conductor=planner, nests=nests)
        )
        return self.benches[-1]
