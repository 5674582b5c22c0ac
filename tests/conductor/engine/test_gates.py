"""A run waits before a step that has a gate, and goes on from there as if it had never waited."""

from __future__ import annotations

import pytest

from conductor.engine.continuation import continuation
from conductor.errors import WorkflowError
from conductor.runs.events import EVENT, RunFinished, StepPaused
from conductor.runs.scope import RunScope
from conductor.runs.state import RunState, advance, fold
from conductor.values.output import HandEdit, Output
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from tests.support.runs.worker_cases import events_of, outputs_of, played, run_of
from tests.support.runs.workflow_cases import WORKERS, workflow_of

POOL = Pool(workers=tuple(SimulatedWorker(name=name, tokens=3) for name in WORKERS))
DIAMOND = workflow_of((), (0,), (0,), (1, 2))


async def continued(state: RunState, workflow: Workflow | None = None) -> RunState:
    """The run that passes the gates of `state`, which knows what all its runs finished."""
    assert state.workflow is not None
    workflow = workflow or state.workflow
    scope = continuation(state, workflow)
    preloaded = state.outputs if scope.kind == "only" else {}
    return await played(workflow, POOL, outputs=outputs_of(state), scope=scope, preloaded=preloaded)


async def test_it_shows_what_the_step_will_be_sent_and_sends_that() -> None:
    workflow = DIAMOND.with_gate(1)
    events = await events_of(run_of(workflow, POOL))
    (paused,) = (event for event in events if isinstance(event, StepPaused))
    assert EVENT.validate_json(EVENT.dump_json(paused)) == paused
    state = await continued(fold(events))
    output = state.steps[1].output
    assert output is not None
    assert (state.status, state.steps[1].request, output.fingerprint) == (
        "finished",
        paused.request,
        paused.fingerprint,
    )
    assert [step.reused for step in state.steps] == [True, False, True, False]


async def test_a_gate_changes_no_fingerprint_and_stops_nothing_that_is_known() -> None:
    first = await played(DIAMOND, POOL)
    gated = DIAMOND.with_gate(1).with_gate(3)
    again = await played(gated, POOL, outputs=outputs_of(first))
    assert (again.status, again.open_gates) == ("finished", (1, 3))
    assert all(step.reused for step in again.steps)
    assert first.is_run_of(gated)


async def test_an_edit_at_the_gate_counts_where_the_run_goes_on() -> None:
    paused = await played(DIAMOND.with_gate(1), POOL)
    assert paused.workflow is not None
    other = await continued(paused, paused.workflow.with_worker(1, WORKERS[1]))
    assert (other.status, other.steps[1].answered_by("?")) == ("finished", "?")
    assert other.steps[1].output is not None
    assert other.steps[1].output.worker == WORKERS[1]
    by_hand = Output(
        fingerprint="",
        text="mine",
        worker="alpha",
        worker_kind="simulated",
        seconds=0.0,
        run="",
        step=1,
        hand=HandEdit(at=1.0),
    )
    skipped = await continued(paused, paused.workflow.with_pin(1, by_hand))
    assert (skipped.status, skipped.steps[1].kept_because) == ("finished", "pinned")
    moved = paused.workflow.remove_step(2)
    assert (await continued(paused, moved)).status == "finished"


@pytest.mark.parametrize(
    "instruction",
    [
        "Paint the fence.",
        "Delete all customers of the shop.",
        "Publish every old draft on the page.",
        "Delete every old customer.",
    ],
)
async def test_a_gate_of_a_step_in_the_place_of_a_removed_one_is_its_own(instruction: str) -> None:
    """However many words they share, and though worker, place and readers are the same."""
    before = DIAMOND.with_instruction(1, "Delete every old file.").with_gate(1)
    planned = Workflow.of(step.model_copy(update={"lineage": None}) for step in before.steps)
    for workflow in (before, planned):
        paused = await played(workflow, POOL)
        step = workflow.steps[1].model_copy(update={"instruction": instruction, "lineage": None})
        other = workflow.remove_step(1).add_step(step, 1).with_access(3, (1, 2))
        assert continuation(paused, other).passes == ()
        assert (await continued(paused, other)).held == (1,)


def test_a_run_that_waits_at_no_gate_has_nothing_to_go_on_with() -> None:
    with pytest.raises(WorkflowError, match="waits at no gate"):
        continuation(RunState(status="finished", workflow=DIAMOND), DIAMOND)


async def test_the_step_that_the_run_was_for_may_be_gone() -> None:
    paused = await played(DIAMOND.with_gate(2), POOL, scope=RunScope(kind="to", step=2))
    with pytest.raises(WorkflowError, match="was removed"):
        continuation(paused, DIAMOND.remove_step(2))


async def test_what_waits_can_be_stopped_later() -> None:
    state = await played(DIAMOND.with_gate(1), POOL)
    end = RunFinished(run="r", seq=state.seq + 1, at=1e12, outcome="cancelled", answer=None, answer_step=None)
    stopped = advance(state, end)
    assert (stopped.status, stopped.held, stopped.seconds) == ("cancelled", (), state.seconds)
