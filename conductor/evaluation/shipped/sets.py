"""The shipped sets by name: what is in each, and with which pool and planners the orchard's is shown.

Knows files beside it and the orchard; knows no command and no pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from conductor.errors import ConductorError, DataError
from conductor.evaluation.data_file import items_of
from conductor.evaluation.items import DataSet
from conductor.evaluation.rows import rows_of
from conductor.evaluation.sets.mix import MIXES
from conductor.evaluation.sets.named_set import named_set
from conductor.evaluation.spec import CONDUCTOR
from conductor.orchard import Split, draw, orchard_workers
from conductor.plugins import Registry, fault_of
from conductor.text.final_answer import ASK

Rows = Iterator[tuple[int, object]]

DEMO_QUESTIONS = 300
DEMO_SEED = 2026

_PLANNERS = (
    CONDUCTOR,
    *(f"worker:{worker.card.name}" for worker in orchard_workers()),
    "baseline:reflect:generalist",
    "baseline:vote",
    "baseline:moa:aggregator=generalist",
    "baseline:rules",
)


@dataclass(frozen=True)
class ShippedSet:
    """A set by its `name`. `pool` is the built-in set of workers that it is made for and `planners` are what
    it is shown with; None if any pool and the usual planners will do.
    """

    name: str
    about: str
    rows: Callable[[], Rows]
    pool: str | None = None
    planners: tuple[str, ...] | None = None

    def read(self, *, scorer: str | None = None, limit: int | None = None) -> DataSet:
        """The items, or the first of them; `scorer` takes the place of the set's own. Raises `DataError`."""
        try:
            return items_of(
                self.rows(), name=self.name, place=self.name, fields=dict, scorer=scorer, limit=limit
            )
        except ConductorError:
            raise
        except Exception as error:
            raise DataError(f"The set {self.name!r} cannot be read: {fault_of(error)}.") from error


def _demo(name: str, about: str, split: Split) -> ShippedSet:
    """Questions of the orchard of a split that no Conductor is trained on."""
    return ShippedSet(
        name,
        f"{DEMO_QUESTIONS} questions of the orchard, a small world to measure orchestration in{about}",
        partial(_demo_rows, split),
        pool="orchard",
        planners=_PLANNERS,
    )


def _demo_rows(split: Split) -> Rows:
    for number, question in enumerate(draw(DEMO_QUESTIONS, seed=DEMO_SEED, split=split), start=1):
        about = {"category": question.family, "steps": question.steps}
        yield number, {"input": question.text, "target": question.answer, "metadata": about}


def _file(name: str) -> Callable[[], Rows]:
    return partial(_asked_in_form, Path(__file__).with_name(f"{name}.jsonl"))


def _asked_in_form(path: Path) -> Rows:
    """The rows of a shipped file: each asks for an answer that its scorer can find in a sentence."""
    for number, row in rows_of(path):
        assert isinstance(row, dict)
        yield number, {**row, "input": f"{row['input']}\n\n{ASK}the answer alone."}


_SETS: Mapping[str, ShippedSet] = {
    each.name: each
    for each in (
        _demo("demo", "", "test"),
        _demo("demo-wordings", ", asked in wordings that are held out of training", "wordings"),
        _demo(
            "demo-combinations",
            ", on countries that training has not in that family of questions",
            "combinations",
        ),
        ShippedSet(
            "arithmetic", "40 questions with numbers: sums, percent, equations, words", _file("arithmetic")
        ),
        ShippedSet("countries", "40 questions on countries, their capitals and sizes", _file("countries")),
    )
}


SHIPPED: Registry[ShippedSet] = Registry(
    "conductor.datasets",
    _SETS,
    check=lambda kind: None if isinstance(kind, ShippedSet) else f"it is not a ShippedSet of {__name__}",
    error=DataError,
    reserved=lambda name: named_set(name) is not None or name in MIXES,
)
"""The sets that need no file, by name."""
