"""What a run would have taken with one edge less, held against runs that really had one edge less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timed_run import measured, timed_events, timed_workflow
from worker_cases import outputs_of
from workflow_cases import workflows

from conductor.engine.scope import RunScope
from conductor.runs.state import fold
from conductor.runs.what_if import seconds_of, without_edges
from conductor.workflow.model import Workflow

DIAMOND = timed_workflow((), (0,), (0,), (1, 2))


def told(events):
    """Each edge, counted from 1, with the seconds without it and why they are not known."""
    state, timeline = measured(events)
    return {(e.read + 1, e.reader + 1): (e.seconds, e.unknown) for e in without_edges(state, timeline)}


def own_workers(workflow: Workflow) -> Workflow:
    return timed_workflow(*(step.access for step in workflow.steps))


@st.composite
def timed_runs(draw):
    """A workflow, what each step takes in seconds, and which steps fail."""
    workflow = own_workers(draw(workflows()))
    count = len(workflow)
    seconds = draw(st.lists(st.integers(0, 20), min_size=count, max_size=count))
    fail = draw(st.sets(st.integers(0, count - 1), max_size=2))
    return workflow, seconds, sorted(fail)


def test_the_edge_on_the_critical_path_is_worth_what_the_next_longest_way_is_shorter():
    # 1 (1 s) -> 2 (2 s) -> 4 (1 s), 1 -> 3 (3 s) -> 4: five seconds.
    assert told(timed_events(DIAMOND, [1, 2, 3, 1])) == {
        (3, 4): (4, None),
        (1, 3): (4, None),
        (1, 2): (5, None),
        (2, 4): (5, None),
    }


def test_edges_are_ranked_by_the_seconds_they_cost():
    state, timeline = measured(timed_events(timed_workflow((), (), (0, 1), (2,)), [1, 4, 1, 2]))
    ranked = without_edges(state, timeline)
    assert [(edge.read, edge.reader, edge.saved) for edge in ranked] == [(1, 2, 3), (2, 3, 2), (0, 2, 0)]


@given(timed_runs())
def test_a_run_without_an_edge_takes_what_was_reckoned_from_the_run_with_it(case):
    workflow, seconds, fail = case
    state, timeline = measured(timed_events(workflow, seconds, fail=fail))
    for edge in without_edges(state, timeline):
        reads = [read for read in workflow.steps[edge.reader].access if read != edge.read]
        _, really = measured(timed_events(workflow.with_access(edge.reader, reads), seconds, fail=fail))
        if edge.unknown is None:
            assert really.seconds == pytest.approx(edge.seconds)
        else:
            assert edge.unknown == "blocked"
            assert really.rows[edge.reader].part == "called"


@given(timed_runs())
def test_no_edge_less_reproduces_the_measured_end(case):
    workflow, seconds, fail = case
    _, timeline = measured(timed_events(workflow, seconds, fail=fail))
    access = [step.access for step in workflow.steps]
    assert seconds_of(timeline, access) == pytest.approx(timeline.seconds)


@given(timed_runs())
def test_an_edge_less_never_takes_longer_and_only_the_critical_path_gains(case):
    workflow, seconds, fail = case
    state, timeline = measured(timed_events(workflow, seconds, fail=fail))
    for edge in without_edges(state, timeline):
        if edge.unknown is None:
            assert 0 <= edge.saved <= timeline.seconds
            assert edge.seconds == pytest.approx(timeline.seconds - edge.saved)
            assert edge.saved == 0 or {edge.read, edge.reader} <= set(timeline.path)


def test_the_engines_own_time_between_steps_stays():
    slow = [event.model_copy(update={"at": event.at * 1.5 + event.seq}) for event in _events(DIAMOND)]
    state, timeline = measured(slow)
    assert any(row.gap > 0 for row in timeline.rows)
    assert timeline.tail > 0
    assert seconds_of(timeline, [step.access for step in DIAMOND.steps]) == pytest.approx(timeline.seconds)
    assert without_edges(state, timeline)[0].saved > 0


def _events(workflow):
    return timed_events(workflow, [1, 2, 3, 1])


def test_an_edge_into_a_reused_step_has_no_known_time_for_it_would_be_called():
    known = outputs_of(fold(_events(DIAMOND)))
    kept = {mark: output for mark, output in known.items() if output.step in (0, 1)}
    assert told(timed_events(DIAMOND, [1, 2, 3, 1], outputs=kept)) == {
        (3, 4): (3, None),
        (1, 3): (4, None),
        (2, 4): (4, None),
        (1, 2): (None, "reused"),
    }


def test_an_edge_that_alone_blocked_a_step_has_no_known_time():
    assert told(timed_events(DIAMOND, [1, 2, 3, 1], fail=[1])) == {
        (1, 3): (3, None),
        (1, 2): (4, None),
        (3, 4): (4, None),
        (2, 4): (None, "blocked"),
    }


def test_a_step_blocked_by_two_stays_blocked_without_one_of_them():
    assert told(timed_events(timed_workflow((), (), (0, 1)), [1, 2, 1], fail=[0, 1])) == {
        (1, 3): (2, None),
        (2, 3): (2, None),
    }


def test_a_pinned_step_waits_for_nobody_so_what_it_reads_costs_nothing():
    output = fold(_events(DIAMOND)).steps[2].output
    found = told(timed_events(DIAMOND.with_pin(2, output), [1, 2, 3, 1]))
    assert found == {(1, 2): (3, None), (2, 4): (3, None), (1, 3): (4, None), (3, 4): (4, None)}


def test_edges_of_steps_that_took_no_part_are_left_out():
    found = told(timed_events(DIAMOND, [1, 2, 3, 1], scope=RunScope(kind="to", step=1)))
    assert found == {(1, 2): (2, None)}


def test_of_a_run_that_was_stopped_nothing_is_reckoned():
    assert told(timed_events(DIAMOND, [1, 2, 3, 1], stop_after=2)) == {}


def test_of_a_live_run_nothing_is_reckoned():
    assert told([event for event in _events(DIAMOND) if event.at < 3]) == {}


def test_a_single_step_has_no_edge():
    assert told(timed_events(timed_workflow(()), [1])) == {}
