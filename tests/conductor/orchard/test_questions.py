"""Questions are drawn by a seed, no split has one of another, and the plan of each solves it."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.run import WorkflowRun
from conductor.orchard import FAMILIES, INSTRUCTIONS, Question, Split, draw, orchard_pool, teacher_plan
from conductor.orchard.questions import COMBINED, draw_slots, question
from conductor.runs.events import StepFinished
from conductor.text.final_answer import comparable, final_answer
from conductor.workers.orchard.families import reading, wordings
from conductor.workflow.model import Workflow

POOL = orchard_pool()


async def answered(plan: Workflow, asked: Question) -> str:
    run = WorkflowRun(BoundWorkflow.of(plan, query=asked.text, pool=POOL), POOL, run="r")
    texts = {event.step: event.output.text async for event in run.events() if isinstance(event, StepFinished)}
    return final_answer(texts[plan.final])


async def unsolved(questions: Iterable[Question]) -> list[tuple[str, str]]:
    """The questions that their own plan does not solve, with what it answers."""
    found = []
    for asked in questions:
        answer = await answered(asked.oracle, asked)
        if comparable(answer) != comparable(asked.answer):
            found.append((asked.text, answer))
    return found


async def test_the_oracle_solves_every_family() -> None:
    assert await unsolved(draw(len(FAMILIES), seed=3, split="wordings")) == []


@pytest.mark.slow
async def test_the_oracle_solves_every_family_in_every_wording() -> None:
    rng = random.Random(5)
    asked = [
        question(wording, family, draw_slots(rng, family))
        for family, forms in wordings().items()
        for wording in forms
        for _ in range(6)
    ]
    assert await unsolved(asked) == []


def test_each_family_has_at_least_twenty_wordings_of_its_own() -> None:
    every = [wording for forms in wordings().values() for wording in forms]
    assert len(set(every)) == len(every)
    assert all(len(set(forms)) >= 20 for forms in wordings().values())


def test_a_question_is_read_back_from_its_text() -> None:
    for asked in draw(54, seed=2):
        found = reading(asked.text)
        assert found is not None
        assert (found.family, found.answer) == (asked.family, asked.answer)


def test_a_text_of_another_world_is_no_question_of_the_orchard() -> None:
    for text in ("What is 2 + 2?", "What is the capital of Atlantis?", "What is the river of France?", ""):
        assert reading(text) is None


def test_a_draw_is_the_same_for_the_same_seed_and_has_each_family_equally_often() -> None:
    assert draw(18, seed=1) == draw(18, seed=1) != draw(18, seed=2)
    assert [asked.family for asked in draw(18, seed=1)] == [*FAMILIES, *FAMILIES]
    assert all(len(asked.oracle) == asked.steps for asked in draw(18, seed=1))


@pytest.mark.parametrize("split", ["test", "wordings", "combinations"])
def test_what_is_held_out_is_in_no_training_draw(split: Split) -> None:
    trained = draw(270, seed=1)
    held = draw(45, seed=1, split=split)
    assert not {asked.text for asked in held} & {asked.text for asked in trained}
    if split == "combinations":
        assert {asked.family for asked in held} == set(COMBINED)
        pairs = {(dict(asked.slots).get("country"), asked.family) for asked in trained}
        assert (
            not {(dict(asked.slots)["country"], asked.family) for asked in held if asked.family != "hop"}
            & pairs
        )


def test_a_teacher_writes_valid_plans_of_known_instructions_and_hands_over_as_often_as_it_is_shy() -> None:
    rng = random.Random(1)
    asked = draw(90, seed=1)
    for shy, least, most in ((0.0, 0, 0), (0.5, 30, 60), (1.0, 90, 90)):
        plans = [teacher_plan(each.oracle, rng, shy) for each in asked]
        steps = [step for plan in plans for step in plan.steps]
        assert {step.instruction for step in steps} <= set(INSTRUCTIONS)
        assert {step.worker for step in steps} <= set(POOL.names)
        assert least <= sum(plan.steps[0].instruction == "Answer the question." for plan in plans) <= most


def test_a_teacher_uses_no_worker_but_those_that_it_is_given() -> None:
    rng = random.Random(2)
    plans = [teacher_plan(each.oracle, rng, 0.5, workers=("letters", "text")) for each in draw(45, seed=1)]
    assert {step.worker for plan in plans for step in plan.steps} == {"letters", "text"}
