"""Questions drawn from the orchard, by a seed: new ones, and those whose wording or combination is held out.

Knows families and their wordings, and by which plan a question is solved.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from conductor.orchard.plans import oracle
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
from conductor.workflow.model import Workflow

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
        held = "country" in slots and _held_out(slots["country"], family)
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


def _held_out(country: str, family: Family) -> bool:
    return chance("combination", country, family) < HELD_OUT


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
