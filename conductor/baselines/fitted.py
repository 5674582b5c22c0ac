"""A fitted baseline learns from an evaluation's results and writes a file, from which it plans.

Knows files and workers' cards; the methods that are fitted know what their parameters mean.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from conductor.baselines.encoder import Encoder
from conductor.baselines.learnt_file import (
    first_fault,
    identity_hash,
    places_offered,
    question_hash,
    read_learnt,
    write_learnt,
)
from conductor.baselines.options import Mode
from conductor.errors import DataError, FormatError
from conductor.values.messages import Value
from conductor.workers.protocol import WorkerCard

P = TypeVar("P", bound=Value)


class WorkerResult(Value):
    """What one worker alone answered to a question: whether that is right, and what the call took. None is
    unknown.
    """

    question: str
    worker: str
    right: bool
    response: str = ""
    tokens: int | None = None
    cost: float | None = None


class GroupResult(Value):
    """What a group of MasRouter's came to that worked together in this mode, drawn among all."""

    question: str
    mode: Mode
    right: bool
    tokens: int | None = None
    cost: float | None = None


class Fitted(Value):
    """Learnt `parameters` of the method `baseline`.

    `workers` are the names of those it chooses from with a hash of their identities, `questions` hashes of
    the questions that it was fitted on, `labels` whether it was shown which answers were right.
    """

    format: Literal["conductor-baseline"] = "conductor-baseline"
    version: Literal[1] = 1
    baseline: str
    encoder: Encoder
    workers: tuple[tuple[str, str], ...]
    questions: tuple[str, ...]
    labels: bool = True
    parameters: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """A hash of all that decides its plans."""
        return sha256(self.model_dump_json(exclude={"questions"}).encode()).hexdigest()[:16]

    def saw(self, question: str) -> bool:
        """Whether it was fitted on this question."""
        return question_hash(question) in self.questions

    def read(self, parameters: type[P]) -> P:
        """The parameters as the method has them. Raises `FormatError`."""
        try:
            return parameters.model_validate(self.parameters)
        except ValidationError as error:
            raise FormatError(
                f"The fitted parameters of {self.baseline} are damaged: {first_fault(error)}."
            ) from error

    def offered(self, cards: Iterable[WorkerCard]) -> tuple[int, ...]:
        """Positions in `workers` of those that are offered. Raises `PlanError` if no worker is offered,
        or if one of that name is not the worker that it was fitted on.
        """
        again = "Fit it again on results of this pool."
        return places_offered(self.workers, cards, learner=self.baseline, again=again)


# -- the rows --------------------------------------------------------------------------------------


class ResultTable:
    """Rows as a table: `questions` in order, `workers` by name, and each figure as its mean over repeats.

    Only questions that every worker answered are in it. Raises `DataError` if no question is left,
    or only one worker.
    """

    def __init__(self, rows: Sequence[WorkerResult]) -> None:
        by_place: dict[tuple[str, str], list[WorkerResult]] = {}
        for row in rows:
            by_place.setdefault((row.question, row.worker), []).append(row)
        self.workers = tuple(dict.fromkeys(row.worker for row in rows))
        if len(self.workers) < 2:
            raise DataError(
                "There is nothing to choose from: the evaluation asked fewer than two workers alone; run it "
                "with --planner 'worker:*'."
            )
        questions = dict.fromkeys(row.question for row in rows)
        self.questions = tuple(
            question for question in questions if all((question, name) in by_place for name in self.workers)
        )
        if not self.questions:
            raise DataError("No question was answered by all of the workers; resume the evaluation first.")
        self._rows = by_place

    @property
    def responses(self) -> tuple[str, ...]:
        """Each worker's first response to each question, question by question."""
        return tuple(
            self._rows[question, name][0].response for question in self.questions for name in self.workers
        )

    def shares_right(self) -> list[list[float]]:
        """For each question each worker's share of right answers."""
        return self._table(lambda rows: sum(row.right for row in rows) / len(rows))

    def costs(self) -> list[list[float]]:
        """For each question each worker's cost as a part of the largest mean cost of a worker: in dollars
        where all of them are known, else in tokens; 0 where neither is known of all.
        """
        figure, largest = self._unit
        return self._table(
            lambda rows: sum(getattr(row, figure) for row in rows) / len(rows) / largest if largest else 0.0
        )

    def cost_of(self, trial: GroupResult) -> float | None:
        """A group's cost in the same unit; None if it is unknown."""
        figure, largest = self._unit
        spent = getattr(trial, figure)
        return None if spent is None else spent / largest if largest else 0.0

    @cached_property
    def _unit(self) -> tuple[str, float]:
        """In which figure cost is counted, and the largest mean of a worker; 0 where no figure is known."""
        for figure in ("cost", "tokens"):
            amounts = [getattr(row, figure) for rows in self._rows.values() for row in rows]
            if all(each is not None for each in amounts) and any(amounts):
                means = self._table(lambda rows, of=figure: sum(getattr(row, of) for row in rows) / len(rows))
                return figure, max(sum(column) for column in zip(*means, strict=True)) / len(means)
        return "tokens", 0.0

    def _table(self, of: Any) -> list[list[float]]:
        return [[of(self._rows[question, name]) for name in self.workers] for question in self.questions]


def workers_of(names: Sequence[str], cards: Mapping[str, WorkerCard]) -> tuple[tuple[str, str], ...]:
    return tuple((name, identity_hash(cards[name])) for name in names)


def hashes_of(questions: Collection[str]) -> tuple[str, ...]:
    return tuple(map(question_hash, questions))


# -- the file --------------------------------------------------------------------------------------


def write_fitted(fitted: Fitted, path: Path) -> None:
    """Write the file, in the place of one that is there. Raises `FormatError` where it cannot be written."""
    write_learnt(fitted, path)


def read_fitted(path: Path, *, baseline: str) -> Fitted:
    """The parameters of `baseline` in this file. Raises `FormatError`, naming the file and what is wrong."""
    fitted = read_learnt(path, Fitted, what="fitted parameters", command="evaluate fit")
    if fitted.baseline != baseline:
        raise FormatError(
            f"{path} was fitted for {fitted.baseline}, not for {baseline}; choose another file."
        )
    return fitted
