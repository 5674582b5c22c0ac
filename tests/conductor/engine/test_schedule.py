"""What an edit makes run again is known before the run, and the run does exactly that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.known_outputs import NO_OUTPUTS, EarlierRun, KnownOutputs, OutputArchive
from conductor.engine.schedule import BlastRadius, blast_radius, changed_pins
from conductor.errors import WorkflowError
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState
from conductor.values.messages import Request
from conductor.values.output import HandEdit, Output
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from tests.support.cases.property_cases import cases
from tests.support.runs.worker_cases import outputs_of, played
from tests.support.runs.workflow_cases import WORKERS, Edit, edits, workflow_of, workflows

DIAMOND = workflow_of((), (0,), (0,), (1, 2))


def pool_of(answer: str | Callable[[Request], str] | None) -> Pool:
    return Pool(workers=tuple(SimulatedWorker(name=name, tokens=3, answer=answer) for name in WORKERS))


def set_to(workflow: Workflow, pool: Pool) -> BoundWorkflow:
    return BoundWorkflow.of(workflow, query="why?", pool=pool)


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


@dataclass(frozen=True)
class Rerun:
    """The radius of an edited workflow with some of its old outputs, and the run that follows."""

    radius: BlastRadius
    state: RunState
    reusable: Collection[Output]
    workflow: Workflow
    scope: RunScope


def rerun(workflow: Workflow, changes: list[Edit], data: st.DataObject, pool: Pool) -> Rerun:
    first = asyncio.run(played(workflow, pool))
    steps = data.draw(st.sets(st.sampled_from(range(len(workflow)))))
    reusable = {step: first.outputs[step] for step in steps}
    earlier = KnownOutputs((EarlierRun(workflow, reusable),), OutputArchive(reusable.values()))
    new = edited(workflow, changes)
    kind = data.draw(st.sampled_from(["edited", "force", "from", "to", "only"]))
    free = sorted(set(range(len(new))) - (new.pins.keys() if kind == "only" else set()))
    if kind in ("edited", "force") or not free:
        scope = EDITED if kind != "force" else RunScope(kind="force")
    else:
        scope = RunScope(kind=kind, step=data.draw(st.sampled_from(free)))
    preloaded = dict.fromkeys(range(len(new)), first.steps[0].output) if scope.kind == "only" else {}
    radius = blast_radius(workflow, set_to(new, pool), earlier, scope=scope, preloaded=preloaded)
    state = asyncio.run(played(new, pool, outputs=earlier, scope=scope, preloaded=preloaded))
    return Rerun(radius, state, reusable.values(), new, scope)


def called(state: RunState) -> set[int]:
    return {i for i, step in enumerate(state.steps) if step.started_at is not None}


def having(state: RunState, how: str) -> set[int]:
    return {i for i, step in enumerate(state.steps) if getattr(step, how)}


@pytest.mark.slow
@cases(100)
@given(workflow=workflows(max_steps=5), changes=edits(min_size=0, max_size=4), data=st.data())
def test_where_every_answer_is_new_the_radius_is_what_runs(
    workflow: Workflow, changes: list[Edit], data: st.DataObject
) -> None:
    again = rerun(workflow, changes, data, pool_of(numbered()))
    radius, new = again.radius, again.workflow
    assert called(again.state) == radius.runs
    assert having(again.state, "reused") == radius.reused
    assert having(again.state, "kept_because") == radius.kept_steps
    assert again.scope.covers(new) <= radius.runs | radius.outputs.keys()
    assert not radius.runs & radius.outputs.keys()
    forced = again.scope.forced(new)
    reading = {i for i in radius.runs if radius.runs.intersection(new.steps[i].access)}
    assert radius.spared <= (reading - forced if again.reusable else set())
    assert radius.equal_steps == having(again.state, "of_equal_step")
    assert again.state.status == "finished"


@pytest.mark.slow
@cases(100)
@given(
    workflow=workflows(max_steps=5),
    changes=edits(min_size=0, max_size=4),
    data=st.data(),
    answer=st.sampled_from(["always the same", None]),
)
def test_where_an_answer_comes_out_as_before_only_spared_steps_are_reused(
    workflow: Workflow, changes: list[Edit], data: st.DataObject, answer: str | None
) -> None:
    again = rerun(workflow, changes, data, pool_of(answer))
    assert again.radius.runs - again.radius.spared <= called(again.state) <= again.radius.runs
    assert all(again.state.outputs[i] in again.reusable for i in having(again.state, "reused"))
    assert again.state.status == "finished"


def test_a_pinned_output_stands_and_states_when_its_inputs_have_changed() -> None:
    pool = pool_of(numbered())
    first = asyncio.run(played(DIAMOND, pool))
    pinned = DIAMOND.with_pin(1, first.steps[1].output).with_instruction(0, "other")
    state = asyncio.run(played(pinned, pool, outputs=outputs_of(first)))
    assert called(state) == {0, 2, 3}
    assert (state.steps[1].text, state.steps[1].kept_because) == (first.steps[1].text, "pinned")
    bound = set_to(pinned, pool)
    assert changed_pins(bound, state.outputs) == {1}
    assert changed_pins(bound, first.outputs) == {1}, "it is shown the other instruction"
    assert changed_pins(set_to(DIAMOND.with_pin(1, first.steps[1].output), pool), first.outputs) == set()
    assert changed_pins(bound, {1: first.outputs[1]}) == set()


def test_a_pinned_step_needs_no_worker_of_the_pool_until_it_is_unpinned() -> None:
    first = asyncio.run(played(DIAMOND, pool_of("here")))
    gone = DIAMOND.with_worker(1, "gone-8b")
    pinned = gone.with_pin(1, first.steps[1].output)
    assert (gone.missing_workers(WORKERS), pinned.missing_workers(WORKERS)) == (("gone-8b",), ())
    state = asyncio.run(played(pinned, pool_of("here")))
    assert state.status == "finished"
    assert called(state) == {0, 2, 3}
    assert changed_pins(set_to(pinned, pool_of("here")), state.outputs) == set(), "it cannot be known"
    with pytest.raises(WorkflowError, match="Step 2 names the worker 'gone-8b', which the pool does not"):
        set_to(gone, pool_of("here"))


def test_what_a_person_wrote_is_read_as_such_and_only_then() -> None:
    pool = pool_of("the same")
    first = asyncio.run(played(DIAMOND, pool))
    output = first.outputs[1]
    by_hand = DIAMOND.with_pin(1, output.by_hand(output.text, edit=HandEdit(at=1.0)))
    state = asyncio.run(played(by_hand, pool, outputs=outputs_of(first)))
    assert called(state) == {3}
    request = state.steps[3].request
    assert [seen.by_hand for seen in request.seen] == [True, False]
    assert 'edited="by hand"' in request.messages[0].content
    assert 'edited="by hand"' not in first.steps[3].request.messages[0].content


@pytest.mark.parametrize(
    ("edit", "runs", "spared", "changed"),
    [
        (lambda w: w, set(), set(), set()),
        (lambda w: w.with_instruction(1, "other"), {1, 3}, set(), {1}),
        (lambda w: w.with_worker(0, "beta"), {0, 1, 2, 3}, {3}, {0}),
        (lambda w: w.with_access(3, [1]), {3}, set(), {3}),
        (lambda w: w.move_step(2, 1), {3}, set(), {1, 2}),
        (lambda w: w.remove_step(3), {2}, set(), set()),
    ],
)
def test_an_edit_has_its_radius(
    edit: Callable[[Workflow], Workflow], runs: set[int], spared: set[int], changed: set[int]
) -> None:
    # The last step is shown what the steps before it were sent, and not what those before them were.
    pool = pool_of("the same")
    outputs = outputs_of(asyncio.run(played(DIAMOND, pool)))
    radius = blast_radius(DIAMOND, set_to(edit(DIAMOND), pool), outputs)
    assert (radius.runs, radius.spared, radius.edited) == (runs, spared, changed)


def test_nothing_is_reused_before_the_first_run(pool: Pool) -> None:
    radius = blast_radius(None, set_to(DIAMOND, pool), NO_OUTPUTS)
    assert (radius.runs, radius.edited) == ({0, 1, 2, 3}, {0, 1, 2, 3})


def test_a_workflow_is_set_to_workers_that_the_pool_has(pool: Pool) -> None:
    with pytest.raises(WorkflowError, match="'delta'"):
        set_to(workflow_of((), worker="delta"), pool)
