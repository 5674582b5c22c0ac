"""What each row of a timeline says of its step."""

from __future__ import annotations

import nested_run
import pytest
from timed_run import measured, timed_events, timed_workflow
from worker_cases import outputs_of

from conductor.engine.scope import RunScope
from conductor.runs.state import fold
from conductor.runs.timeline import timeline_of
from conductor.workflow.model import Workflow
from pages.components.view_models.timeline_rows import row_text

DIAMOND = timed_workflow((), (0,), (0,), (1, 2))
SECONDS = [1, 2, 3, 1]


def words(events):
    return row_text(*measured(events))


def says(events):
    return [row.label for row in words(events)]


def test_a_step_that_ran_says_when_for_whom_and_how_long():
    row = words(timed_events(DIAMOND, SECONDS))[3]
    assert (row.name, row.worker, row.label) == ("4. task 4", "w4", "1.0 s")
    assert row.details == (
        "Began after 4.0 s, ended after 5.0 s, took 1.0 s",
        "Began when step 3 was done",
        "On the critical path",
    )


def test_the_first_word_of_a_streamed_answer_has_its_time():
    first, *_ = words(nested_run.events())
    assert any(said.startswith("First word after ") for said in first.details)


def test_a_step_without_inputs_begins_at_once():
    details = words(timed_events(DIAMOND, SECONDS))[0].details
    assert details[0] == "Began at once, ended after 1.0 s, took 1.0 s"


def test_a_step_off_the_critical_path_does_not_claim_it():
    assert "On the critical path" not in words(timed_events(DIAMOND, SECONDS))[1].details
    assert "Waited for no other step" in words(timed_events(DIAMOND, SECONDS))[0].details


def known(*steps):
    return {
        mark: output
        for mark, output in outputs_of(fold(timed_events(DIAMOND, SECONDS))).items()
        if output.step in steps
    }


PINNED = DIAMOND.with_pin(1, fold(timed_events(DIAMOND, SECONDS)).steps[1].output)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (timed_events(DIAMOND, SECONDS, outputs=known(0, 2)), ["reused", "2.0 s", "reused", "1.0 s"]),
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
def test_what_took_no_time_or_came_to_no_end_says_so(events, said):
    assert says(events) == said


def test_without_a_call_there_is_no_time_to_tell():
    reused = words(timed_events(DIAMOND, SECONDS, outputs=known(0)))[0]
    assert reused.details == ("Its output was known: no call, no time",)
    assert words(timed_events(PINNED, SECONDS))[1].details == ("Its output is pinned: no call, no time",)
    blocked = words(timed_events(DIAMOND, SECONDS, fail=[1]))[3]
    assert blocked.details == ("Never began, because it reads step 2",)


def test_a_live_run_says_how_long_its_steps_have_been_running():
    state = fold(event for event in timed_events(DIAMOND, SECONDS) if event.at < 3)
    rows = row_text(state, timeline_of(state, now=2.5))
    assert [row.label for row in rows] == ["1.0 s", "1.5 s so far", "1.5 s so far", "waiting"]
    assert rows[1].details[0] == "Began after 1.0 s and has been running for 1.5 s"
    assert rows[3].details == ("Has not begun yet",)


def test_retries_and_a_stand_in_are_told():
    rows = words(nested_run.events())
    assert "Asked again 2 times" in rows[0].details
    assert rows[2].worker == "writer-8b"


def test_a_text_of_any_length_gives_a_short_name():
    long = Workflow.of([timed_workflow(()).steps[0].model_copy(update={"instruction": "word " * 20_000})])
    assert len(words(timed_events(long, [1]))[0].name) <= 80
