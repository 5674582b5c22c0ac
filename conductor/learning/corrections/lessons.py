"""Corrections as lessons for a small Conductor: a prompt, the better plan, and the one that it replaces; how
they are learnt, and what came of it.

Reads the rows of `export corrections` with their metadata. Pure but for `read_rows`; knows neither torch nor
where corrections are stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from conductor.errors import DataError
from conductor.files.named_file import STDIN, open_seekable
from conductor.planner.corrections import LeftOut, Row
from conductor.planner.local.local_prompt import prompt_text
from conductor.planner.parsing.parse import parse
from conductor.text.bounded_value import json_value
from conductor.values.messages import Value
from conductor.workflow.model import MAX_WRITTEN_STEPS, Workflow


class Lesson(Value):
    """What to plan for a query and the names of a pool, and what not, where that is known."""

    query: str
    workers: tuple[str, ...]
    chosen: Workflow
    rejected: Workflow | None = None

    @property
    def prompt(self) -> str:
        """The prompt of a small Conductor, whatever the one that was corrected had been sent."""
        return prompt_text(self.query, self.workers)


class CorrectionSettings(Value):
    """The defaults are what held with 20 corrections. `epochs` by likelihood, then `dpo_epochs` by
    preference; where the share of valid plans falls by more than `drop`, the last epoch before counts.
    """

    seed: int = 0
    epochs: int = Field(default=10, ge=1)
    batch: int = Field(default=5, ge=1)
    lr: float = Field(default=1e-3, gt=0)
    prompt_weight: float = Field(default=0.1, ge=0)
    dpo_epochs: int = Field(default=0, ge=0)
    dpo_lr: float = Field(default=1e-4, gt=0)
    beta: float = Field(default=0.1, gt=0)
    drop: float = Field(default=0.05, ge=0)


class Learnt(Value):
    """What came of it. `valid` are shares of plans, `same` of the lessons that are planned as they were
    corrected; each before and after. `epochs` are those that count, `stopped` whether more were meant.
    """

    lessons: int
    epochs: int
    dpo_epochs: int
    stopped: bool
    valid: tuple[float, float]
    same: tuple[float, float]
    seconds: float


def lessons_of(rows: Iterable[Row | LeftOut], names: Collection[str]) -> tuple[list[Lesson], Counter[str]]:
    """The lessons in rows for a model that knows these workers, and why how many rows teach it nothing."""
    lessons = [row if isinstance(row, LeftOut) else lesson_of(row, names) for row in rows]
    left_out = Counter(each.reason for each in lessons if isinstance(each, LeftOut))
    return [each for each in lessons if not isinstance(each, LeftOut)], left_out


def read_rows(file: Path | str) -> Iterator[Row]:
    """The rows of an export, or of stdin where it is `STDIN`. Raises `DataError` naming the line, and
    `FormatError` where the file cannot be read.
    """
    called = "stdin" if str(file) == STDIN else file
    with open_seekable(file) as content:
        try:
            lines = content.read().decode().splitlines()
        except UnicodeDecodeError as error:
            raise DataError(f"{called} cannot be read: it is not text in UTF-8.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json_value(line)
        except ValueError as error:
            raise DataError(f"{called}, line {number}, is not JSON; export the corrections again.") from error
        if not isinstance(row, dict):
            raise DataError(f"{called}, line {number}, is no row; export the corrections again.")
        yield row


def lesson_of(row: Row, names: Collection[str]) -> Lesson | LeftOut:
    """A row of an export as a lesson for a model that knows these workers."""
    try:
        about = row["metadata"]
        query, pool = about["query"], about["pool"]["workers"]
        reading = {"dialect": about["dialect"], "form": about["form"], "round": about["round"]}
        texts = [_text(row[key]) for key in ("chosen", "completion") if key in row][:1]
        texts += [_text(row["rejected"])] if "rejected" in row else []
    except (KeyError, IndexError, TypeError):
        return LeftOut(reason="its row has no metadata or no plan; export it without --bare")
    if reading["round"] != 1:
        return LeftOut(reason="it is of a later round, and a small Conductor plans the first")
    if row.get("label") is False:
        return LeftOut(reason="a person judged it bad, and nothing better is known")
    plans = [parse(text, workers=pool, max_steps=MAX_WRITTEN_STEPS, **reading).workflow for text in texts]
    if not plans or plans[0] is None:
        return LeftOut(reason="its plan cannot be read")
    strange = {step.worker for step in plans[0].steps}.difference(names)
    if strange:
        return LeftOut(reason=f"the model does not know {', '.join(sorted(strange))}")
    rejected = plans[1] if len(plans) > 1 else None
    if rejected is not None and not {step.worker for step in rejected.steps} <= set(names):
        rejected = None
    workers = tuple(name for name in names if name in pool)
    return Lesson(query=query, workers=workers, chosen=plans[0], rejected=rejected)


def _text(messages: Any) -> str:
    content = messages[0]["content"]
    if not isinstance(content, str):
        raise TypeError
    return content
