"""Folders of planners as `learn mine` writes them, without learning: two plans for the orchard's workers."""

from __future__ import annotations

from pathlib import Path

from conductor.baselines.encoder import Encoder
from conductor.baselines.learnt_file import identity_hash
from conductor.baselines.planner_file.planner_file import (
    ExamRow,
    PlannerCard,
    PlannerFile,
    TriedPlan,
    TriedQuestion,
    write_planner,
)
from conductor.workers.orchard.skills import orchard_workers
from conductor.workflow.model import Step, Workflow
from studio.evaluation.planner_learning.learning_folder import PLANNER, LearningFolder, LearningSettings
from studio.learning.planner_run import SETTINGS, PlannerSettings

ROWS = (
    ExamRow(planner="planner:mine", right=9, answers=10, tokens=100.0),
    ExamRow(
        planner="conductor", right=4, answers=10, tokens=300.0, difference=-0.5, between=(-0.7, -0.2), p=0.012
    ),
    ExamRow(planner="baseline:vote", right=6, answers=10, tokens=500.0, difference=-0.3, between=(-0.5, 0.1)),
    ExamRow(planner="perfect router", right=10, answers=10, difference=0.1, between=(-0.1, 0.3)),
)  # fmt: skip


def learnt_planner(
    name: str = "mine", *, exam: tuple[ExamRow, ...] = ROWS, stopped: str | None = None
) -> PlannerFile:
    """A planner that learnt from two questions of the orchard."""
    hashes = {each.card.name: identity_hash(each.card) for each in orchard_workers()}
    plans = tuple(
        TriedPlan(
            workflow=Workflow.of([Step(instruction="Answer the question.", worker=worker)]),
            origin=f"worker:{worker}",
            tokens=20.0,
        )
        for worker in ("facts", "solver")
    )
    questions = ("Tell me the currency of Peru.", "What is 12 plus 30?")
    return PlannerFile(
        name=name,
        use="nearest",
        conductor="rules",
        encoder=Encoder.of(questions),
        workers=tuple((worker, hashes[worker]) for worker in ("facts", "solver")),
        plans=plans,
        questions=tuple(
            TriedQuestion(question=question, right=(at,), wrong=(1 - at,))
            for at, question in enumerate(questions)
        ),
        card=PlannerCard(
            data="demo", digest="d", seed=0, planners=("conductor",), fit=2, held_out=10, calls=7,
            tokens=8_000, exam=exam, stopped=stopped,
        ),
    )  # fmt: skip


def begun_planner(path: Path, **changes: object) -> LearningFolder:
    """The folder of a learning whose evaluations are not begun yet."""
    how = LearningSettings(data="demo", digest="d", use="nearest", planners=("conductor",))
    folder = LearningFolder(path, how)
    folder.note(**changes)
    settings = PlannerSettings(data="demo", use="nearest", draws=8, plans=24)
    (path / SETTINGS).write_text(settings.model_dump_json(), encoding="utf-8")
    return folder


def done_planner(path: Path, **changes: object) -> LearningFolder:
    """The folder of a learning that is done; the store has nothing of it."""
    folder = begun_planner(path)
    write_planner(learnt_planner(path.name).model_copy(update=changes), path / PLANNER)
    return folder
