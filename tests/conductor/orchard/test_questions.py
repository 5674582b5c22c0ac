"""Questions are drawn by a seed, no split has one of another, and the plan of each solves it."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.run import WorkflowRun
from conductor.orchard import (
    COMBINED,
    FAMILIES,
    INSTRUCTIONS,
    Question,
    Split,
    draw,
    draw_slots,
    orchard_pool,
    question,
    random_plan,
    teacher_plan,
)
from conductor.runs.events import StepFinished
from conductor.text.equality.same_answer import comparable
from conductor.text.final_answer import final_answer
from conductor.workers.orchard.families import wordings
from conductor.workers.orchard.reading import reading
from conductor.workflow.model import Workflow

POOL = orchard_pool()


async def answered(plan: Workflow, task: Question) -> str:
    run = WorkflowRun(BoundWorkflow.of(plan, query=task.text, pool=POOL), POOL, run="r")
    texts = {event.step: event.output.text async for event in run.events() if isinstance(event, StepFinished)}
    return final_answer(texts[plan.final])


async def unsolved(questions: Iterable[Question]) -> list[tuple[str, str]]:
    """The questions that their own plan does not solve, with what it answers."""
    failures = []
    for task in questions:
        answer = await answered(task.oracle, task)
        if comparable(answer) != comparable(task.answer):
            failures.append((task.text, answer))
    return failures


async def test_the_oracle_solves_every_family() -> None:
    assert await unsolved(draw(len(FAMILIES), seed=3, split="wordings")) == []


@pytest.mark.thorough
@pytest.mark.slow
async def test_the_oracle_solves_every_family_in_every_wording() -> None:
    rng = random.Random(5)
    questions = [
        question(wording, family, draw_slots(rng, family))
        for family, forms in wordings().items()
        for wording in forms
        for _ in range(6)
    ]
    assert await unsolved(questions) == []


def test_each_family_has_at_least_twenty_wordings_of_its_own() -> None:
    every = [wording for forms in wordings().values() for wording in forms]
    assert len(set(every)) == len(every)
    assert all(len(set(forms)) >= 20 for forms in wordings().values())


def test_a_question_is_read_back_from_its_text() -> None:
    for task in draw(54, seed=2):
        solution = reading(task.text)
        assert solution is not None
        assert (solution.family, solution.answer) == (task.family, task.answer)


def test_a_text_of_another_world_is_no_question_of_the_orchard() -> None:
    for text in ("What is 2 + 2?", "What is the capital of Atlantis?", "What is the river of France?", ""):
        assert reading(text) is None


def test_a_draw_is_the_same_for_the_same_seed_and_has_each_family_equally_often() -> None:
    assert draw(18, seed=1) == draw(18, seed=1) != draw(18, seed=2)
    assert [task.family for task in draw(18, seed=1)] == [*FAMILIES, *FAMILIES]
    assert all(len(task.oracle) == task.steps for task in draw(18, seed=1))


@pytest.mark.parametrize("split", ["validation", "test", "wordings", "combinations"])
def test_what_is_held_out_is_in_no_training_draw(split: Split) -> None:
    trained = draw(270, seed=1)
    held = draw(45, seed=1, split=split)
    assert not {task.text for task in held} & {task.text for task in trained}
    if split == "combinations":
        assert {task.family for task in held} == set(COMBINED)
        pairs = {(dict(task.slots).get("country"), task.family) for task in trained}
        assert (
            not {(dict(task.slots)["country"], task.family) for task in held if task.family != "hop"} & pairs
        )


def test_a_teacher_writes_valid_plans_of_known_instructions_and_hands_over_as_often_as_it_is_shy() -> None:
    rng = random.Random(1)
    questions = draw(90, seed=1)
    for shy, least, most in ((0.0, 0, 0), (0.5, 30, 60), (1.0, 90, 90)):
        plans = [teacher_plan(each.oracle, rng, shy) for each in questions]
        steps = [step for plan in plans for step in plan.steps]
        assert {step.instruction for step in steps} <= set(INSTRUCTIONS)
        assert {step.worker for step in steps} <= set(POOL.names)
        assert least <= sum(plan.steps[0].instruction == "Answer the question." for plan in plans) <= most


@pytest.mark.parametrize("seed", range(3))
def test_no_question_to_choose_by_is_one_to_measure_with(seed: int) -> None:
    chosen = {task.text for task in draw(270, seed=seed, split="validation")}
    assert not chosen & {task.text for task in draw(270, seed=seed, split="test")}


def test_random_plans_are_of_one_to_three_steps_with_any_worker_instruction_and_access() -> None:
    rng = random.Random(4)
    plans = [random_plan(rng, ("facts", "text")) for _ in range(300)]
    assert {len(plan) for plan in plans} == {1, 2, 3}
    assert {step.worker for plan in plans for step in plan.steps} == {"facts", "text"}
    assert {step.instruction for plan in plans for step in plan.steps} == set(INSTRUCTIONS)
    assert {plan.steps[2].access for plan in plans if len(plan) == 3} == {(), (0,), (1,), (0, 1)}
