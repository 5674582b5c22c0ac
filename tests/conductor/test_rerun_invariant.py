"""What stands on a card is what this step was sent, and gave: for any plan and any edits.

Through `conductor.run`; `tests/studio/test_rerun_doors.py` goes through the other doors.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import conductor
from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.continuation import continuation
from conductor.engine.known_outputs import KnownOutputs
from conductor.engine.run import WorkflowRun
from conductor.engine.schedule import blast_radius
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState, fold
from conductor.workers.pool.pool import Pool
from tests.support.runs.rerun_cases import (
    Change,
    Plan,
    Wire,
    changes,
    check_cards,
    check_own,
    most_called,
    plans,
    remembered_pool,
)

QUERY = "About 17."
CHAINS = st.lists(changes(), min_size=1, max_size=4)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans(), chain=CHAINS)
def test_a_card_shows_what_its_step_was_sent_and_gave(plan: Plan, chain: list[list[Change]]) -> None:
    asyncio.run(_rerun(plan, chain))


@pytest.mark.thorough
@settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans(), chain=CHAINS)
def test_a_card_shows_it_for_five_thousand_plans(plan: Plan, chain: list[list[Change]]) -> None:
    asyncio.run(_rerun(plan, chain))


async def _rerun(plan: Plan, chain: list[list[Change]]) -> None:
    wire = Wire()
    pool = remembered_pool(wire)
    states: list[RunState] = []
    versions = [plan]
    last = await _run(plan, pool, states, wire)
    for edits in chain:
        before, ids = last, versions[-1].ids
        for edit in edits:
            versions.append(edit.applied(versions, before.outputs if edit is edits[0] else {}))
        last = await _run(versions[-1], pool, states, wire)
        check_own(before, ids, last, versions[-1].ids)
    calls = len(wire.calls)
    again = await conductor.arun(versions[-1].workflow.ungated, QUERY, pool=pool, after=states)
    assert len(wire.calls) == calls, "nothing was edited"
    assert {at: output.text for at, output in again.outputs.items()} == {
        at: output.text for at, output in last.outputs.items()
    }


async def _run(plan: Plan, pool: Pool, states: list[RunState], wire: Wire) -> RunState:
    """The run of the plan to its end, past all gates; each part is compared with its forecast."""
    state = await _part(plan, pool, states, wire, EDITED)
    while state.status == "paused":
        state = await _part(plan, pool, states, wire, continuation(state, plan.workflow))
    assert state.status == "finished"
    return state


async def _part(plan: Plan, pool: Pool, states: list[RunState], wire: Wire, scope: RunScope) -> RunState:
    reusable = KnownOutputs.of(*reversed(states))
    bound = BoundWorkflow.of(plan.workflow, query=QUERY, pool=pool)
    radius = blast_radius(None, bound, reusable, scope=scope)
    before = Counter(wire.calls)
    run = WorkflowRun(bound, pool, run=f"run {len(states)}", reusable=reusable, scope=scope)
    state = fold([event async for event in run.events()])
    states.append(state)
    check_cards(state, wire)
    called = {at for at, step in enumerate(state.steps) if step.started_at is not None}
    assert radius.called - radius.spared <= called <= most_called(radius, state)
    assert sum((Counter(wire.calls) - before).values()) == len(called)
    assert {at for at, step in enumerate(state.steps) if step.of_equal_step} >= radius.equal_steps
    return state
