"""Worked examples of plans: the shapes that the paper observed, on the numbers of any pool.

Knows how a plan is written in each dialect and form; knows neither prompts nor what is legal beyond that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from textwrap import shorten
from typing import assert_never

from conductor.planner.conductor import SolvedExample
from conductor.planner.format import Entry, Tools, write_steps
from conductor.workflow.plan_report import Dialect, Form

_MOST_ATTEMPTS = 3
_LONGEST_QUESTION = 600


@dataclass(frozen=True, slots=True)
class Writing:
    """How a plan is to be written down; `room_to_think` requests some reasoning before it, `tools` those of
    each step.
    """

    dialect: Dialect
    form: Form
    room_to_think: bool
    tools: bool = False


@dataclass(frozen=True, slots=True)
class ExampleStep:
    """A step: the worker's number, what to do, and the earlier steps (from 0) whose work it sees.

    `general`: the instruction would do for other questions, too.
    """

    worker: int
    instruction: str
    sees: tuple[int, ...] = ()
    general: bool = False
    tools: Tools = None


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


def solved_examples(
    solved: Sequence[SolvedExample], workers: Sequence[str], *, max_steps: int
) -> tuple[Example, ...]:
    """Those of the solved questions whose plans fit into `max_steps` and take only these workers."""
    return tuple(
        Example(
            question=shorten(each.question, _LONGEST_QUESTION, placeholder=" …"),
            why="Of a plan of this shape the answer was right.",
            steps=tuple(
                ExampleStep(
                    workers.index(step.worker), step.instruction, step.access, general=True, tools=step.tools
                )
                for step in each.workflow.steps
            ),
        )
        for each in solved
        if len(each.workflow) <= max_steps and {step.worker for step in each.workflow.steps} <= {*workers}
    )


NO_PLAN = Example(question="", why="State here in one sentence why the answer can stay.", steps=())
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
            ExampleStep(
                1 % pool, "Check the working by another way and state the final number.", (0,), general=True
            ),
        ),
    )


def _comparison(pool: int, *, attempts: int) -> Example:
    workers = [(number + 1) % pool for number in range(attempts)]
    steps = [
        ExampleStep(worker, f"Work independently: argue which of the two suits a mountain hut, {view}.")
        for worker, view in zip(workers, _VIEWS, strict=False)
    ]
    merge = "Compare the attempts that you see, settle where they differ, and write one reasoned answer."
    steps.append(ExampleStep(0, merge, tuple(range(attempts)), general=True))
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


def research_examples(pool: int, *, max_steps: int) -> tuple[Example, ...]:
    """Five plans of three or four steps for questions of other kinds than those of exams, as in the research
    code; under a lower limit those that fit into it, else `examples`.
    """
    fitting = tuple(each for each in _SEVERAL if len(each.steps) <= max_steps)
    if not fitting:
        return examples(pool, max_steps=max_steps)
    return tuple(
        replace(each, steps=tuple(replace(step, worker=step.worker % pool) for step in each.steps))
        for each in fitting
    )


_SEVERAL = (
    Example(
        question="Set + and - between the digits 1 2 3 4 5 6 7 8 9, in this order, to make 100.",
        why="A first model looks for signs that fit, a second one recalculates them, and the first one "
        "settles what they disagree on.",
        steps=(
            ExampleStep(0, "Find signs between the digits 1 to 9 that make 100. Write the sum out in full."),
            ExampleStep(
                1, "Recalculate the sum that you see term by term. Correct it if it is not 100.", (0,)
            ),
            ExampleStep(0, "Compare both attempts and write the one sum that is right.", (0, 1)),
        ),
    ),
    Example(
        question="Does bread stay fresh for longer in a refrigerator? Choices: A. Yes B. No",
        why="This is a matter of knowledge. Two models answer independently, and a third one decides.",
        steps=(
            ExampleStep(2, "Explain what happens to bread in a refrigerator, then choose A or B."),
            ExampleStep(1, "Choose A or B from what bakers and food chemists know, with your reasons."),
            ExampleStep(3, "Weigh the two answers and their reasons. End with A or B.", (0, 1)),
        ),
    ),
    Example(
        question="A night train leaves Lisbon at 21:48 and needs 9 hours 35 minutes to Madrid, where clocks "
        "are one hour ahead. When does it arrive by the clock there?",
        why="Mistakes are easy at midnight and at the border, so the time is calculated, checked by another "
        "way, and then stated.",
        steps=(
            ExampleStep(4, "Add the hours to the time of departure step by step, then the change of clocks."),
            ExampleStep(2, "Check the arrival backwards: take the journey from it and compare.", (0,)),
            ExampleStep(0, "State the time of arrival in Madrid as HH:MM.", (0, 1)),
        ),
    ),
    Example(
        question="Put into plain German for a notice at a ticket desk: 'Owing to works, services are subject "
        "to alteration; please allow extra time.'",
        why="There is no single right wording, so two models translate on their own and another one takes "
        "the best of both.",
        steps=(
            ExampleStep(3, "Translate the notice into German. Keep it short and polite."),
            ExampleStep(5, "Write the German notice as a native speaker would put it, not word for word."),
            ExampleStep(
                1, "Take the clearer phrases of both, correct grammar and tone, and write one.", (0, 1)
            ),
        ),
    ),
    Example(
        question="Write a shell script that renames the photos of a folder to the day and time when they "
        "were taken, and that never overwrites one.",
        why="One model states what the script has to do, a second one lists what can go wrong, a third one "
        "writes it, and the last one tests it in its head.",
        steps=(
            ExampleStep(1, "Describe input, output and rules of the script. Write no code yet."),
            ExampleStep(
                4, "List the cases that break a careless script, such as two photos of one second.", (0,)
            ),
            ExampleStep(0, "Write the script by the description; take care of each case.", (0, 1)),
            ExampleStep(
                2, "Follow the script through each case, repair it, and write it in full.", (0, 1, 2)
            ),
        ),
    ),
)


@cache
def example_instructions() -> Mapping[str, str]:
    """The instructions of all examples that only their own question explains, each with that question."""
    own = (_fact(2), _checked(2), _comparison(2, attempts=_MOST_ATTEMPTS), _hard(2))
    return {
        step.instruction: example.question
        for example in (*own, *_SEVERAL)
        for step in example.steps
        if not step.general
    }


def example_text(example: Example, writing: Writing) -> str:
    """The completion that an example stands for."""
    steps = [
        (step.worker, step.instruction, _access(example.steps, at, writing.dialect))
        for at, step in enumerate(example.steps)
    ]
    return write_steps(
        steps,
        form=writing.form,
        reasoning=example.why if writing.room_to_think else "",
        tools=[step.tools for step in example.steps] if writing.tools else None,
    )


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
