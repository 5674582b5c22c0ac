"""The crew of an evaluation on a Ray cluster: actors that answer batches of items.

Knows how units become batches and batches parts; what an actor does is the answerer's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil

from conductor.runs.request import Asker
from studio.cluster.answerer import Answerer
from studio.cluster.brief import Brief
from studio.cluster.shift import Done, Failed, Shift, places
from studio.evaluation.execution.crew import Part, Unit

_Units = tuple[Unit, ...]


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
