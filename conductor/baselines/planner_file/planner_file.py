"""The planner file: plans that were tried on a pool's own questions, and what came of each.

Values and their file only; `plan_choice` chooses by them, `file_planner` plans. Learning is `studio`'s, since
each plan that is tried is a session of an evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from conductor.baselines.encoder import Encoder
from conductor.baselines.learnt_file import (
    identity_hash,
    places_offered,
    question_hash,
    read_learnt,
    write_learnt,
)
from conductor.baselines.planner_file.planner_texts import PlannerTexts, text_differences
from conductor.values.messages import Value
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow

Learner = Literal["examples", "search", "reflect"]
"""`examples`: plans of the Conductor and of baselines were tried, and those that were right are examples;
`search`: these were edited besides, and the plans that solve most were tried on all questions; `reflect`:
from what went wrong a model wrote texts for the Conductor's prompt, and the best ones stand there."""

PlanUse = Literal["prompt", "nearest"]
"""`prompt`: the plans of the nearest questions stand in the Conductor's prompt; `nearest`: the plan that was
right most often on the nearest questions is taken as it is."""

NEIGHBOURS = 8
"""Of 3, 5, 8 and 12 the best on the orchard, by a hair."""

BY_CATEGORY = "best plan of each category"
"""The control of an examination that has the category of each question, as no planner does."""


class TriedPlan(Value):
    """A `workflow` that was tried, the planner of whom it is (`origin`), and the mean of what its answers
    took, None if that is unknown. Without a workflow it is whatever the Conductor plans for a question, and
    planning is in what it took.
    """

    workflow: Workflow | None
    origin: str
    tokens: float | None = None
    cost: float | None = None


class TriedQuestion(Value):
    """A question, and by position the plans that were `right` on it, those that were `wrong`, and the one
    that a person gave it.
    """

    question: str
    right: tuple[int, ...] = ()
    wrong: tuple[int, ...] = ()
    by_hand: int | None = None


class ExamRow(Value):
    """How a planner did on the questions that are held out; amounts are means of a question, planning
    included, None if unknown. `p` of the difference is adjusted over the rows (Holm).
    """

    planner: str
    right: int
    answers: int
    tokens: float | None = None
    cost: float | None = None
    difference: float | None = None
    between: tuple[float, float] | None = None
    p: float | None = None


class PlannerCard(Value):
    """On what was learnt, what that took, and how the planner did on held-out questions, `exam`: its own row
    first, the others with the difference to it; no row if it was not examined. Evaluations are named by their
    ids. `reflection` has in words what reflection came to; None for another way to learn.
    """

    data: str
    digest: str
    seed: int
    planners: tuple[str, ...]
    fit: int
    held_out: int
    evaluations: tuple[str, ...] = ()
    calls: int = 0
    tokens: int | None = None
    cost: float | None = None
    stopped: str | None = None
    reflection: str | None = None
    exam: tuple[ExamRow, ...] = ()


