"""Ten fixed questions with what a training planned for each, before and after: `plans.json` of a run.

Values and their file; knows no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from conductor.errors import DataError
from conductor.learning.demonstration.exam import Exam
from conductor.learning.reward import Outcome
from conductor.planner.conductor import MAX_PLANNED_STEPS
from conductor.planner.parsing.parse import parse
from conductor.values.messages import Value
from conductor.workflow.model import Workflow

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
