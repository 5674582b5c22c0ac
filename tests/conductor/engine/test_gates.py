"""A run waits before a step that has a gate, and goes on from there as if it had never waited."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_cases import cases
from worker_cases import Gated, Raising, events_of, outputs_of, played, run_of
from workflow_cases import WORKERS, workflow_of, workflows

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.continuation import continuation
from conductor.engine.schedule import blast_radius
from conductor.errors import WorkerError, WorkflowError
from conductor.runs.events import EVENT, RunFinished, StepPaused
from conductor.runs.scope import FORCE, RunScope
from conductor.runs.state import RunState, advance, fold
from conductor.values.output import HandEdit, Output
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow

POOL = Pool(workers=tuple(SimulatedWorker(name=name, tokens=3) for name in WORKERS))
DIAMOND = workflow_of((), (0,), (0,), (1, 2))


def statuses(state: RunState) -> list[str]:
    return [step.status for step in state.steps]


async def continued(state: RunState, workflow: Workflow | None = None) -> RunState:
    """The run that passes the gates of `state`, which knows what all its runs finished."""
    assert state.workflow is not None
    workflow = workflow or state.workflow
    scope = continuation(state, workflow)
    preloaded = state.outputs if scope.kind == "only" else {}
    return await played(workflow, POOL, outputs=outputs_of(state), scope=scope, preloaded=preloaded)


@pytest.mark.parametrize(
    ("gates", "reached"),
    [
        ({1}, ["finished", "paused", "finished", "waiting"]),
        ({1, 2}, ["finished", "paused", "paused", "waiting"]),
        ({0, 3}, ["paused", "waiting", "waiting", "waiting"]),
        ({3}, ["finished", "finished", "finished", "paused"]),
    ],
)
async def test_all_that_does_not_read_the_step_is_done_first(gates: set[int], reached: list[str]) -> None:
    workflow = DIAMOND
    for gate in gates:
        workflow = workflow.with_gate(gate)
    state = await played(workflow, POOL)
    assert (state.status, statuses(state), state.answer) == ("paused", reached, None)


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


async def test_a_gate_before_a_pinned_step_stops_nothing() -> None:
    first = await played(DIAMOND, POOL)
    pinned = DIAMOND.with_gate(1).with_pin(1, first.steps[1].output)
    assert not pinned.gates
    assert (await played(pinned, POOL)).status == "finished"


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


@pytest.mark.parametrize("scope", [FORCE, RunScope(kind="from", step=1), RunScope(kind="to", step=2)])
async def test_it_goes_on_as_far_as_it_was_to_go(scope: RunScope) -> None:
    outputs = outputs_of(await played(DIAMOND, POOL))
    gated = DIAMOND.with_gate(2)
    paused = await played(gated, POOL, outputs={} if scope.kind == "to" else outputs, scope=scope)
    whole = scope.kind == "force"
    assert (paused.status, paused.held) == (("paused", (2,)) if scope.kind != "from" else ("finished", ()))
    if paused.status == "paused":
        state = await continued(paused)
        assert state.status == "finished"
        called = {at for at, step in enumerate(state.steps) if step.started_at is not None}
        assert called == ({2, 3} if whole else {2})


def test_a_run_that_waits_at_no_gate_has_nothing_to_go_on_with() -> None:
    with pytest.raises(WorkflowError, match="waits at no gate"):
        continuation(RunState(status="finished", workflow=DIAMOND), DIAMOND)


async def test_the_step_that_the_run_was_for_may_be_gone() -> None:
    paused = await played(DIAMOND.with_gate(2), POOL, scope=RunScope(kind="to", step=2))
    with pytest.raises(WorkflowError, match="was removed"):
        continuation(paused, DIAMOND.remove_step(2))


async def test_a_failure_that_the_answer_needs_counts_before_a_gate() -> None:
    pool = Pool(workers=(Raising(WorkerError("no")), *POOL.workers[1:]))
    gated = workflow_of((), (), (0, 1)).with_worker(1, WORKERS[1]).with_gate(1)
    state = await played(gated.with_worker(2, WORKERS[1]), pool)
    assert (state.status, statuses(state)) == ("failed", ["failed", "waiting", "blocked"])


async def test_what_waits_can_be_stopped_later() -> None:
    state = await played(DIAMOND.with_gate(1), POOL)
    end = RunFinished(run="r", seq=state.seq + 1, at=1e12, outcome="cancelled", answer=None, answer_step=None)
    stopped = advance(state, end)
    assert (stopped.status, stopped.held, stopped.seconds) == ("cancelled", (), state.seconds)


@pytest.mark.slow
async def test_a_run_that_is_stopped_at_its_other_step_is_stopped() -> None:
    going = run_of(workflow_of((), ()).with_gate(1), Pool(workers=(Gated(),)))
    events = []
    async for event in going.events():
        events.append(event)
        if isinstance(event, StepPaused):
            going.cancel()
    state = fold(events)
    assert (state.status, statuses(state)) == ("cancelled", ["cancelled", "waiting"])


@pytest.mark.slow
@cases(60)
@given(workflow=workflows(max_steps=6), data=st.data())
def test_however_often_it_waits_the_end_is_that_of_a_run_without_gates(
    workflow: Workflow, data: st.DataObject
) -> None:
    gates = data.draw(st.sets(st.integers(0, workflow.final)))
    gated = workflow
    for gate in gates:
        gated = gated.with_gate(gate)
    free = asyncio.run(played(workflow, POOL))
    state = asyncio.run(played(gated, POOL))
    waits: list[int] = []
    calls = [at for at, step in enumerate(state.steps) if step.started_at is not None]
    while state.status == "paused":
        held = set(state.held)
        # Nothing that could run is left over: what has no output is held, or reads what has none.
        for at, step in enumerate(gated.steps):
            done = state.steps[at].output is not None
            assert done or at in held or any(state.steps[read].output is None for read in step.access)
        waits += state.held
        radius = blast_radius(
            gated,
            BoundWorkflow.of(gated, query="why?", pool=POOL),
            outputs_of(state),
            scope=continuation(state, gated),
        )
        state = asyncio.run(continued(state))
        called = {at for at, step in enumerate(state.steps) if step.started_at is not None}
        assert held <= called == radius.called
        assert radius.behind.issuperset(state.held)
        calls += sorted(called)
    assert sorted(waits) == sorted(gates)
    assert sorted(calls) == list(range(len(workflow)))
    assert (state.status, state.answer) == (free.status, free.answer)
    assert {at: output.text for at, output in state.outputs.items()} == {
        at: output.text for at, output in free.outputs.items()
    }
