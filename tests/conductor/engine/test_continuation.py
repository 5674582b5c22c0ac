"""What a run does that goes on by itself where a process ended: what that was to do, less what it did."""

from __future__ import annotations

import pytest

from conductor.engine.continuation import resumed
from conductor.runs.scope import RunScope
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.message_parts.tool_use import ToolDecision
from conductor.workflow.model import Step, Workflow
from tests.support.stores.store_scenario import output

STEPS = Workflow.of(
    [
        Step(instruction="find", worker="w"),
        Step(instruction="look", worker="w"),
        Step(instruction="write", worker="w", access=(0, 1)),
    ]
)
DECISION = ToolDecision(step=1, at=0, id="w1", verdict="allow")


def broken(scope: RunScope) -> RunState:
    """A run that has finished its first step, and was in its second."""
    done = StepState(status="finished", output=output("found", run="r"))
    steps = (done, StepState(status="interrupted"), StepState())
    return RunState(run="r", workflow=STEPS, scope=scope, steps=steps, status="interrupted")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"done": (0,)}),
        ({"kind": "force"}, {"kind": "force", "done": (0,)}),
        ({"kind": "to", "step": 1}, {"kind": "to", "step": 1, "done": (0,)}),
        ({"kind": "from", "step": 0}, {"kind": "from", "step": 0, "done": (0,)}),
        ({"passes": (2,)}, {"passes": (2,), "done": (0,)}),
        ({"done": (1,)}, {"done": (0, 1)}),
        ({"recorded": "only"}, {"recorded": "only", "done": (0,)}),
        ({"allows": ("a:*",), "grants": ("b:c",)}, {"allows": ("a:*",), "grants": ("b:c",), "done": (0,)}),
        # A call that was decided may have acted since.
        ({"passes": (1,), "decisions": (DECISION,)}, {"passes": (1,), "done": (0,)}),
        ({"resumption": 1}, {"done": (0,)}),
    ],
)
def test_it_goes_as_far_as_the_run_before_and_calls_no_finished_step(
    before: dict[str, object], after: dict[str, object]
) -> None:
    scope = resumed(broken(RunScope.model_validate(before)), STEPS, resumption=2)
    assert scope == RunScope.model_validate({**after, "resumption": 2})
    assert 0 not in scope.forced(STEPS)


def test_of_a_run_with_nothing_stored_all_is_to_do() -> None:
    assert resumed(RunState(run="r"), STEPS, resumption=1) == RunScope(resumption=1)
