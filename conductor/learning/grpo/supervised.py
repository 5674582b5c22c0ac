"""A supervised start for a large Conductor: the questions of a planner's file with their best right plans.

Pure: prompts and plans are those that `learn grpo` samples and reads. Knows no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from conductor.baselines.planner_file.plan_choice import best_right
from conductor.baselines.planner_file.planner_file import PlannerFile
from conductor.errors import WorkflowError
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.planner.conductor import PlanRequest
from conductor.planner.corrections import as_plan
from conductor.planner.format import format_plan
from conductor.workers.protocol import WorkerCard

BATCH = 8
"""Plans a step."""


@dataclass(frozen=True)
class PlanLesson:
    """What the Conductor is sent, and the text that it is to write."""

    request: PlanRequest
    plan: str


def plan_lessons(
    file: PlannerFile, cards: Sequence[WorkerCard], recipe: GrpoRecipe
) -> tuple[PlanLesson, ...]:
    """A lesson for each question with a right plan that these workers can do and the recipe's dialect can
    write.
    """
    names = [card.name for card in cards]
    texts = {at: text for at in range(len(file.plans)) if (text := _text(file, at, names, recipe))}
    chosen = [best_right(file, at, texts) for at in range(len(file.questions))]
    return tuple(
        PlanLesson(
            PlanRequest(query=question.question, workers=tuple(cards), max_steps=recipe.max_steps),
            texts[plan],
        )
        for question, plan in zip(file.questions, chosen, strict=True)
        if plan is not None
    )


def _text(file: PlannerFile, at: int, names: Sequence[str], recipe: GrpoRecipe) -> str | None:
    workflow = file.plans[at].workflow
    if workflow is None or len(workflow) > recipe.max_steps:
        return None
    try:
        return format_plan(as_plan(workflow, first_round=True), names, dialect=recipe.dialect)
    except WorkflowError:
        return None


def training_steps(lessons: int, epochs: int) -> int:
    """The steps of so many epochs."""
    return ceil(lessons * epochs / BATCH)
