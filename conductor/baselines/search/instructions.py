"""Instructions for the steps that a search makes up: general sentences with nouns of the questions, and those
of a model. Pure.

The nouns are words that several questions have, and those by which workers describe themselves. Knows no
question's answer.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from conductor.baselines.ensembles import PROPOSE

PARTS = ("Consider the first {noun} only.", "Consider the second {noun} only.")
"""For the two halves of a step that is split."""

CHECK = "Check the visible answer."

_ALONE = (PROPOSE, "Find the {noun}.", *PARTS)
_READING = ("Use that {noun}.", "Find the {noun}.", "Continue with the previous result.", CHECK)

_OFTEN = 3
"""In how many questions a word stands that is a noun of their kind, and no name in one of them."""

_BY_MODEL = 0.4
"""How often an instruction is one of a model's, where a model wrote some."""

_WORD = re.compile(r"[^\W\d_]{4,30}")
_NO_NOUNS = frozenset(
    "about also answer answers asked been both could does each else find from give gives have help into "
    "just know like look looks many more most much name need only other please question questions same "
    "shall should some state than that their them then there these they this those what when where "
    "which whose will with work works would write your".split()
)


@dataclass(frozen=True)
class Instructions:
    """The nouns that `questions` have in common, and those of each worker's `strengths`, by its name.
    `by_model` has, by question, instructions that a model wrote for such a question.
    """

    questions: tuple[str, ...]
    strengths: Mapping[str, str]
    by_model: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def _usual(self) -> frozenset[str]:
        counts = Counter(noun for question in self.questions for noun in set(nouns_in(question)))
        return frozenset(noun for noun, count in counts.items() if count >= _OFTEN)

    def draw(self, question: str, worker: str, rng: random.Random, *, reads: bool) -> str:
        """An instruction for a step of that worker, which reads other steps or not."""
        every = [each for texts in self.by_model.values() for each in texts]
        if every and rng.random() < _BY_MODEL:
            return rng.choice(self.by_model.get(question) or every)
        templates = rng.sample(_READING, rng.choice((1, 2, 3))) if reads else rng.sample(_ALONE, 1)
        return " ".join(self.fill(each, question, worker, rng) for each in templates)

    def worker(self, question: str, workers: Sequence[str], rng: random.Random) -> str:
        """One of the workers, likelier one whose description has nouns of the question."""
        own = set(nouns_in(question))
        shared = [1 + len(own & set(nouns_in(self.strengths.get(worker, "")))) for worker in workers]
        return rng.choices(workers, shared)[0]

    def fill(self, template: str, question: str, worker: str, rng: random.Random) -> str:
        """The template with a noun of the question or of what the worker can do."""
        return template.replace("{noun}", self._noun(question, worker, rng))

    def _noun(self, question: str, worker: str, rng: random.Random) -> str:
        own = [noun for noun in nouns_in(question) if noun in self._usual]
        able = nouns_in(self.strengths.get(worker, ""))
        nouns = sorted({*own, *able}) or ["part"]
        weights = [(1 + 2 * (noun in able)) * (1 + (noun in own)) for noun in nouns]
        return rng.choices(nouns, weights)[0]


def nouns_in(text: str) -> Sequence[str]:
    """The words of a text that may be nouns, one of several as one."""
    words = (word.lower() for word in _WORD.findall(text))
    return [_one(word) for word in words if word not in _NO_NOUNS]


def _one(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
