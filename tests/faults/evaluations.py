"""Kills amid evaluations: no cell is lost or answered twice, no call is made again, the table is the same.

The workers are served by the endpoint of `runs.py`, which outlives every kill and counts what it was asked.
"""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.evaluation_run import Progress
from studio.evaluation.results import scored_cells
from studio.workbench import Workbench
from tests.faults.ledger import Ledger
from tests.faults.runs import Endpoint, bench_over
from tests.faults.soundness import check_soundness
from tests.faults.victim import Say, Work, killed

PLANNERS = ("worker:*", "baseline:vote", "baseline:moa:layers=2")
PARALLEL = 2
SPEC = EvaluationSpec(data="", digest="", planners=PLANNERS, parallel=PARALLEL)


def work(say: Say, url: str, pool: str, evaluation: str) -> None:
    """Carry an evaluation out until killed; all scored cells are named whenever there is one more."""
    bench = bench_over(SessionStore.open(url), pool)

    def listen(_: Progress) -> None:
        say(cells=[cell.model_dump(mode="json") for cell in scored_cells(bench.store, evaluation)])

    Evaluations(bench).run(evaluation, listen=listen)
    threading.Event().wait()


def questions(name: str, count: int = 4) -> DataSet:
    """Questions that no other evaluation has, so that no call of theirs is there already."""
    items = (Item(id=f"{at}", input=f"What is {name} times {at}?", target=("yes",)) for at in range(count))
    return DataSet(name, tuple(items))


@dataclass
class KilledEvaluations:
    """One store and one endpoint; each kill is of an evaluation of its own, which is resumed and compared
    with one that was not killed.
    """

    folder: Path
    work: Work = work
    span: float = 1.6
    _file: ClassVar[str] = "evaluations.db"
    ledger: Ledger = field(default_factory=lambda: Ledger("evaluations"))
    _open: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.endpoint = self._open.enter_context(Endpoint())

    @property
    def url(self) -> str:
        """The store that all kills share."""
        return f"sqlite:///{self.folder / self._file}"

    def kill(self, rng: Random) -> None:
        """Kill once, look for every cell that was acknowledged, resume, and compare."""
        data = questions(f"{rng.getrandbits(48):012x}")
        evaluation = self._start(self.url, data)
        self.endpoint.forget()
        after = rng.uniform(0, self.span) * self.ledger.slack()
        printed = killed(self.work, self.url, self.endpoint.pool, evaluation, after=after)
        self.ledger.kills += 1
        check_soundness(self.folder / self._file, self.ledger)
        bench = bench_over(SessionStore.open(self.url), self.endpoint.pool)
        try:
            self.ledger.restarts += 1
            self._check_resumed(bench, evaluation, printed)
            resumed = scored_cells(bench.store, evaluation)
        finally:
            bench.close()
        whole = self._unkilled(data)
        self.ledger.require(len(resumed) == len(whole), "the resumed evaluation lacks cells")
        for cell, other in zip(resumed, whole, strict=False):
            self.ledger.check(comparable(cell) == comparable(other), f"{cell.planner} has another result")

    def finish(self) -> None:
        """End the endpoint."""
        self._open.close()

    def _start(self, url: str, data: DataSet) -> str:
        bench = bench_over(SessionStore.open(url), self.endpoint.pool)
        try:
            return Evaluations(bench).add(data, PLANNERS, SPEC).id
        finally:
            bench.close()

    def _check_resumed(self, bench: Workbench, evaluation: str, printed: list[dict[str, Any]]) -> None:
        claims = [Cell.model_validate(each) for line in printed[-2:] for each in line.get("cells", ())]
        scores = {_place(cell): cell for cell in scored_cells(bench.store, evaluation)}
        for cell in claims:
            self.ledger.check(scores.get(_place(cell)) == cell, f"a cell of {cell.planner} is lost")
        self.ledger.unfinished += len(bench.store.evaluations.cells(evaluation)) - len(scores)
        self.ledger.resumed += len(scores)
        before = self.endpoint.requests()
        progress = Evaluations(bench).run(evaluation)
        require = self.ledger.require
        require(progress.failure is None, f"it does not come to its end: {progress.failure}")
        require(progress.done == progress.cells, f"{progress.cells - progress.done} cells are missing")
        cells = bench.store.evaluations.cells(evaluation)
        places = Counter((cell.item, cell.repeat, cell.planner) for cell in cells)
        require(set(places.values()) == {1}, "a cell is there twice")
        require(len({cell.answered_in for cell in cells}) == len(cells), "two cells share a session")
        calls = self.endpoint.requests()
        fingerprints = {
            output.fingerprint
            for cell in cells
            for output in bench.store.runs.outputs(cell.answered_in)
            if output.worker.startswith("model-")
        }
        require(len(calls) == len(fingerprints), f"{len(calls)} requests for {len(fingerprints)} outputs")
        # A call that a kill cut off has no output and is made again: as many as were under way, and no other.
        again = [request for request, times in calls.items() if times > 1]
        require(len(again) <= PARALLEL * len(PLANNERS), f"{len(again)} calls were made twice")
        require(all(calls[each] == 2 and before[each] == 1 for each in again), "a call was made three times")
        after = {_place(each): each for each in scored_cells(bench.store, evaluation)}
        for cell in scores.values():
            require(after[_place(cell)] == cell, "a cell that was done was answered again")

    def _unkilled(self, data: DataSet) -> tuple[Cell, ...]:
        url = f"sqlite:///{self.folder / data.name}.db"
        evaluation = self._start(url, data)
        bench = bench_over(SessionStore.open(url), self.endpoint.pool)
        try:
            Evaluations(bench).run(evaluation)
            return scored_cells(bench.store, evaluation)
        finally:
            bench.close()


def comparable(cell: Cell) -> dict[str, Any]:
    """A cell without its session, its time and what was paid: a call that a kill cut off was paid, too."""
    return cell.model_dump(mode="json", exclude={"session": True, "result": {"seconds", "spent", "paid"}})


def _place(cell: Cell) -> tuple[int, int, str]:
    return cell.item, cell.repeat, cell.planner
