"""The orchard: a small world in which orchestration can be measured.

Its workers really compute over what they are sent, most of its questions need two or three of them in the
right order, and every right answer is known. `draw` gives questions, each with the plan of a perfect planner;
`teacher_plan` writes the plans of a poor one, `random_plan` valid ones without knowledge. Knows workers and
workflows; knows no planner and no engine.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from conductor.workers.orchard.families import (
    COUNTRY_PROPERTIES,
    FAMILIES,
    STEPS,
    WORDS,
    Family,
    chance,
    grown_countries,
    right_answer,
    wordings,
)
from conductor.workers.orchard.skills import SKILLS, orchard_workers
from conductor.workers.pool.pool import orchard_pool
from conductor.workflow.model import Step, Workflow

__all__ = [
    "FAMILIES",
    "INSTRUCTIONS",
    "Family",
    "Question",
    "Split",
    "draw",
    "orchard_pool",
    "orchard_workers",
    "random_plan",
    "teacher_plan",
]

# -- plans -----------------------------------------------------------------------------------------
#
# All instructions are from a closed set: a worker sees the question itself, so that none needs to repeat a
# part of it.

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


def teacher_plan(perfect: Workflow, rng: random.Random, shy: float) -> Workflow:
    """A valid plan by a poor planner, to a question whose oracle is `perfect`.

    With the probability `shy` it hands the whole question to one worker, half of the time to the generalist.
    Else it takes the question apart, but 20 of 100 steps have any worker, in 7 of 100 the access list is a
    wrong one, in 8 of 100 plans the last step is missing, and in 8 there is a superfluous check.
    """
    workers = tuple(SKILLS)
    if rng.random() < shy:
        return Workflow.of([_step(ANSWER, "generalist" if rng.random() < 0.5 else rng.choice(workers))])
    steps = list(perfect.steps)
    roll = rng.random()
    if roll < 0.08 and len(steps) > 1:
        steps = steps[:-1]
    elif roll < 0.16:
        steps.append(_step(CHECK, "checker", len(steps) - 1))
    changed = []
    for at, step in enumerate(steps):
        worker = step.worker if rng.random() < 0.8 else rng.choice(workers)
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


# -- questions -------------------------------------------------------------------------------------

Split = Literal["train", "validation", "test", "wordings", "combinations"]
"""What a draw takes: questions to train on; others, asked in the same ways, to choose by; yet others to
measure with; questions in wordings that are held out of all three; questions on countries that none of them
has in that family."""

HELD_OUT = 0.2
"""The share of wordings, of combinations of country and family, and of other questions that is held out: half
of the last for validation, half for the test."""

COMBINED: tuple[Family, ...] = ("fact", "capital-letters", "hop", "capital-letters-sum", "two-capitals")
"""The families with a country, whose combinations can be held out."""


@dataclass(frozen=True)
class Question:
    """A question with its right answer. `steps` is how many it needs; `slots` are what its wording is filled
    with, by name.
    """

    text: str
    answer: str
    family: Family
    steps: int
    slots: tuple[tuple[str, str], ...]

    @property
    def oracle(self) -> Workflow:
        """The plan of a perfect planner: right on every question, with as many steps as it needs."""
        return oracle(self.family, dict(self.slots))


def draw(count: int, *, seed: int, split: Split = "train") -> tuple[Question, ...]:
    """`count` questions, of each family equally many; the same for the same seed and split.

    `combinations` has only families with a country. A draw may contain a question twice, as a family of few
    questions may not have so many; no two splits have one in common.
    """
    rng = random.Random(f"{seed}/{split}")  # noqa: S311 - questions that can be drawn again, not a secret
    families = COMBINED if split == "combinations" else FAMILIES
    return tuple(_draw(rng, families[at % len(families)], split) for at in range(count))


def _draw(rng: random.Random, family: Family, split: Split) -> Question:
    used = wordings()[family]
    cut = len(used) - round(len(used) * HELD_OUT)
    while True:
        # Drawn each time: what fills one wording of a family of few questions may have none in a split.
        wording = rng.choice(used[cut:] if split == "wordings" else used[:cut])
        slots = draw_slots(rng, family)
        held = "country" in slots and chance("combination", slots["country"], family) < HELD_OUT
        candidate = question(wording, family, slots)
        if held == (split == "combinations") and split in ("wordings", "combinations", _part(candidate.text)):
            return candidate


def _part(text: str) -> Split:
    """The split of a question whose wording and combination are not held out."""
    place = chance("test", text)
    if place >= HELD_OUT:
        return "train"
    return "validation" if place < HELD_OUT / 2 else "test"


def question(wording: str, family: Family, slots: Mapping[str, str]) -> Question:
    """The question that a wording of a family asks, filled with these slots."""
    used = tuple((name, value) for name, value in slots.items() if f"{{{name}}}" in wording)
    return Question(wording.format(**slots), right_answer(family, slots), family, STEPS[family], used)


def draw_slots(rng: random.Random, family: Family) -> Mapping[str, str]:
    """What the wordings of a family may be filled with, drawn."""
    country, other = rng.sample(grown_countries(), 2)
    match family:
        case "word":
            return {"word": rng.choice(WORDS)}
        case "sum":
            return _numbers(rng, "abc")
        case "long-sum":
            return _numbers(rng, "abcde")
        case "letters-sum":
            return {"word": rng.choice(WORDS), **_numbers(rng, "bc")}
        case "fact":
            return {"country": country.name, "property": rng.choice(COUNTRY_PROPERTIES)}
        case "hop":
            hop = rng.choice([each for each in COUNTRY_PROPERTIES if each != "capital"])
            return {"country": country.name, "capital": country.properties["capital"], "property": hop}
        case "capital-letters":
            return {"country": country.name}
        case "capital-letters-sum":
            return {"country": country.name, **_numbers(rng, "bc")}
        case "two-capitals":
            return {"country": country.name, "other": other.name}


def _numbers(rng: random.Random, names: str) -> Mapping[str, str]:
    most = {"a": 99, "c": 99, "e": 60}
    return {name: str(rng.randint(2, most.get(name, 12))) for name in names}
