"""A timeline in words: each row, the critical path, and what the access edges cost."""

from __future__ import annotations

import pytest

from conductor.runs.scope import RunScope
from conductor.runs.state import fold
from conductor.runs.timeline import timeline_of, without_edges
from conductor.workflow.model import Workflow
from pages.components.view_models.timeline_text import (
    edge_sentences,
    edge_table,
    no_sentences,
    path_text,
    row_text,
    takes_no_time,
)
from tests.support.runs import nested_run
from tests.support.runs.timed_run import measured, timed_events, timed_workflow

DIAMOND = timed_workflow((), (0,), (0,), (1, 2))
SECONDS = [1, 2, 3, 1]


def words(events):
    return row_text(*measured(events))


def words_of(events):
    return [row.label for row in words(events)]


def test_a_step_that_ran_states_when_for_whom_and_how_long():
    row = words(timed_events(DIAMOND, SECONDS))[3]
    assert (row.name, row.worker, row.label) == ("4. task 4", "w4", "1.0 s")
    assert row.details == (
        "Began after 4.0 s, ended after 5.0 s, took 1.0 s",
        "Began when step 3 was done",
        "On the critical path",
    )


def test_the_first_word_of_a_streamed_answer_has_its_time():
    first, *_ = words(nested_run.events())
    assert any(expected.startswith("First word after ") for expected in first.details)


def test_a_step_without_inputs_begins_at_once():
    details = words(timed_events(DIAMOND, SECONDS))[0].details
    assert details[0] == "Began immediately, ended after 1.0 s, took 1.0 s"


def test_a_step_off_the_critical_path_does_not_claim_it():
    assert "On the critical path" not in words(timed_events(DIAMOND, SECONDS))[1].details
    assert "Waited for no other step" in words(timed_events(DIAMOND, SECONDS))[0].details


def outputs(*steps):
    results = fold(timed_events(DIAMOND, SECONDS)).outputs
    return [results[step] for step in steps]


PINNED = DIAMOND.with_pin(1, fold(timed_events(DIAMOND, SECONDS)).steps[1].output)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (timed_events(DIAMOND, SECONDS, outputs=outputs(0, 2)), ["reused", "2.0 s", "reused", "1.0 s"]),
        (timed_events(PINNED, SECONDS), ["1.0 s", "pinned", "3.0 s", "1.0 s"]),
        (
            timed_events(DIAMOND, SECONDS, scope=RunScope(kind="to", step=1)),
            ["1.0 s", "2.0 s", "not part of this run", "not part of this run"],
        ),
        (
            timed_events(DIAMOND, SECONDS, fail=[1]),
            ["1.0 s", "failed, 2.0 s", "3.0 s", "blocked by step 2"],
        ),
        (
            timed_events(DIAMOND, SECONDS, fail=[1, 2]),
            ["1.0 s", "failed, 2.0 s", "failed, 3.0 s", "blocked by step 2"],
        ),
        (
            timed_events(DIAMOND, SECONDS, stop_after=2),
            ["1.0 s", "stopped, 1.0 s", "stopped, 1.0 s", "not reached"],
        ),
    ],
    ids=["reused", "pinned", "left out", "failed", "failed twice", "stopped"],
)
def test_what_took_no_time_or_came_to_no_end_states_it(events, expected):
    assert words_of(events) == expected


def test_without_a_call_there_is_no_time_to_report():
    reused = words(timed_events(DIAMOND, SECONDS, outputs=outputs(0)))[0]
    assert reused.details == ("Its output was known: no call, no time",)
    assert words(timed_events(PINNED, SECONDS))[1].details == ("Its output is pinned: no call, no time",)
    blocked = words(timed_events(DIAMOND, SECONDS, fail=[1]))[3]
    assert blocked.details == ("Never began, because it reads step 2",)


