"""The request of a step's worker, also for an output that is one of an earlier run of the session."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.messages import Request
from storage.records import RunRecord


def sent_request(
    step: StepState, runs: Iterable[RunRecord], state_of: Callable[[RunRecord], RunState]
) -> Request | None:
    """The request of the step; of a reused output the one that it answers, if it is of these `runs`."""
    if step.request is not None or step.output is None:
        return step.request
    earlier = next((run for run in runs if run.id == step.output.run), None)
    steps = () if earlier is None else state_of(earlier).steps
    return steps[step.output.step].request if step.output.step < len(steps) else None
