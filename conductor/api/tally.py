"""What the calls of a run used, with those of planning and those inside of steps. A fold of events.

Built-in experts and the rules that plan cut nothing into tokens and call no model: they count nothing.
"""

from __future__ import annotations

from conductor.events import (
    AnswerKept,
    Event,
    PlanningFailed,
    PlanningStarted,
    PlanRejected,
    StepCancelled,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepInner,
    StepStarted,
    WorkflowPlanned,
)
from conductor.messages import NOTHING_USED, Usage
from conductor.output import WorkerKind


class Tally:
    """`usage` is the sum of all calls, unknown as soon as one of them is; `known` is at least what was used.

    `calls` counts those that ended and whose worker is a model or the shipped fake.
    """

    def __init__(self) -> None:
        self.known: Usage = NOTHING_USED
        self.calls = 0
        self._ended: Usage = NOTHING_USED
        self._planners: dict[str, WorkerKind] = {}
        self._workers: dict[tuple[str, int], WorkerKind] = {}
        self._nested: set[tuple[str, int]] = set()

    @property
    def usage(self) -> Usage:
        """See above. What a planning has used that was broken off, nobody was told."""
        return self._ended if all(kind == "offline" for kind in self._planners.values()) else Usage()

    def hear(self, event: Event) -> None:
        """Count what ended with the event."""
        match event:
            case PlanningStarted():
                self._planners[event.run] = event.planner_kind
            case WorkflowPlanned() | AnswerKept() | PlanRejected():
                self._planning_ended(event.run, event.usage)
            case PlanningFailed():
                self._planning_ended(event.run, Usage())
            case StepStarted() | StepFellBack():
                self._workers[event.run, event.step] = event.worker_kind
            case StepInner():
                self._nested.add((event.run, event.step))
                self.hear(event.event)
            case StepFinished():
                self._step_ended(event, event.output.usage)
            case StepFailed() | StepCancelled():
                self._step_ended(event, event.usage)

    def _planning_ended(self, planning: str, usage: Usage) -> None:
        planner = self._planners.pop(planning, None)
        if planner is not None:
            self._add(usage, planner)

    def _step_ended(self, event: StepFinished | StepFailed | StepCancelled, usage: Usage) -> None:
        # What was called inside of a step was counted there.
        if (event.run, event.step) not in self._nested:
            self._add(usage, self._workers.get((event.run, event.step), "model"))

    def _add(self, usage: Usage, kind: WorkerKind) -> None:
        if kind == "offline":
            return
        self.calls += 1
        self._ended += usage
        self.known += Usage(
            prompt_tokens=usage.prompt_tokens or 0,
            completion_tokens=usage.completion_tokens or 0,
            cost=usage.cost or 0.0,
        )
