"""Worked examples of plans: the shapes that the paper observed, on the numbers of any pool.

Knows how a plan is written in each dialect and form; knows neither prompts nor what is legal beyond that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from conductor.planner.format import Entry, write_steps
from conductor.workflow.plan_report import Dialect, Form

_MOST_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Writing:
    """How a plan is to be written down; `room_to_think` requests some reasoning before it."""

    dialect: Dialect
    form: Form
    room_to_think: bool


@dataclass(frozen=True, slots=True)
class ExampleStep:
    """A step: the worker's number, what to do, and the earlier steps (from 0) whose work it sees."""

    worker: int
    instruction: str
    sees: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A question, why its plan has the shape it has, and the plan. No steps: the answer is kept."""

    question: str
    why: str
    steps: tuple[ExampleStep, ...]


def examples(pool: int, *, max_steps: int) -> tuple[Example, ...]:
    """The shapes that fit into `max_steps`, on workers 0 to `pool` - 1."""
    if max_steps == 1:
        return (_fact(pool),)
    if max_steps == 2:
        return (_fact(pool), _checked(pool))
    attempts = min(_MOST_ATTEMPTS, max_steps - 1, max(2, pool - 1))
    return (_fact(pool), _comparison(pool, attempts=attempts), _hard(pool))


KEPT = Example(question="", why="State here in one sentence why the answer can stay.", steps=())
"""How a later round returns the answer as it is."""


def _fact(pool: int) -> Example:
    return Example(
        question="What is the capital of Mongolia?",
        why="This is one fact, so one step is enough.",
        steps=(ExampleStep(1 % pool, "Name the capital of Mongolia in one sentence."),),
    )


def _checked(pool: int) -> Example:
    return Example(
        question="What is 17 % of 2,340?",
        why="This is short but easy to get wrong, so one worker calculates and another checks.",
        steps=(
            ExampleStep(0, "Calculate the share and show each line of the working."),
            ExampleStep(1 % pool, "Check the working by another way and state the final number.", (0,)),
        ),
    )


def _comparison(pool: int, *, attempts: int) -> Example:
    workers = [(number + 1) % pool for number in range(attempts)]
    steps = [
        ExampleStep(worker, f"Work independently: argue which of the two suits a mountain hut, {view}.")
        for worker, view in zip(workers, _VIEWS, strict=False)
    ]
    merge = "Compare the attempts that you see, settle where they differ, and write one reasoned answer."
    steps.append(ExampleStep(0, merge, tuple(range(attempts))))
    return Example(
        question="Does a lead or a lithium battery suit a mountain hut better, and why?",
        why="This is a judgement, so several workers try it on their own and one weighs their answers.",
        steps=tuple(steps),
    )


_VIEWS = ("from the cold and the upkeep", "from the cost over fifteen years", "from safety and transport")


def _hard(pool: int) -> Example:
    return Example(
        question="In how many ways can a 3 by 12 board be covered with dominoes?",
        why="This is hard mathematics, so one worker plans, one carries the plan out and one verifies both.",
        steps=(
            ExampleStep(0, "Plan how to count the coverings, such as by a recurrence; do not count yet."),
            ExampleStep(1 % pool, "Follow the plan that you see and count, showing the working.", (0,)),
            ExampleStep(
                2 % pool,
                "Verify plan and count on small boards, correct what is wrong, and state the final number.",
                (0, 1),
            ),
        ),
    )


def written(example: Example, writing: Writing) -> str:
    """The completion that an example stands for."""
    steps = [
        (step.worker, step.instruction, _access(example.steps, at, writing.dialect))
        for at, step in enumerate(example.steps)
    ]
    return write_steps(steps, form=writing.form, reasoning=example.why if writing.room_to_think else "")


def _access(steps: Sequence[ExampleStep], at: int, dialect: Dialect) -> Entry:
    """The entry of step `at`; steps see nothing, some, or all of what is before them."""
    sees = steps[at].sees
    match dialect:
        case "binary":
            return ["all"] if sees else []
        case "position":
            return list(sees)
        case "worker":
            return sorted({steps[seen].worker for seen in sees})
        case "any":
            # One example shows each way of writing it.
            return ["all"] if len(sees) == at > 1 else list(sees)
        case _:
            assert_never(dialect)