def test_a_live_run_states_how_long_its_steps_have_been_running():
    state = fold(event for event in timed_events(DIAMOND, SECONDS) if event.at < 3)
    rows = row_text(state, timeline_of(state, now=2.5))
    assert [row.label for row in rows] == ["1.0 s", "1.5 s so far", "1.5 s so far", "waiting"]
    assert rows[1].details[0] == "Began after 1.0 s and has been running for 1.5 s"
    assert rows[3].details == ("Has not begun yet",)


def test_retries_and_a_stand_in_are_reported():
    rows = words(nested_run.events())
    assert "Asked again 2 times" in rows[0].details
    assert rows[2].worker == "writer-8b"


def test_a_text_of_any_length_gives_a_short_name():
    long = Workflow.of([timed_workflow(()).steps[0].model_copy(update={"instruction": "word " * 20_000})])
    assert len(words(timed_events(long, [1]))[0].name) <= 80


def edges_of(events):
    state, timeline = measured(events)
    return without_edges(state, timeline), timeline


def sentences(events):
    return edge_sentences(*edges_of(events))


def test_the_edges_that_cost_most_have_a_sentence_each():
    chain = timed_workflow((), (0,), (1,), (2,), (3,))
    assert sentences(timed_events(chain, [1, 2, 3, 2, 2])) == [
        "Without the edge 3 → 4 this run would have taken 6.0 s instead of 10.0 s.",
        "Without the edge 2 → 3 this run would have taken 7.0 s instead of 10.0 s.",
        "Without the edge 4 → 5 this run would have taken 8.0 s instead of 10.0 s.",
    ]


def test_a_saving_too_small_to_show_in_the_total_is_named_itself():
    workflow = timed_workflow((), (), (0, 1))
    assert sentences(timed_events(workflow, [2.00, 2.03, 0.97])) == [
        "Without the edge 2 → 3 this run would have taken 30 ms less than its 3.0 s."
    ]


def test_where_no_edge_costs_anything_one_sentence_states_it():
    workflow = timed_workflow((), (), (0, 1))
    expected = "No single edge made this run noticeably longer."
    assert sentences(timed_events(workflow, [2, 2, 1])) == [expected]
    assert sentences(timed_events(workflow, [20, 20.05, 10])) == [expected]


def test_every_edge_stands_in_the_list_with_what_it_saves_or_why_that_is_not_known():
    edges, _ = edges_of(timed_events(DIAMOND, SECONDS, outputs=outputs(0, 1)))
    assert edge_table(edges) == {
        "Edge": ["3 → 4", "1 → 3", "2 → 4", "1 → 2"],
        "Run without it": [
            "3.0 s",
            "4.0 s",
            "4.0 s",
            "unknown: the reader was reused, but would be called without this edge",
        ],
        "Saves": ["1.0 s", "nothing", "nothing", "-"],
    }


def test_the_critical_path_is_named_with_its_share_of_the_run():
    _, timeline = measured(timed_events(DIAMOND, SECONDS))
    assert path_text(timeline) == "Critical path: 1 → 3 → 4, 5.0 s of calls in a run of 5.0 s"
    assert path_text(measured(timed_events(timed_workflow(()), [1]))[1]) == ""


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (timed_events(DIAMOND, SECONDS, stop_after=2), "the run did not finish"),
        ([event for event in timed_events(DIAMOND, SECONDS) if event.at < 3], "when the run ends"),
        (timed_events(timed_workflow((), ()), [1, 1]), ""),
    ],
    ids=["stopped", "live", "no edges"],
)
def test_where_nothing_is_calculated_the_reason_is_stated(events, expected):
    state, timeline = measured(events)
    assert without_edges(state, timeline) == ()
    assert expected in no_sentences(state)
    assert bool(expected) == bool(no_sentences(state))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((), ""),
        ((0,), "1 step had an output already and takes no time here."),
        ((0, 1), "2 steps had an output already and take no time here."),
    ],
)
def test_what_takes_no_time_is_counted(steps, expected):
    _, timeline = measured(timed_events(DIAMOND, SECONDS, outputs=outputs(*steps)))
    assert takes_no_time(timeline) == expected
