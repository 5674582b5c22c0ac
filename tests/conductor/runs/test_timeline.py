"""A timeline shows when each step ran, for whom it waited, and which way through the run was the longest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.runs.events import (
    Event,
    RunFinished,
    RunStarted,
    StepDelta,
    StepFinished,
    StepRetried,
    StepStarted,
)
from conductor.runs.scope import RunScope
from conductor.runs.state import RunState, fold
from conductor.runs.timeline import Moments, seconds_of, timeline_of, without_edges
from conductor.workflow.model import Workflow
from tests.support.runs import nested_run
from tests.support.runs.timed_run import measured, timed_events, timed_workflow
from tests.support.runs.worker_cases import outputs_of
from tests.support.runs.workflow_cases import workflow_of, workflows

DIAMOND = timed_workflow((), (0,), (0,), (1, 2))


def ends(timeline):
    return [row.end for row in timeline.rows]


def test_steps_start_when_the_last_step_they_read_is_done_and_name_it():
    _, timeline = measured(timed_events(DIAMOND, [1, 2, 3, 1]))
    assert [(row.start, row.end) for row in timeline.rows] == [(0, 1), (1, 3), (1, 4), (4, 5)]
    assert [row.waited_for for row in timeline.rows] == [None, 0, 0, 2]
    assert [row.ready for row in timeline.rows] == [0, 1, 1, 4]
    assert (timeline.seconds, timeline.tail, timeline.live) == (5, 0, False)


@pytest.mark.parametrize(
    ("seconds", "path"),
    [([1, 2, 3, 1], (0, 2, 3)), ([1, 3, 2, 1], (0, 1, 3)), ([0, 1, 1, 1], (0, 2, 3))],
    ids=["over the third", "over the second", "of equals the later"],
)
def test_the_critical_path_goes_back_from_the_step_that_ended_last(seconds, path):
    _, timeline = measured(timed_events(DIAMOND, seconds))
    assert timeline.path == path


def test_a_step_that_no_one_reads_is_the_critical_path_where_it_ends_last():
    _, timeline = measured(timed_events(timed_workflow((), (), (0,)), [1, 9, 1]))
    assert timeline.path == (1,)
    assert timeline.seconds == 9


def test_the_critical_path_is_measured_not_the_longest_sum_of_durations():
    # Step 3 was held up by something else than its inputs, as where a worker has only one lane.
    stamps = iter(range(99))

    def at(seconds, kind, **fields):
        return kind(run="r", seq=next(stamps), at=100.0 + seconds, **fields)

    workflow = workflow_of((), (), (0, 1))
    started = {"worker": "alpha", "worker_kind": "simulated", "fingerprint": "f"}
    reported = fold(timed_events(timed_workflow(()), [1]))
    output, request = reported.steps[0].output, reported.steps[0].request
    events = [
        at(0, RunStarted, query="why?", workflow=workflow),
        at(0, StepStarted, step=0, request=request, **started),
        at(4, StepStarted, step=1, request=request, **started),
        at(5, StepFinished, step=0, output=output),
        at(6, StepFinished, step=1, output=output),
        at(6.5, StepStarted, step=2, request=request, **started),
        at(7, StepFinished, step=2, output=output),
        at(7.25, RunFinished, outcome="finished", answer="", answer_step=2),
    ]
    _, timeline = measured(events)
    assert timeline.path == (1, 2)  # although step 1 took longer than step 2
    assert [row.gap for row in timeline.rows] == [0, 4, 0.5]
    assert timeline.tail == 0.25


def test_the_first_word_is_one_that_was_not_withdrawn():
    events = timed_events(timed_workflow(()), [4])
    at = events[0].at
    delta = StepDelta(run="r", seq=2, at=at + 1, step=0, text="gr")
    withdrawal = StepRetried(
        run="r", seq=3, at=at + 2, step=0, attempt=1, message="m", seconds=0, withdrawn=2
    )
    again = StepDelta(run="r", seq=4, at=at + 3, step=0, text="bl")
    reported = [*events[:2], delta, withdrawal, again, *events[2:]]
    assert Moments.of(reported[:4]).first_words == {}
    assert Moments.of(reported).first_words == {0: at + 3}


def test_what_was_reused_takes_no_time_and_holds_no_one_up():
    first = timed_events(DIAMOND, [1, 2, 3, 1])
    selection = [output for output in outputs_of(fold(first)).archive if output.step in (0, 2)]
    _, timeline = measured(timed_events(DIAMOND, [1, 2, 3, 1], outputs=selection))
    assert [row.part for row in timeline.rows] == ["reused", "called", "reused", "called"]
    assert ends(timeline) == [0, 2, 0, 3]
    assert [row.waited_for for row in timeline.rows] == [None, None, None, 1]
    assert [row.seconds for row in timeline.rows] == [None, 2, None, 1]
    assert timeline.path == (1, 3)


def test_a_reused_step_behind_a_call_counts_when_that_call_is_done():
    chain = timed_workflow((), (0,), (1,))
    outputs = outputs_of(fold(timed_events(chain, [1, 2, 3])))
    second = [output for output in outputs.archive if output.step == 1]
    _, timeline = measured(timed_events(chain, [4, 2, 3], outputs=second))
    assert [row.part for row in timeline.rows] == ["called", "reused", "called"]
    assert ends(timeline) == [4, 4, 7]
    assert timeline.path == (0, 1, 2)


def test_a_run_of_reused_steps_only_has_no_critical_path():
    outputs = outputs_of(fold(timed_events(DIAMOND, [1, 2, 3, 1])))
    _, timeline = measured(timed_events(DIAMOND, [1, 2, 3, 1], outputs=outputs))
    assert timeline.path == ()
    assert timeline.seconds == 0


def test_a_pinned_step_counts_from_the_start_whatever_it_reads():
    chain = timed_workflow((), (0,), (1,))
    output = fold(timed_events(chain, [1, 2, 3])).steps[1].output
    _, timeline = measured(timed_events(chain.with_pin(1, output), [5, 2, 3]))
    assert [row.part for row in timeline.rows] == ["called", "pinned", "called"]
    assert ends(timeline) == [5, 0, 3]
    assert timeline.rows[2].waited_for is None
    assert timeline.path == (0,)


def test_steps_that_a_run_leaves_out_have_no_time():
    _, timeline = measured(timed_events(DIAMOND, [1, 2, 3, 1], scope=RunScope(kind="to", step=1)))
    assert [row.part for row in timeline.rows] == ["called", "called", "left out", "left out"]
    assert ends(timeline) == [1, 3, None, None]
    assert timeline.seconds == 3


def test_a_failed_step_took_its_time_and_what_it_blocks_took_none():
    _, timeline = measured(timed_events(DIAMOND, [1, 2, 3, 1], fail=[1]))
    assert [(row.part, row.status) for row in timeline.rows] == [
        ("called", "finished"),
        ("called", "failed"),
        ("called", "finished"),
        ("blocked", "blocked"),
    ]
    assert ends(timeline) == [1, 3, 4, None]
    assert timeline.path == (0, 2)


def test_a_stopped_run_shows_how_far_its_steps_came():
    _, timeline = measured(timed_events(DIAMOND, [1, 2, 3, 1], stop_after=2))
    assert [(row.part, row.end) for row in timeline.rows] == [
        ("called", 1),
        ("called", 2),
        ("called", 2),
        ("not reached", None),
    ]
    assert [row.status for row in timeline.rows][1:3] == ["cancelled", "cancelled"]


def test_a_live_run_grows_with_the_clock_and_has_no_critical_path_yet():
    events = timed_events(DIAMOND, [1, 2, 3, 1])
    under_way = [event for event in events if event.at < 3]
    timeline = timeline_of(fold(under_way), now=2.5)
    assert (timeline.live, timeline.seconds, timeline.path) == (True, 2.5, ())
    assert [(row.start, row.end) for row in timeline.rows] == [(0, 1), (1, None), (1, None), (None, None)]
    assert timeline.rows[3].part == "not reached"


def test_an_interrupted_run_ends_with_the_last_word_of_its_process():
    events: list[Event] = [event for event in timed_events(DIAMOND, [1, 2, 3, 1]) if event.at < 4]
    last = events[-1]
    end = RunFinished(
        run=last.run,
        seq=last.seq + 1,
        at=last.at + 86_400,
        outcome="interrupted",
        answer=None,
        answer_step=None,
    )
    state, timeline = measured([*events, end])
    assert state.status == "interrupted"
    assert timeline.seconds == 3
    assert timeline_of(state, now=0.0).seconds == 3  # also where only the state is known
    assert [row.status for row in timeline.rows] == ["finished", "finished", "interrupted", "waiting"]
    assert timeline.rows[2].end is None


def test_first_words_and_retries_are_reported_in_seconds_from_the_start():
    events = nested_run.events()
    _, timeline = measured(events)
    began = events[0].at
    first = next(event for event in events if isinstance(event, StepDelta) and event.step == 0)
    assert timeline.rows[0].first_word == first.at - began
    assert timeline.rows[1].first_word is None
    assert [round(at, 6) for at in timeline.rows[0].retries] == [0.2, 0.3]


def test_a_run_that_has_just_started_has_rows_without_times():
    started = RunStarted(run="r", seq=0, at=5.0, query="why?", workflow=workflow_of((), (0,)))
    timeline = timeline_of(fold([started]), now=5.0)
    assert [row.start for row in timeline.rows] == [None, None]
    assert (timeline.seconds, timeline.tail) == (0, 0)


def test_a_state_of_nothing_has_an_empty_timeline():
    assert timeline_of(RunState(), now=0.0, moments=Moments()).rows == ()


DIAMOND = timed_workflow((), (0,), (0,), (1, 2))


def reported(events):
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
    assert reported(timed_events(DIAMOND, [1, 2, 3, 1])) == {
        (3, 4): (4, None),
        (1, 3): (4, None),
        (1, 2): (5, None),
        (2, 4): (5, None),
    }


def test_edges_are_ranked_by_the_seconds_they_cost():
    state, timeline = measured(timed_events(timed_workflow((), (), (0, 1), (2,)), [1, 4, 1, 2]))
    ranked = without_edges(state, timeline)
    assert [(edge.read, edge.reader, edge.saved) for edge in ranked] == [(1, 2, 3), (2, 3, 2), (0, 2, 0)]


@pytest.mark.slow
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


@pytest.mark.slow
@given(timed_runs())
def test_no_edge_less_reproduces_the_measured_end(case):
    workflow, seconds, fail = case
    _, timeline = measured(timed_events(workflow, seconds, fail=fail))
    access = [step.access for step in workflow.steps]
    assert seconds_of(timeline, access) == pytest.approx(timeline.seconds)


@pytest.mark.slow
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
    selection = [output for output in outputs_of(fold(_events(DIAMOND))).archive if output.step in (0, 1)]
    assert reported(timed_events(DIAMOND, [1, 2, 3, 1], outputs=selection)) == {
        (3, 4): (3, None),
        (1, 3): (4, None),
        (2, 4): (4, None),
        (1, 2): (None, "reused"),
    }


def test_an_edge_that_alone_blocked_a_step_has_no_known_time():
    assert reported(timed_events(DIAMOND, [1, 2, 3, 1], fail=[1])) == {
        (1, 3): (3, None),
        (1, 2): (4, None),
        (3, 4): (4, None),
        (2, 4): (None, "blocked"),
    }


def test_a_step_blocked_by_two_stays_blocked_without_one_of_them():
    assert reported(timed_events(timed_workflow((), (), (0, 1)), [1, 2, 1], fail=[0, 1])) == {
        (1, 3): (2, None),
        (2, 3): (2, None),
    }


def test_a_pinned_step_waits_for_no_one_so_what_it_reads_costs_nothing():
    output = fold(_events(DIAMOND)).steps[2].output
    edges = reported(timed_events(DIAMOND.with_pin(2, output), [1, 2, 3, 1]))
    assert edges == {(1, 2): (3, None), (2, 4): (3, None), (1, 3): (4, None), (3, 4): (4, None)}


def test_edges_of_steps_that_took_no_part_are_left_out():
    edges = reported(timed_events(DIAMOND, [1, 2, 3, 1], scope=RunScope(kind="to", step=1)))
    assert edges == {(1, 2): (2, None)}


def test_of_a_run_that_was_stopped_nothing_is_reckoned():
    assert reported(timed_events(DIAMOND, [1, 2, 3, 1], stop_after=2)) == {}


def test_of_a_live_run_nothing_is_reckoned():
    assert reported([event for event in _events(DIAMOND) if event.at < 3]) == {}


def test_a_single_step_has_no_edge():
    assert reported(timed_events(timed_workflow(()), [1])) == {}
