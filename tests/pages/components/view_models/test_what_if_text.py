"""What access edges cost, as it is said below a timeline."""

from __future__ import annotations

import pytest
from timed_run import measured, timed_events, timed_workflow
from worker_cases import outputs_of

from conductor.runs.state import fold
from conductor.runs.what_if import without_edges
from pages.components.view_models.what_if_text import (
    edge_rows,
    edge_sentences,
    no_sentences,
    path_text,
    takes_no_time,
)

DIAMOND = timed_workflow((), (0,), (0,), (1, 2))
SECONDS = [1, 2, 3, 1]


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


def test_where_no_edge_costs_anything_one_sentence_says_so():
    workflow = timed_workflow((), (), (0, 1))
    said = "No single edge made this run noticeably longer."
    assert sentences(timed_events(workflow, [2, 2, 1])) == [said]
    assert sentences(timed_events(workflow, [20, 20.05, 10])) == [said]


def test_every_edge_stands_in_the_list_with_what_it_saves_or_why_that_is_not_known():
    known = outputs_of(fold(timed_events(DIAMOND, SECONDS)))
    kept = {mark: output for mark, output in known.items() if output.step in (0, 1)}
    edges, _ = edges_of(timed_events(DIAMOND, SECONDS, outputs=kept))
    assert [(row.edge, row.without, row.saves) for row in edge_rows(edges)] == [
        ("3 → 4", "3.0 s", "1.0 s"),
        ("1 → 3", "4.0 s", "nothing"),
        ("2 → 4", "4.0 s", "nothing"),
        ("1 → 2", "not known: the reader was reused, and would then be called", "-"),
    ]


def test_the_critical_path_is_named_with_its_share_of_the_run():
    _, timeline = measured(timed_events(DIAMOND, SECONDS))
    assert path_text(timeline) == "Critical path: 1 → 3 → 4, 5.0 s of calls in a run of 5.0 s"
    assert path_text(measured(timed_events(timed_workflow(()), [1]))[1]) == ""


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (timed_events(DIAMOND, SECONDS, stop_after=2), "the run did not finish"),
        ([event for event in timed_events(DIAMOND, SECONDS) if event.at < 3], "when the run has ended"),
        (timed_events(timed_workflow((), ()), [1, 1]), ""),
    ],
    ids=["stopped", "live", "no edges"],
)
def test_where_nothing_is_calculated_the_reason_is_said(events, said):
    state, timeline = measured(events)
    assert without_edges(state, timeline) == ()
    assert said in no_sentences(state)
    assert bool(said) == bool(no_sentences(state))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((), ""),
        ((0,), "1 step had an output already and takes no time here."),
        ((0, 1), "2 steps had an output already and take no time here."),
    ],
)
def test_what_takes_no_time_is_counted(steps, said):
    known = outputs_of(fold(timed_events(DIAMOND, SECONDS)))
    kept = {mark: output for mark, output in known.items() if output.step in steps}
    _, timeline = measured(timed_events(DIAMOND, SECONDS, outputs=kept))
    assert takes_no_time(timeline) == said
