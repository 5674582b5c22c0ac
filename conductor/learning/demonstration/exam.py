"""Examines a small Conductor on a fixed set of the orchard's questions: plans, answers, tokens.

Knows the orchard and outcomes; plans are given as texts, so this imports no torch.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conductor.evaluation.items import Item
from conductor.learning.gauges import Gauges, gauges_of
from conductor.learning.reward import Judge, Outcome
from conductor.orchard import Question, Split, draw
from conductor.planner.local.local_prompt import prompt_text

FEWEST_WORKERS = 4
"""A random pool has as many at least."""


def exam_item(question: Question) -> Item:
    """The question as the scorers take it."""
    return Item(id=question.text[:200], input=question.text, target=question.answer)


def random_pool(rng: random.Random, names: Sequence[str]) -> tuple[str, ...]:
    """Some of the names in any order."""
    return tuple(rng.sample([*names], rng.randint(min(FEWEST_WORKERS, len(names)), len(names))))


@dataclass(frozen=True)
class Exam:
    """Questions, and the names that the pool of each offers, in order."""

    questions: tuple[Question, ...]
    pools: tuple[tuple[str, ...], ...]

    @classmethod
    def of(
        cls, count: int, names: Sequence[str], *, seed: int, split: Split = "test", order: str = "fixed"
    ) -> Exam:
        """`order`: the pool as it is (fixed), all its names in any order (shuffled), or some (subsets)."""
        rng = random.Random(f"pools {seed}")  # noqa: S311 - pools that can be drawn again
        questions = draw(count, seed=seed, split=split)
        pools = {
            "fixed": lambda: tuple(names),
            "shuffled": lambda: tuple(rng.sample([*names], len(names))),
            "subsets": lambda: random_pool(rng, names),
        }
        return cls(questions, tuple(pools[order]() for _ in questions))

    @property
    def items(self) -> list[Item]:
        return [exam_item(question) for question in self.questions]

    @property
    def prompts(self) -> list[str]:
        return [
            prompt_text(question.text, pool)
            for question, pool in zip(self.questions, self.pools, strict=True)
        ]


@dataclass(frozen=True)
class Result:
    """The outcome of each question of an exam, and the tokens of its plan, prompt and plan together."""

    outcomes: tuple[Outcome, ...]
    planning: tuple[int, ...]
    gauges: Gauges

    @classmethod
    async def of(cls, plans: Sequence[str], planning: Sequence[int], exam: Exam, judge: Judge) -> Result:
        """Run the plans."""
        outcomes = await judge.judge(plans, exam.items, exam.pools)
        right = [float(outcome.right) for outcome in outcomes]
        needed = [question.steps for question in exam.questions]
        return cls(tuple(outcomes), tuple(planning), gauges_of(outcomes, right, needed, group=1))

    @property
    def accuracy(self) -> float:
        return self.gauges.right


def right_by_question(exam: Exam, outcomes: Sequence[Outcome]) -> Mapping[str, bool]:
    """Whether each question was answered right, by its place and text: a draw may have one twice."""
    pairs = enumerate(zip(exam.questions, outcomes, strict=True))
    return {f"{at} {question.text}": outcome.right for at, (question, outcome) in pairs}
