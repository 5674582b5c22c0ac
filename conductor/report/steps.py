"""What a report tells of each step, and of the steps inside of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from conductor.drawing import title_of
from conductor.report.request import Sent, sent
from conductor.report.words import STATUSES, output_notes, step_facts
from conductor.run_state import RunState
from conductor.step_state import StepState, StepStatus
from conductor.workflow import Step, Workflow


@dataclass(frozen=True, slots=True)
class StepWords:
    """A step as its section tells it; `number` counts from 1, as do `sees` and `hidden`.

    `inside` are the rounds of a workflow of its own, each with its steps.
    """

    number: int
    title: str
    worker: str
    status: StepStatus
    state: str
    facts: tuple[str, ...]
    instruction: str
    sees: tuple[int, ...]
    hidden: tuple[int, ...]
    sees_previous: bool
    sampling: tuple[str, ...]
    request: Sent | None
    retries: tuple[str, ...]
    reasoning: str
    problem: str
    output: str
    notes: tuple[str, ...]
    inside: tuple[tuple[StepWords, ...], ...]


def steps_of(state: RunState) -> tuple[StepWords, ...]:
    """The steps of a run in order."""
    workflow = state.workflow
    if workflow is None:
        return ()
    return tuple(_step(workflow, at, own) for at, own in enumerate(state.steps))


def _step(workflow: Workflow, at: int, own: StepState) -> StepWords:
    step = workflow.steps[at]
    return StepWords(
        number=at + 1,
        title=title_of(step.instruction)[0],
        worker=own.answered_by(step.worker),
        status=own.status,
        state=STATUSES[own.status],
        facts=tuple(step_facts(own)),
        instruction=step.instruction,
        sees=tuple(read + 1 for read in step.access),
        hidden=tuple(read + 1 for read in range(at) if read not in step.access),
        sees_previous=step.sees_previous,
        sampling=_sampling(step),
        request=_request(own),
        retries=tuple(retry.message for retry in own.retries),
        reasoning=own.reasoning,
        problem=_problem(own),
        output=own.text,
        notes=tuple(output_notes(step, own)),
        inside=tuple(steps_of(inner) for inner in own.inner if inner.steps),
    )


def _sampling(step: Step) -> tuple[str, ...]:
    set_by_hand = step.sampling.model_dump(exclude_none=True)
    return tuple(f"{name.replace('_', ' ')} {value:g}" for name, value in set_by_hand.items())


def _request(own: StepState) -> Sent | None:
    if own.request is None:
        return None
    # What a step with a workflow of its own used are the tokens of the calls inside.
    reported = None if own.inner else own.usage.prompt_tokens
    return sent(own.request, kind=own.worker_kind or "model", reported=reported)


def _problem(own: StepState) -> str:
    if own.message:
        return own.message
    if own.status == "blocked":
        return f"It did not run, because it reads step {', '.join(str(by + 1) for by in own.blocked_by)}."
    return "The worker answered with nothing; nothing was passed on." if own.status == "empty" else ""
