"""Each move of a search makes a workflow that a person could have made, and another one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.baselines.search.instructions import Instructions, nouns_in
from conductor.baselines.search.moves import MOVES, VOTING, Making, child
from conductor.errors import WorkflowError
from conductor.workflow.model import Step, Workflow
from tests.support.cases.property_cases import cases

WORKERS = ("alpha", "beta", "gamma")
QUESTIONS = tuple(f"How many letters has the capital of {land}?" for land in ("Peru", "Chile", "Japan"))
INSTRUCTIONS = Instructions(QUESTIONS, {"alpha": "looks up a capital or a river"})
CHAIN = Workflow.of(
    [Step(instruction="Find it.", worker="alpha"), Step(instruction="Count.", worker="beta", access=(0,))]
)


def making(seed: int, *, most: int = 5, workers: tuple[str, ...] = WORKERS) -> Making:
    rng = random.Random(seed)
    return Making(QUESTIONS[0], workers, most, INSTRUCTIONS, (CHAIN,), rng)


@st.composite
def plans(draw: st.DrawFn) -> Workflow:
    return Workflow.of(
        Step(
            instruction=draw(st.sampled_from(["Answer.", "Find it.", "Check."])),
            worker=draw(st.sampled_from(WORKERS)),
            access=tuple(draw(st.sets(st.integers(0, at - 1)))) if at else (),
        )
        for at in range(draw(st.integers(1, 5)))
    )


@cases(300)
@given(plans(), st.integers(0, 10**6), st.integers(1, 6))
def test_a_child_is_another_valid_workflow_of_no_more_steps_than_allowed(
    plan: Workflow, seed: int, most: int
) -> None:
    new = child(plan, making(seed, most=most))
    if new is None:
        return
    workflow, words = new
    assert workflow != plan
    assert len(workflow) <= most
    assert words
    assert all(read < at for at, step in enumerate(workflow.steps) for read in step.access)
    # All of its work reaches the answer.
    assert workflow.ancestors(workflow.final) == set(range(workflow.final))
    assert set(workflow.workers()) <= {*WORKERS, VOTING}
    assert not any("{" in step.instruction for step in workflow.steps)


@cases(100)
@given(plans(), st.integers(0, 10**6))
def test_the_same_seed_makes_the_same_child(plan: Workflow, seed: int) -> None:
    assert child(plan, making(seed)) == child(plan, making(seed))


@pytest.mark.parametrize("name", MOVES)
def test_every_move_fits_some_workflow(name: str) -> None:
    def moved(plan: Workflow, seed: int) -> Workflow | None:
        try:
            return MOVES[name][1](plan, making(seed))
        except WorkflowError:
            return None

    loose = CHAIN.add_step(Step(instruction="Sum it. Check it.", worker="gamma", access=(1,)))
    new = [moved(plan, seed) for plan in (CHAIN, loose) for seed in range(20)]
    assert any(each is not None and each not in (CHAIN, loose) for each in new)


def test_the_halves_of_a_step_are_read_by_its_readers() -> None:
    halved = {MOVES["a step split"][1](CHAIN, making(seed)) for seed in range(20)}
    inner = [each for each in halved if each is not None and len(each) == 3]
    assert inner
    assert all(each.steps[2].access == (0, 1) and each.steps[2].worker == "beta" for each in inner)
    assert all("first" in each.steps[0].instruction for each in inner)
    assert all("second" in each.steps[1].instruction for each in inner)


def test_a_pool_of_one_worker_and_plans_of_one_step_leave_little_to_change() -> None:
    alone = Workflow.of([Step(instruction="Answer.", worker="alpha")])
    for seed in range(50):
        new = child(alone, making(seed, most=1, workers=("alpha",)))
        # A step of another plan may be taken over.
        assert new is None or new[0].workers() in (("alpha",), ("beta",))


def test_nouns_are_those_that_questions_share_or_a_worker_names() -> None:
    assert nouns_in("Which countries have these Capitals, please?") == ["countrie", "capital"]
    nouns = {INSTRUCTIONS.fill("{noun}", QUESTIONS[0], "alpha", random.Random(seed)) for seed in range(200)}
    assert nouns == {"letter", "capital", "river"}
    bare = Instructions(("Peru?",), {})
    assert bare.fill("Find the {noun}.", "Peru?", "alpha", random.Random(0)) == "Find the part."
