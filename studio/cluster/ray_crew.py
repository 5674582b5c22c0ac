"""The crew of an evaluation on a Ray cluster: actors that answer batches of items, an engine inside each.

An actor has a workbench of its own on the shared store, with the machine's own copy of the pool, and its
keys. What it is sent and what it returns are values without secrets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from pathlib import Path
from threading import Event as Flag

from conductor.errors import ConductorError
from conductor.runs.request import Asker
from storage.store import SessionStore
from studio.cluster.brief import Brief, no_store, on_this_machine
from studio.cluster.shift import Done, Failed, Shift, places
from studio.composition import open_workbench
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.crew import Part, Unit
from studio.workbench import Workbench

_Units = tuple[Unit, ...]


DEATH_SECONDS = 60.0
"""How long a run of a process that was lost may go on: PostgreSQL notices a machine without power in some
twenty seconds.
"""


class Answerer:
    """Answers items of one evaluation for `by`. `database` is the store's URL, None if the machine's
    environment names it.
    """

    def __init__(self, brief: Brief, evaluation: str, database: str | None, by: Asker) -> None:
        self._brief, self._evaluation, self._database, self._by = brief, evaluation, database, by
        self._stop = Flag()
        self._bench: Workbench | None = None

    def begin(self) -> str | None:
        """See `Member.begin`."""
        refused = no_store(self._database)
        if self._bench is not None or refused is not None:
            return refused
        try:
            own = open_workbench(pool=Path(self._brief.pool), database=self._database)
            self._bench = own.on(own.runner.runtimes, by=self._by)
            self._bench.store.evaluations.find(self._evaluation)
            return self._brief.unusable_in(self._bench.pool)
        except ConductorError as error:
            return on_this_machine(str(error))

    def answer(self, work: Sequence[Unit], *, again: bool) -> Part:
        """Answer what is missing of these units. See `Member.answer`."""
        assert self._bench is not None, "begin comes first"
        try:
            if again:
                _await_ends(self._bench.store, self._evaluation, work)
            return Evaluations(self._bench).answer(self._evaluation, work, stop=self._stop)
        except ConductorError as error:
            return Part(failure=on_this_machine(str(error)))

    def stop(self) -> None:
        """Begin nothing more, and stop what is under way."""
        self._stop.set()


def _await_ends(store: SessionStore, evaluation: str, units: Sequence[Unit]) -> None:
    """Wait until what a lost process ran of these units has ended, so that it can be answered here."""
    end = time.monotonic() + DEATH_SECONDS
    unit_set = set(units)
    while True:
        store.processes.mark_interrupted()
        runs = [
            store.runs.latest(cell.answered_in)
            for cell in store.evaluations.cells(evaluation)
            if cell.result is None and (cell.item, cell.repeat) in unit_set
        ]
        if time.monotonic() > end or not any(run is not None and run.status == "running" for run in runs):
            return
        time.sleep(0.5)


class RayCrew:
    """A process for each CPU of the cluster that is connected to; `database` and `by` as `Answerer` has
    them.
    """

    def __init__(self, brief: Brief, *, database: str | None, by: Asker) -> None:
        self._brief, self._database, self._by = brief, database, by

    def answer(
        self, evaluation: str, units: Sequence[Unit], *, parallel: int, over: Callable[[], bool]
    ) -> Iterator[Part]:
        """See `Crew.answer`."""
        processes = places()
        batches = _batches(units, processes=processes, parallel=parallel)
        shift: Shift[_Units, Part] = Shift(
            Answerer,
            self._brief,
            evaluation,
            self._database,
            self._by,
            processes=min(processes, len(batches)),
            named=_questions,
        )
        stopped = False
        try:
            for event in shift.work(batches):
                match event:
                    case Done(answer=part):
                        yield part
                    case Failed(reason=reason):
                        yield Part(failure=reason)
                if not stopped and over():
                    stopped = True
                    shift.stop()
        finally:
            shift.end()


def _batches(units: Sequence[Unit], *, processes: int, parallel: int) -> list[_Units]:
    # Small enough that all end at about the same time, large enough that few items wait for the last one.
    size = max(1, min(4 * parallel, ceil(len(units) / (4 * processes))))
    return [tuple(units[start : start + size]) for start in range(0, len(units), size)]


def _questions(units: _Units) -> str:
    return "the questions " + ", ".join(str(item + 1) for item, _ in units)