class PlannerFile(Value):
    """What a planner knows. `workers` are those of its plans, with a hash of their identities; `conductor`
    is the one that drew plans. `neighbours` is how many of the nearest questions count. `texts` stand in the
    Conductor's prompt, None: its own. `is_candidate`: it is tried on questions that it learnt from, so a
    question's own plans are no example for it.
    """

    format: Literal["conductor-planner"] = "conductor-planner"
    version: Literal[1] = 1
    name: str = Field(min_length=1)
    method: Learner = "examples"
    use: PlanUse
    neighbours: int = Field(default=NEIGHBOURS, ge=1)
    conductor: str
    encoder: Encoder
    workers: tuple[tuple[str, str], ...]
    plans: tuple[TriedPlan, ...] = Field(min_length=1)
    questions: tuple[TriedQuestion, ...] = Field(min_length=1)
    card: PlannerCard
    # Left out where they decide nothing: a file without them has the digest that it had before.
    texts: Annotated[PlannerTexts | None, Field(exclude_if=lambda texts: texts is None)] = None
    is_candidate: Annotated[bool, Field(exclude_if=lambda is_candidate: not is_candidate)] = False

    @model_validator(mode="after")
    def _names_its_plans(self) -> PlannerFile:
        for at, question in enumerate(self.questions):
            hand = () if question.by_hand is None else (question.by_hand,)
            if not all(0 <= plan < len(self.plans) for plan in (*question.right, *question.wrong, *hand)):
                raise ValueError(f"question {at + 1} names a plan that is not there")
        return self

    @property
    def digest(self) -> str:
        """A hash of all that decides its plans."""
        return sha256(self.model_dump_json(exclude={"card", "name"}).encode()).hexdigest()[:16]

    def saw(self, question: str) -> bool:
        """Whether it learnt from this question."""
        return question_hash(question) in self._hashes

    @cached_property
    def _hashes(self) -> frozenset[str]:
        return frozenset(question_hash(each.question) for each in self.questions)

    def check_pool(self, cards: Iterable[WorkerCard]) -> None:
        """Raise `PlanError` if a worker of its plans is another one now, or none of them is offered."""
        again = "Learn it again on this pool: `conductor learn mine DATA`."
        places_offered(self.workers, cards, learner=f"The planner {self.name}", again=again)

    def rates(self) -> tuple[float, ...]:
        """For each plan the share of its questions on which it was right, with one right and one wrong
        answer more, so that a plan that was tried once is not sure.
        """
        right, tried = [1.0] * len(self.plans), [2.0] * len(self.plans)
        for question in self.questions:
            for plan in question.right:
                right[plan] += 1
                tried[plan] += 1
            for plan in question.wrong:
                tried[plan] += 1
        return tuple(one / all_of_them for one, all_of_them in zip(right, tried, strict=True))

    def corrected(self, question: str, workflow: Workflow, cards: Mapping[str, WorkerCard]) -> PlannerFile:
        """The planner that has learnt that this workflow, which a person made, goes with this question.

        `cards` has the workflow's workers.
        """
        names = {name for name, _ in self.workers}
        more = dict.fromkeys(step.worker for step in workflow.steps if step.worker not in names)
        plans = [*self.plans]
        number = next((at for at, plan in enumerate(plans) if plan.workflow == workflow), len(plans))
        if number == len(plans):
            plans.append(TriedPlan(workflow=workflow, origin="a correction"))
        questions = {each.question: each for each in self.questions}
        before = questions.get(question, TriedQuestion(question=question))
        right = tuple(dict.fromkeys((*before.right, number)))
        wrong = tuple(plan for plan in before.wrong if plan != number)
        questions[question] = TriedQuestion(question=question, right=right, wrong=wrong, by_hand=number)
        return self.model_copy(
            update={
                "workers": (*self.workers, *((name, identity_hash(cards[name])) for name in more)),
                "plans": tuple(plans),
                "questions": tuple(questions.values()),
            }
        )

    @property
    def corrections(self) -> tuple[tuple[str, Workflow], ...]:
        """The questions that people gave a workflow, with it."""
        hands = ((each.question, each.by_hand) for each in self.questions if each.by_hand is not None)
        pairs = ((question, self.plans[plan].workflow) for question, plan in hands)
        return tuple((question, workflow) for question, workflow in pairs if workflow is not None)

    @property
    def solved(self) -> int:
        """On how many questions any plan was right."""
        return sum(bool(question.right) for question in self.questions)


def write_planner(planner: PlannerFile, path: Path) -> None:
    """Write the file, in the place of one that is there. Raises `FormatError` where it cannot be written."""
    write_learnt(planner, path)


def read_planner(path: Path) -> PlannerFile:
    """The planner in this file. Raises `FormatError`, naming the file and what is wrong."""
    return read_learnt(path, PlannerFile, what="learnt planner", command="conductor learn mine")


def differences(one: PlannerFile, other: PlannerFile) -> tuple[str, ...]:
    """In what two planners differ, a sentence each; nothing where they plan alike."""
    mine, theirs = ({plan.workflow for plan in each.plans} for each in (one, other))
    own, others = ({question.question for question in each.questions} for each in (one, other))
    words: Mapping[str, tuple[object, object]] = {
        "use": (one.use, other.use),
        "neighbours": (one.neighbours, other.neighbours),
        "questions are compared by": (one.encoder.title, other.encoder.title),
        "Conductor": (one.conductor, other.conductor),
    }
    lines = [f"{what}: {was}, then {now}" for what, (was, now) in words.items() if was != now]
    for what, first, second in (("plans", mine, theirs), ("questions", own, others)):
        if first != second:
            lines.append(f"{what}: {len(second - first):,} more, {len(first - second):,} fewer")
    lines += text_differences(one.texts, other.texts)
    if not lines and one.digest != other.digest:
        lines.append("the same plans were right on other questions")
    return tuple(lines)


def break_even(learnt: PlannerFile) -> tuple[str, ...]:
    """After how many questions it has saved what learning took, in a sentence, beside the best of the others
    that were examined; nothing where it is unknown.
    """
    if not learnt.card.exam:
        return ()
    own, *others = learnt.card.exam
    # The perfect router takes no tokens, being computed; nothing can plan by a category that is not given.
    measured = [
        (row.right / row.answers, -row.tokens, row)
        for row in others
        if row.answers and row.tokens is not None and row.planner != BY_CATEGORY
    ]
    if not measured or not own.answers or own.tokens is None or learnt.card.tokens is None:
        return ()
    rate, less, best = max(measured, key=lambda each: each[:2])
    if rate > own.right / own.answers:
        return (f"{best.planner} is right more often, so that learning is not paid for.",)
    saved = -less - own.tokens
    beside = f"beside {best.planner}, the best of the others"
    if saved <= 0:
        return (f"It takes {-saved * 1000:,.0f} tokens more for 1,000 questions {beside}.",)
    after = learnt.card.tokens / saved
    return (
        f"It saves {saved * 1000:,.0f} tokens for 1,000 questions {beside}: learning is paid for after "
        f"{after:,.0f} questions.",
    )
