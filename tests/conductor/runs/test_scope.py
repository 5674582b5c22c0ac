"""A run does as much of a workflow as it was asked for, and names what it left out."""

from __future__ import annotations

import pytest

from conductor.errors import WorkflowError
from conductor.runs.events import RunFinished, RunStarted, StepKept
from conductor.runs.scope import FORCE, RunScope
from conductor.runs.state import RunState, fold
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from tests.support.runs.worker_cases import events_of, outputs_of, played, run_of
from tests.support.runs.workflow_cases import workflow_of

DIAMOND = workflow_of((), (0,), (0,), (1, 2))
POOL = Pool(workers=(SimulatedWorker(name="alpha", tokens=3),))


def called(state: RunState) -> set[int]:
    return {at for at, step in enumerate(state.steps) if step.started_at is not None}


@pytest.mark.parametrize(
    ("scope", "calls", "answered"),
    [
        (RunScope(), set(), True),
        (FORCE, {0, 1, 2, 3}, True),
        (RunScope(kind="from", step=1), {1, 3}, True),
        (RunScope(kind="from", step=3), {3}, True),
        (RunScope(kind="to", step=1), set(), False),
        (RunScope(kind="only", step=2), {2}, False),
        (RunScope(kind="only", step=3), {3}, True),
    ],
    ids=lambda value: f"{value.kind} {value.step}" if isinstance(value, RunScope) else None,
)
async def test_after_a_whole_run_each_scope_calls_what_it_states(
    scope: RunScope, calls: set[int], answered: bool
) -> None:
    first = await played(DIAMOND, POOL)
    again = await played(DIAMOND, POOL, outputs=outputs_of(first), scope=scope, preloaded=first.outputs)
    assert called(again) == calls
    assert again.status == "finished"
    assert (again.answer is not None) == answered
    assert again.whole == (scope.kind not in ("to", "only"))


async def test_a_run_to_a_step_does_what_that_step_needs_and_leaves_the_rest_waiting() -> None:
    state = await played(DIAMOND, POOL, scope=RunScope(kind="to", step=2))
    assert called(state) == {0, 2}
    assert state.covers == (0, 2)
    assert [step.status for step in state.steps] == ["finished", "waiting", "finished", "waiting"]
    assert (state.status, state.answer, state.warning) == ("finished", None, None)


async def test_a_step_run_alone_sees_what_was_there_before() -> None:
    first = await played(DIAMOND, POOL)
    before = first.outputs | {0: first.outputs[0].model_copy(update={"text": "as it was"})}
    events = await events_of(run_of(DIAMOND, POOL, scope=RunScope(kind="only", step=1), preloaded=before))
    started = events[0]
    assert isinstance(started, RunStarted)
    assert started.covers == (1,)
    assert [event.because for event in events if isinstance(event, StepKept)] == ["preloaded"]
    state = fold(events)
    assert [seen.response for seen in state.steps[1].request.seen] == ["as it was"]  # type: ignore[union-attr]
    assert isinstance(events[-1], RunFinished)


def test_a_step_run_alone_needs_what_it_reads() -> None:
    with pytest.raises(WorkflowError, match="Step 2 reads step 1, which has no output yet; run to step 2"):
        run_of(DIAMOND, POOL, scope=RunScope(kind="only", step=1))


async def test_a_failure_does_not_block_what_a_pinned_output_stands_before() -> None:
    broken = SimulatedWorker(name="broken", tokens=3, fail_on="")
    pool = Pool(workers=(*POOL.workers, broken))
    output = (await played(DIAMOND, POOL)).outputs[1]
    state = await played(DIAMOND.with_worker(0, "broken").with_pin(1, output), pool)
    assert [step.status for step in state.steps] == ["failed", "finished", "blocked", "blocked"]
    state = await played(workflow_of((), (0,), (1,)).with_worker(0, "broken").with_pin(1, output), pool)
    assert [step.status for step in state.steps] == ["failed", "finished", "finished"]
    assert (state.status, state.warning) == (
        "finished",
        "Failed or blocked, but not needed for the answer: step 1.",
    )


@pytest.mark.parametrize(
    ("workflow", "scope", "expected"),
    [
        (DIAMOND, RunScope(kind="to", step=4), "There is no step 5"),
        (
            DIAMOND.with_pin(1, None),
            RunScope(kind="only", step=7),
            "There is no step 8",
        ),
    ],
)
def test_a_scope_names_a_step_that_is_there(workflow: Workflow, scope: RunScope, expected: str) -> None:
    with pytest.raises(WorkflowError, match=expected):
        scope.check(workflow)


async def test_a_pinned_step_cannot_be_run_alone() -> None:
    output = (await played(DIAMOND, POOL)).outputs[1]
    with pytest.raises(WorkflowError, match="pinned"):
        RunScope(kind="only", step=1).check(DIAMOND.with_pin(1, output))


@pytest.mark.parametrize("wrong", [{"kind": "edited", "step": 1}, {"kind": "only"}, {"kind": "half"}])
def test_a_scope_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"step|Input"):
        RunScope.model_validate(wrong)
