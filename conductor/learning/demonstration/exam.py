"""Examines a small Conductor on a fixed set of the orchard's questions: plans, answers, tokens.

Knows the orchard and outcomes; plans are given as texts, so this imports no torch.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from conductor.errors import DataError
from conductor.evaluation.items import Item
from conductor.learning.gauges import Gauges, gauges_of
from conductor.learning.reward import Judge, Outcome
from conductor.orchard import Question, Split, draw
from conductor.planner.conductor import MAX_PLANNED_STEPS
from conductor.planner.local.local_prompt import prompt_text
from conductor.planner.parsing.parse import parse
from conductor.values.messages import Value
from conductor.workflow.model import Workflow

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


# -- plans before and after a training: plans.json of a run ----------------------------------------

PLANS = "plans.json"

QUESTIONS = 10
"""One question of each family, and one more."""

_SEED = 5


class ExamPlan(Value):
    """What was planned, None for no valid plan, and what its steps answered."""

    workflow: Workflow | None
    answer: str
    right: bool


class PlanPair(Value):
    """A question with its right answer, and the plans; `after` is None until the training has ended."""

    question: str
    answer: str
    before: ExamPlan
    after: ExamPlan | None = None


class PlanPairs(Value):
    """All of a run."""

    pairs: tuple[PlanPair, ...]

    def after(self, planned: Sequence[ExamPlan]) -> PlanPairs:
        """With what was planned after the training, in the order of the questions."""
        return PlanPairs(
            pairs=tuple(
                pair.model_copy(update={"after": each})
                for pair, each in zip(self.pairs, planned, strict=True)
            )
        )


def pairs_exam(names: Sequence[str]) -> Exam:
    """The questions, which no training has, with the pool as it is."""
    return Exam.of(QUESTIONS, names, seed=_SEED)


def pairs_before(exam: Exam, planned: Sequence[ExamPlan]) -> PlanPairs:
    """The exam's questions with what was planned before the training."""
    return PlanPairs(
        pairs=tuple(
            PlanPair(question=question.text, answer=question.answer, before=each)
            for question, each in zip(exam.questions, planned, strict=True)
        )
    )


def planned_of(plans: Sequence[str], outcomes: Sequence[Outcome], exam: Exam) -> list[ExamPlan]:
    """The plans of an exam's questions as they are read, with what they came to."""
    return [
        ExamPlan(
            workflow=parse(plan, workers=names, max_steps=MAX_PLANNED_STEPS, form="names").workflow,
            answer=outcome.answer,
            right=outcome.right,
        )
        for plan, outcome, names in zip(plans, outcomes, exam.pools, strict=True)
    ]


def read_pairs(folder: Path) -> PlanPairs | None:
    """The pairs in a run's folder, None before there are any. Raises `DataError` for another file."""
    file = folder / PLANS
    try:
        return PlanPairs.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise DataError(f"{file} is not a file of plans; train again in another folder.") from error
