"""What a report shows of each step, and of the steps inside it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from conductor.drawing.network import title_of
from conductor.report.request import Sent, sent
from conductor.report.words import STATUSES, output_notes, step_facts
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState, StepStatus
from conductor.workflow.model import Step, Workflow


@dataclass(frozen=True, slots=True)
class StepWords:
    """A step as its section shows it; `number` counts from 1, as do `sees` and `hidden`.

    `inside` are the rounds of the workflow inside the step, each with its steps.
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
        retries=tuple(retry.reason for retry in own.retries),
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
    # The usage of a step with an inner workflow is that of the inner calls.
    reported = None if own.inner else own.usage.prompt_tokens
    return sent(own.request, kind=own.worker_kind or "model", reported=reported)


def _problem(own: StepState) -> str:
    if own.message:
        return own.message
    if own.status == "blocked":
        return f"It did not run, because it reads step {', '.join(str(by + 1) for by in own.blocked_by)}."
    return "The worker answered with nothing; nothing was passed on." if own.status == "empty" else ""
