"""Plans for the orchard's questions: those of a perfect planner, and those of a poor one to learn from.

All instructions are from a closed set: a worker sees the question itself, so that none needs to repeat a part
of it. Knows families; runs nothing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from conductor.workers.orchard.families import COUNTRY_PROPERTIES, Family
from conductor.workers.orchard.skills import SKILLS
from conductor.workflow.model import Step, Workflow

ANSWER = "Answer the question."
COUNT_WORD = "Count the letters of the word."
COUNT_ANSWER = "Count the letters of the answer."
COMPUTE = "Compute it."
CONTINUE = "Do the sum of the question with the previous result."
CHECK = "Check the result."
COUNTRY = "Find the country."
ORDINALS = ("first", "second")

FIND: Mapping[str, str] = {name: f"Find the {name}." for name in COUNTRY_PROPERTIES}
FIND_OF_THAT: Mapping[str, str] = {
    name: f"Find the {name} of that country." for name in COUNTRY_PROPERTIES if name != "capital"
}
CAPITAL_OF = {ordinal: f"Find the capital of the {ordinal} country." for ordinal in ORDINALS}

INSTRUCTIONS: tuple[str, ...] = (
    ANSWER, COUNT_WORD, COUNT_ANSWER, COMPUTE, CONTINUE, CHECK, COUNTRY,
    *FIND.values(), *FIND_OF_THAT.values(), *CAPITAL_OF.values(),
)  # fmt: skip
"""Every instruction that a plan of this module has."""


def oracle(family: Family, slots: Mapping[str, str]) -> Workflow:
    """The shortest plan that solves a question of the family."""
    match family:
        case "fact":
            return Workflow.of([_step(FIND[slots["property"]], "facts")])
        case "word":
            return Workflow.of([_step(COUNT_WORD, "letters")])
        case "sum":
            return Workflow.of([_step(COMPUTE, "solver")])
        case "long-sum":
            return Workflow.of([_step(COMPUTE, "solver"), _step(CHECK, "checker", 0)])
        case "capital-letters":
            return Workflow.of([_step(FIND["capital"], "facts"), _step(COUNT_ANSWER, "letters", 0)])
        case "letters-sum":
            return Workflow.of([_step(COUNT_WORD, "letters"), _step(CONTINUE, "solver", 0)])
        case "hop":
            of_that = FIND_OF_THAT[slots["property"]]
            return Workflow.of([_step(COUNTRY, "facts"), _step(of_that, "facts", 0)])
        case "capital-letters-sum":
            steps = [_step(FIND["capital"], "facts"), _step(COUNT_ANSWER, "letters", 0)]
            return Workflow.of([*steps, _step(CONTINUE, "solver", 1)])
        case "two-capitals":
            steps = [_step(CAPITAL_OF[ordinal], "facts") for ordinal in ORDINALS]
            return Workflow.of([*steps, _step(COUNT_ANSWER, "letters", 0, 1)])


def _step(instruction: str, worker: str, *access: int) -> Step:
    return Step(instruction=instruction, worker=worker, access=access)


def teacher_plan(
    perfect: Workflow,
    rng: random.Random,
    shy: float,
    *,
    workers: Sequence[str] = tuple(SKILLS),
    right_worker: float = 0.8,
) -> Workflow:
    """A valid plan by a poor planner for these `workers`, to a question whose oracle is `perfect`.

    With the probability `shy` it hands the whole question to one worker, half of the time to the generalist.
    Else it takes the question apart, but a step has its right worker only with the probability `right_worker`
    (else any one), in 7 of 100 steps the access list is a wrong one, in 8 of 100 plans the last step is
    missing, and in 8 there is a superfluous check.
    """
    if rng.random() < shy:
        general = "generalist" in workers and rng.random() < 0.5
        return Workflow.of([_step(ANSWER, "generalist" if general else rng.choice(workers))])
    steps = list(perfect.steps)
    roll = rng.random()
    if roll < 0.08 and len(steps) > 1:
        steps = steps[:-1]
    elif roll < 0.16:
        steps.append(_step(CHECK, "checker", len(steps) - 1))
    changed = []
    for at, step in enumerate(steps):
        right = step.worker in workers and rng.random() < right_worker
        worker = step.worker if right else rng.choice(workers)
        access = step.access if rng.random() < 0.93 else rng.choice([(), tuple(range(at))])
        changed.append(_step(step.instruction, worker, *access))
    return Workflow.of(changed)


MOST_RANDOM_STEPS = 3
"""No question of the orchard needs more."""


def random_plan(rng: random.Random, workers: Sequence[str]) -> Workflow:
    """A valid plan at random: one to three steps, any instruction, any of the `workers`, any access list."""
    return Workflow.of(
        [
            _step(
                rng.choice(INSTRUCTIONS),
                rng.choice(workers),
                *(step for step in range(at) if rng.random() < 0.5),
            )
            for at in range(rng.randint(1, MOST_RANDOM_STEPS))
        ]
    )
