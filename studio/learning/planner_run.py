"""Learnings of planners as their folders hold them: what they were begun with, how far they are, what came of
them.

Reads files and the store; starts nothing. Learning itself is `studio.evaluation.planner_learning`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from conductor.baselines.planner_file.planner_file import Learner, PlannerFile, PlanUse, read_planner
from conductor.errors import ConductorError, DataError
from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.items import DataSet
from conductor.evaluation.spec import CONDUCTOR
from conductor.learning.demonstration.exam import QUESTIONS, ExamPlan, PlanPair, PlanPairs
from conductor.values.budget import NO_BUDGET, Budget
from conductor.values.messages import Value
from storage import SessionStore
from storage.records import EvaluationRecord
from studio.evaluation.planner_learning.learning_folder import (
    PLANNER,
    STATE,
    LearningState,
    is_held,
    read_state,
)
from studio.evaluation.results import scored_cells

SETTINGS = "planner-settings.json"

State = Literal["running", "interrupted", "done"]

_NO_FILE_NAME = re.compile(r"[^\w .-]")


class PlannerSettings(Value):
    """With what `learn mine` is begun. `data` is the name of a shipped set, or of the file of questions in
    the folder; `pool` a pool file or built-in set, None for the one that is used without either.
    """

    data: str
    pool: str | None = None
    method: Learner = "examples"
    reflector: str | None = None
    use: PlanUse
    draws: int = Field(ge=0)
    plans: int = Field(ge=0)
    limit: int | None = None
    seed: int = 0
    judge: str | None = None
    allow_code: bool = False
    budget: Budget = NO_BUDGET

    def command(self, path: Path) -> list[str]:
        """What follows `conductor learn` to learn in this folder."""
        file = path / self.data
        options = {
            "--name": path.name, "--out": path, "--pool": self.pool, "--method": self.method,
            "--reflector": self.reflector, "--use": self.use, "--draws": self.draws,
            "--plans": self.plans, "--limit": self.limit, "--seed": self.seed, "--judge": self.judge,
            "--budget-tokens": self.budget.tokens, "--budget-cost": self.budget.cost,
        }  # fmt: skip
        texts = [f"{name}={value}" for name, value in options.items() if value is not None]
        flags = ["--allow-code"] if self.allow_code else []
        return ["mine", *texts, *flags, "--", str(file) if file.is_file() else self.data]


@dataclass(frozen=True)
class PlannerRun:
    """`settings` and `learning` are None before they are written; a learning that a command began has no
    `settings`. `planner` is what came of it so far. `is_learning`: a process learns in the folder, or was
    started to.
    """

    path: Path
    settings: PlannerSettings | None
    learning: LearningState | None
    planner: PlannerFile | None
    is_learning: bool

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def state(self) -> State:
        """It is done once its planner was examined, or cannot be any more within its budget."""
        if self.is_learning:
            return "running"
        card = None if self.planner is None else self.planner.card
        return "interrupted" if card is None or not (card.exam or card.stopped) else "done"

    @property
    def evaluation(self) -> str | None:
        """The evaluation that goes on, or was the last one."""
        return None if self.learning is None else self.learning.exam or self.learning.fit


def read_planner_run(path: Path, *, is_starting: bool = False) -> PlannerRun:
    """The learning in a folder. Raises `DataError` or `FormatError` without one that can be read."""
    own, state, file = path / SETTINGS, path / STATE, path / PLANNER
    try:
        if not (own.exists() or state.exists()):
            raise DataError(f"There is no learning of a planner in {path}.")
        settings = PlannerSettings.model_validate_json(own.read_bytes()) if own.exists() else None
    except (OSError, ValueError) as error:
        raise DataError(f"The learning in {path} cannot be read; learn again under another name.") from error
    planner = read_planner(file) if file.exists() else None
    return PlannerRun(path, settings, read_state(path), planner, is_starting or is_held(path))


def planner_runs_below(
    folder: Path, is_starting: Callable[[Path], bool]
) -> tuple[list[PlannerRun], list[str]]:
    """The learnings in the folders below, the newest first, and the names of those that cannot be read."""
    runs, broken = [], []
    there = {file.parent for name in (SETTINGS, STATE) for file in folder.glob(f"*/{name}")}
    for path in sorted(there, key=lambda path: path.stat().st_ctime, reverse=True):
        try:
            runs.append(read_planner_run(path, is_starting=is_starting(path)))
        except ConductorError:
            broken.append(path.name)
    return runs, broken


def write_questions(data: DataSet, path: Path) -> str:
    """Write the questions into the folder; the file's name there. Raises `OSError`."""
    name = f"{_NO_FILE_NAME.sub('_', data.name)[:80].strip() or 'questions'}.jsonl"
    lines = (item.model_dump_json(exclude_none=True) for item in data.items)
    (path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return name


def exam_pairs(store: SessionStore, exam: EvaluationRecord) -> PlanPairs | None:
    """Ten examined questions with the Conductor's plan and this planner's, those first that only one of them
    got right; None if the Conductor was not examined.
    """
    own = exam.spec.planners[0]
    by_item: dict[int, dict[str, Cell]] = {}
    for cell in scored_cells(store, exam.id):
        if cell.planner in (own, CONDUCTOR):
            by_item.setdefault(cell.item, {})[cell.planner] = cell
    both = [(at, cells) for at, cells in by_item.items() if len(cells) == 2]
    both.sort(key=lambda each: (_change(each[1], own), each[0]))
    items = store.evaluations.items(exam.id)
    pairs = tuple(
        PlanPair(
            question=items[at].question,
            answer=", ".join(items[at].target),
            before=_plan(store, cells[CONDUCTOR]),
            after=_plan(store, cells[own]),
        )
        for at, cells in both[:QUESTIONS]
    )
    return PlanPairs(pairs=pairs) if pairs else None


def _change(cells: Mapping[str, Cell], own: str) -> int:
    before, after = (cells[name].result.score.right for name in (CONDUCTOR, own))
    return before - after


def _plan(store: SessionStore, cell: Cell) -> ExamPlan:
    plan = store.plans.latest(cell.session)
    workflow = None if plan is None or plan.report is None else plan.report.workflow
    score = cell.result.score
    return ExamPlan(workflow=workflow, answer=score.answer or "", right=score.right)
