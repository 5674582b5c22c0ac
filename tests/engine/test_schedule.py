"""What an edit makes run again is known before the run, and the run does exactly that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worker_cases import outputs_of, played
from workflow_cases import WORKERS, Edit, edits, workflow_of, workflows

from conductor.engine.schedule import BlastRadius, Schedule, blast_radius
from conductor.errors import WorkflowError
from conductor.messages import Request
from conductor.output import Output
from conductor.run_state import RunState
from conductor.workers.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow import Workflow

DIAMOND = workflow_of((), (0,), (0,), (1, 2))


def pool_of(answer: str | Callable[[Request], str] | None) -> Pool:
    return Pool(workers=tuple(SimulatedWorker(name=name, tokens=3, answer=answer) for name in WORKERS))


def numbered() -> Callable[[Request], str]:
    """An answer that is new each time it is asked for."""
    numbers: Iterator[int] = count()
    return lambda _: f"answer {next(numbers)}"


def edited(workflow: Workflow, changes: list[Edit]) -> Workflow:
    """The workflow after those of the edits that are allowed."""
    for edit in changes:
        try:
            workflow = edit.applied(workflow)
        except WorkflowError:
            continue
    return workflow


def rerun(
    workflow: Workflow, changes: list[Edit], kept: st.DataObject, pool: Pool
) -> tuple[BlastRadius, RunState, dict[str, Output], Workflow]:
    """The radius of an edited workflow with some of its old outputs, and the run that follows."""
    outputs = outputs_of(asyncio.run(played(workflow, pool)))
    known = {address: outputs[address] for address in kept.draw(st.sets(st.sampled_from(sorted(outputs))))}
    new = edited(workflow, changes)
    radius = blast_radius(workflow, new, known, query="why?", pool=pool)
    return radius, asyncio.run(played(new, pool, outputs=known)), known, new


def called(state: RunState) -> set[int]:
    return {i for i, step in enumerate(state.steps) if not step.reused}


@settings(max_examples=60, deadline=None)
@given(workflow=workflows(max_steps=5), changes=edits(min_size=0, max_size=4), kept=st.data())
def test_where_every_answer_is_new_the_radius_is_what_runs(
    workflow: Workflow, changes: list[Edit], kept: st.DataObject
) -> None:
    radius, state, _, new = rerun(workflow, changes, kept, pool_of(numbered()))
    assert called(state) == radius.runs
    assert radius.runs | radius.reused == set(range(len(new)))
    assert not radius.runs & radius.reused
    assert radius.spared == {i for i in radius.runs if radius.runs.intersection(new.steps[i].access)}


@settings(max_examples=60, deadline=None)
@given(
    workflow=workflows(max_steps=5),
    changes=edits(min_size=0, max_size=4),
    kept=st.data(),
    answer=st.sampled_from(["always the same", None]),
)
def test_where_an_answer_comes_out_as_before_only_spared_steps_are_reused(
    workflow: Workflow, changes: list[Edit], kept: st.DataObject, answer: str | None
) -> None:
    radius, state, known, _ = rerun(workflow, changes, kept, pool_of(answer))
    spared = {i for i in radius.spared if state.steps[i].output.fingerprint in known}  # type: ignore[union-attr]
    assert called(state) == radius.runs - spared
    assert state.status == "finished"


@pytest.mark.parametrize(
    ("edit", "runs", "spared", "changed"),
    [
        (lambda w: w, set(), set(), set()),
        (lambda w: w.with_instruction(1, "other"), {1, 3}, {3}, {1}),
        (lambda w: w.with_worker(0, "beta"), {0, 1, 2, 3}, {1, 2, 3}, {0}),
        (lambda w: w.with_access(3, [1]), {3}, set(), {3}),
        (lambda w: w.move_step(2, 1), set(), set(), {1, 2}),
        (lambda w: w.remove_step(3), {2}, set(), set()),
    ],
)
def test_an_edit_has_its_radius(
    edit: Callable[[Workflow], Workflow], runs: set[int], spared: set[int], changed: set[int]
) -> None:
    # Moving 3 before 2 swaps what the last step sees, so equal answers keep its address.
    pool = pool_of("the same")
    outputs = outputs_of(asyncio.run(played(DIAMOND, pool)))
    radius = blast_radius(DIAMOND, edit(DIAMOND), outputs, query="why?", pool=pool)
    assert (radius.runs, radius.spared, radius.edited) == (runs, spared, changed)


def test_nothing_is_reused_before_the_first_run(pool: Pool) -> None:
    radius = blast_radius(None, DIAMOND, {}, query="why?", pool=pool)
    assert (radius.runs, radius.edited) == ({0, 1, 2, 3}, {0, 1, 2, 3})


def test_a_radius_needs_workers_that_the_pool_has(pool: Pool) -> None:
    with pytest.raises(WorkflowError, match="'delta'"):
        blast_radius(None, workflow_of((), worker="delta"), {}, query="why?", pool=pool)


@settings(max_examples=60, deadline=None)
@given(workflow=workflows(), data=st.data())
def test_in_any_order_of_ends_a_step_is_ready_once_and_never_early(
    workflow: Workflow, data: st.DataObject
) -> None:
    schedule = Schedule(workflow)
    ready = schedule.initial()
    seen: list[int] = list(ready)
    done: set[int] = set()
    while ready:
        step = data.draw(st.sampled_from(ready))
        ready.remove(step)
        done.add(step)
        fresh = schedule.done(step)
        assert all(done.issuperset(workflow.steps[i].access) for i in fresh)
        ready += fresh
        seen += fresh
    assert sorted(seen) == list(range(len(workflow)))
