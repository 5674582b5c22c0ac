"""What goes on in a run, as comments of a stream. Pure: from an event to one line."""

from __future__ import annotations

from conductor.api.answer import Answer
from conductor.events import (
    AnswerKept,
    BudgetExceeded,
    Event,
    PlanningFailed,
    PlanningRetried,
    PlanningStarted,
    PlanRejected,
    StepBlocked,
    StepCancelled,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepKept,
    StepRetried,
    StepReused,
    StepStarted,
    WorkflowPlanned,
)
from conductor.planner.prompt_words import one_line

_STEPS: dict[type[Event], str] = {
    StepStarted: "started",
    StepFinished: "finished",
    StepReused: "reused",
    StepKept: "kept",
    StepFailed: "failed",
    StepBlocked: "blocked",
    StepCancelled: "stopped",
    StepRetried: "asked again",
    StepFellBack: "asked another worker",
}
"""What became of a step, by the event that tells it."""


def line_of(event: Event, answer: Answer) -> str | None:
    """The line for an event that `answer` has heard; None for one that tells nothing new.

    Names of workers come from the pool, and are kept from beginning a line.
    """
    match event:
        case PlanningStarted():
            attempt = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return f"planning round {event.round}{attempt} ({one_line(event.planner)})"
        case PlanningRetried():
            return "planning: asked again"
        case WorkflowPlanned():
            steps = len(event.report.workflow) if event.report.workflow is not None else 0
            return f"planned {steps} step{'' if steps == 1 else 's'}"
        case AnswerKept():
            return "the answer stands"
        case PlanRejected():
            return "the plan is not valid"
        case PlanningFailed():
            return "no plan"
        case BudgetExceeded():
            return f"stopped at the budget of {event.limit}"
        case _:
            return _step(event, answer)


def _step(event: Event, answer: Answer) -> str | None:
    done = _STEPS.get(type(event))
    workflow = answer.runs[-1].workflow if answer.runs else None
    at: int | None = getattr(event, "step", None)
    if done is None or workflow is None or at is None:
        return None
    return f"step {at + 1} of {len(workflow)} ({one_line(workflow.steps[at].worker)}) {done}"
