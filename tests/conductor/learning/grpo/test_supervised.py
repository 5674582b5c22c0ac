"""The lessons of a supervised start: questions of a planner's file with the plan that was right."""

from __future__ import annotations

import pytest

from conductor.baselines.planner_file.planner_file import TriedPlan, TriedQuestion
from conductor.evaluation.items import Item
from conductor.learning.grpo.draws import Draw, prompt_of
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.supervised import plan_lessons, training_steps
from conductor.planner.parsing.parse import parse
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from tests.support.cases.planner_cases import WORKERS, planner_of, single

CARDS = tuple(SimulatedWorker(name).card for name in WORKERS)
RECIPE = GrpoRecipe()


def plan_of(*steps: Step) -> TriedPlan:
    return TriedPlan(workflow=Workflow.of(steps), origin="conductor", tokens=10)


def step_of(name: str, *access: int) -> Step:
    return Step(instruction="Do it.", worker=name, access=access)


FILE = planner_of(
    plans=[
        single("alpha"),
        TriedPlan(workflow=None, origin="conductor"),
        plan_of(step_of("alpha"), step_of("beta", 0)),
        plan_of(step_of("alpha"), step_of("alpha"), step_of("beta", 0)),
        plan_of(*(step_of("beta") for _ in range(RECIPE.max_steps + 1))),
        single("gamma"),
    ],
    questions=[
        TriedQuestion(question="One step?", right=(0,), wrong=(3,)),
        TriedQuestion(question="Two steps?", right=(2, 1), wrong=(0,)),
        TriedQuestion(question="None right?", wrong=(0, 2)),
        TriedQuestion(question="The Conductor's alone?", right=(1,)),
        TriedQuestion(question="A part of what is before?", right=(3,)),
        TriedQuestion(question="Too long?", right=(4,)),
        TriedQuestion(question="Another worker?", right=(5,)),
        TriedQuestion(question="By hand?", right=(0, 2), by_hand=2),
    ],
)


def test_each_question_with_a_right_plan_that_can_be_written_is_a_lesson() -> None:
    lessons = plan_lessons(FILE, CARDS, RECIPE)
    assert [lesson.request.query for lesson in lessons] == ["One step?", "Two steps?", "By hand?"]
    read = [
        parse(lesson.plan, workers=WORKERS, dialect=RECIPE.dialect, max_steps=RECIPE.max_steps).workflow
        for lesson in lessons
    ]
    assert read == [FILE.plans[at].workflow for at in (0, 2, 2)]


@pytest.mark.parametrize("style", ["research", "ours"])
def test_the_prompt_is_that_of_learn_grpo(style: str) -> None:
    recipe = GrpoRecipe.model_validate(RECIPE.model_dump() | {"prompt_style": style})
    lesson = plan_lessons(FILE, CARDS, recipe)[0]
    draw = Draw(Item(id="1", input="One step?", target=("x",)), CARDS)
    assert prompt_of(lesson.request, recipe) == prompt_of(draw.request(recipe), recipe)


def test_other_dialects_write_what_binary_cannot() -> None:
    lessons = plan_lessons(FILE, CARDS, GrpoRecipe(dialect="any"))
    assert "A part of what is before?" in [lesson.request.query for lesson in lessons]


@pytest.mark.parametrize(("lessons", "epochs", "steps"), [(1, 1, 1), (8, 1, 1), (9, 1, 2), (20, 3, 8)])
def test_steps_hold_all_epochs(lessons: int, epochs: int, steps: int) -> None:
    assert training_steps(lessons, epochs) == steps
