"""Prints the events of a run as lines for people.

Knows events; knows neither terminals nor protocols.
"""

from __future__ import annotations

from conductor.runs import events
from conductor.runs.events import Event
from conductor.text.formatting import duration, named
from conductor.values.message_parts.tool_use import ToolUse
from conductor.values.output import NO_ANSWER

_CALL = 200
"""Characters of a call of a tool in a line."""


class ProgressLines:
    """The lines of one request, all its rounds; given its events in their order."""

    def __init__(self) -> None:
        self._steps = 0

    def line(self, event: Event) -> str | None:
        """The line about the event, or None if it has none."""
        match event:
            case events.PlanningStarted():
                return f"{event.planner} plans"
            case events.RunStarted():
                self._steps = len(event.workflow)
                if event.scope.resumption:
                    return "resumed by itself after its process ended"
                return f"round {event.round}" if event.round > 1 else None
            case events.PlanRejected():
                problems = " ".join(problem.message for problem in event.report.problems)
                return f"the plan is not valid: {problems}"
            case events.PlanningRetried():
                return f"the Conductor is asked again in {event.seconds:.1f} s: {event.reason}"
            case events.AnswerKept():
                return f"the Conductor keeps the answer: {event.reason}"
            case events.BudgetExceeded():
                begins = "stopped at the budget" if event.stopped else "the budget is used up"
                return f"{begins}: {event.words}"
        step_line = _of_step(event)
        return None if step_line is None else f"[{step_line[0] + 1}/{self._steps}] {step_line[1]}"


def _of_step(event: Event) -> tuple[int, str] | None:
    match event:
        case events.StepStarted():
            return event.step, f"{event.worker} works"
        case events.StepFinished():
            stand_in = event.output.stand_in
            if stand_in is not None and stand_in.text:
                return event.step, f"failed, its own text takes the place of the output: {stand_in.reason}"
            done = f"has {NO_ANSWER}" if event.output.refused else "is done"
            return event.step, f"{event.output.worker} {done}, {event.output.seconds:.1f} s"
        case events.StepReused():
            return event.step, f"{event.output.worker}'s output is reused"
        case events.StepKept():
            return event.step, f"its output is {'pinned' if event.because == 'pinned' else 'taken as it was'}"
        case events.StepFailed():
            return event.step, f"failed: {event.message}"
        case events.StepRetried():
            return event.step, f"is asked again in {event.seconds:.1f} s: {event.reason}"
        case events.StepFellBack():
            return event.step, f"{event.worker} stands in: {event.message}"
        case events.StepToolsCalled():
            return event.step, f"calls {named([call.line for call in event.calls], cut=_CALL)}"
        case events.StepToolsReturned():
            return event.step, f"has results: {named([_answered(use) for use in event.uses], cut=_CALL)}"
        case events.StepInner():
            inside = _of_step(event.event)
            return None if inside is None else (event.step, f"inside, step {inside[0] + 1}: {inside[1]}")
        case events.StepBlocked():
            return event.step, "does not run, because a step it reads failed"
        case events.StepCancelled():
            return event.step, "was stopped"
        case _:
            return None


def _answered(use: ToolUse) -> str:
    failed = ["an error"] if use.is_error else []
    return f"{use.words} ({', '.join([duration(use.seconds), *failed, *use.origin])})"
