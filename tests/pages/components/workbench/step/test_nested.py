"""The way into nested workflows, and what cards and the inspector show of what happened on the way."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from conductor.report.words import request_name
from conductor.runs.events import Retry
from conductor.runs.state import RunState, fold
from conductor.runs.step_state import StepState
from pages.components.view_models.workflow.card_content import (
    card_contents,
    inside_text,
    phase,
    seconds_to_retry,
)
from pages.components.widgets import step_result
from pages.components.widgets.step_result import (
    retry_text,
    silence,
    step_facts,
    withdrawn_note,
)
from pages.components.workbench.step.nested import inner_facts
from pages.components.workbench.step.nested_path import Inside, Level, places, round_names
from tests.support.runs.nested_run import HOSTILE, INNER, INNERMOST, WORKFLOW, events, failed_inner

STAMP = {"run": "r", "seq": 0}

RUN = fold(events())
EVENTS = events()


def content(state, step):
    return card_contents(state.workflow, run=state, radius=None, cards={}, now=2_000.0)[step]


def test_a_nested_run_folds_to_rounds_within_rounds():
    inner = RUN.steps[1].inner
    assert [round.workflow for round in inner] == [None, INNER]
    assert inner[1].steps[1].inner[0].workflow == INNERMOST


@pytest.mark.parametrize(
    ("way", "answers"),
    [
        ((), []),
        ((Level(1),), ["Inner said 3."]),
        ((Level(1, 0),), [None]),
        ((Level(1, 7),), ["Inner said 3."]),
        ((Level(1), Level(1)), ["Inner said 3.", "Deep said 2."]),
        ((Level(1), Level(0)), ["Inner said 3."]),
        ((Level(1, 0), Level(1)), [None]),
        ((Level(0),), []),
        ((Level(9),), []),
    ],
)
def test_a_way_leads_as_far_as_there_is_something(way, answers):
    assert [place.inner.answer for place in places(RUN, way)] == answers


def test_rounds_are_named_by_their_attempt_only_where_there_were_several():
    assert round_names(RUN.steps[1].inner) == ["Round 1, attempt 1", "Round 1, attempt 2"]
    assert round_names([RunState(round=1), RunState(round=2)]) == ["Round 1", "Round 2"]


def test_a_graph_opens_and_closes_below_the_way_it_stands_on(tab):
    inside = Inside("s")
    assert (inside.way, inside.reveal) == ((), None)
    inside.carry_out({"step": 1, "open": True}, above=())
    first = inside.reveal
    inside.carry_out({"step": 1, "open": True}, above=(Level(1, 1),))
    assert inside.way == (Level(1, 1), Level(1))
    assert inside.reveal != first
    inside.look_at(0)
    assert inside.way == (Level(1, 1), Level(1, 0))
    inside.carry_out({"step": 1, "open": False}, above=(Level(1, 1),))
    assert inside.way == (Level(1, 1),)
    for nonsense in (None, {}, {"step": "1", "open": True}, {"step": -1, "open": True}):
        inside.carry_out(nonsense, above=())
    assert inside.way == (Level(1, 1),)
    assert Inside("other").way == ()


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ((), ""),
        ((RunState(),), "a plan inside"),
        (RUN.steps[1].inner, "3 steps inside"),
        ((RUN, RUN), "2 rounds inside"),
    ],
)
def test_a_card_counts_what_is_inside(rounds, expected):
    assert inside_text(rounds) == expected


@pytest.mark.parametrize(
    ("count", "status", "remark"),
    [
        (2, "running", ""),
        (3, "retrying", HOSTILE),
        (4, "retrying", "503 Overloaded."),
        (5, "thinking", ""),
        (6, "running", ""),
        (7, "finished", ""),
    ],
)
def test_a_card_follows_a_step_that_is_asked_again_thinks_and_answers(count, status, remark):
    inner = EVENTS[:count]
    state = fold(inner)
    (card, *_) = card_contents(state.workflow, run=state, radius=None, cards={}, now=inner[-1].at + 0.2)
    assert (card.status, card.remark) == (status, remark)


def test_the_time_until_a_worker_is_asked_again_counts_down_to_its_next_try():
    state = StepState(
        status="running", retries=(Retry(**STAMP, attempt=1, message="m", seconds=2.0, at=100.0),)
    )
    assert seconds_to_retry(state, 100.5) == pytest.approx(1.5)
    assert phase(state, 100.5) == "retrying"
    assert seconds_to_retry(state, 102.0) is None
    assert phase(state, 102.0) == "running"


@pytest.mark.parametrize(
    ("withdrawn", "text", "seconds", "expected", "notes"),
    [
        (0, "", 0.5, "returned nothing; retry in 1.5 s", []),
        (7, "", 0.5, "broke off, 7 characters withdrawn; retry in 1.5 s", ["7 characters withdrawn"]),
        (7, "", 3.0, "retrying, waiting for the first words", ["7 characters withdrawn"]),
        (7, "blue", 3.0, None, ["7 characters withdrawn"]),
    ],
)
def test_a_running_step_states_that_its_first_words_were_withdrawn(  # noqa: PLR0917
    withdrawn, text, seconds, expected, notes, monkeypatch
):
    monkeypatch.setattr(step_result, "time", SimpleNamespace(time=lambda: 100.0 + seconds))
    retry = Retry(**STAMP, attempt=1, message="m", seconds=2.0, at=100.0, withdrawn=withdrawn)
    state = StepState(status="running", text=text, retries=(retry,))
    assert expected is None or silence(state) == expected
    assert withdrawn_note(state) == notes


def test_an_output_has_the_providers_name_of_its_call():
    finished = RUN.steps[0]
    assert request_name(finished) == request_name(StepState()) == []
    output = finished.output.model_copy(update={"request_id": "req_1"})
    assert request_name(StepState(output=output)) == ["request id req_1"]


def test_a_card_names_who_answered_and_states_for_whom_and_that_it_is_cut_off():
    card = content(RUN, 2)
    assert (card.worker, card.badges) == ("writer-8b", ("simulated",))
    assert card.remark == "in place of gpt-5 · cut off at the token limit"
    assert content(RUN, 0).remark == ""


def test_a_card_states_that_its_step_sees_the_round_before():
    seeing = RUN.workflow.with_sight_of_previous(0, True)
    (card, *_) = card_contents(seeing, run=None, radius=None, cards={}, now=0.0)
    assert card.badges == ("sees the previous round",)


def test_a_retry_is_one_sentence_whose_end_is_seen_however_long_the_message():
    expected = retry_text(Retry(**STAMP, attempt=3, message="long\nwords " * 9_000, seconds=1.2, at=0.0))
    assert "\n" not in expected
    assert len(expected) < 400
    assert expected.endswith("; asked again after 1.2 s")
    withdrawn = retry_text(Retry(**STAMP, attempt=1, message="Broke.", seconds=0.0, at=0.0, withdrawn=1200))
    assert withdrawn == "Attempt 1 broke off: Broke; 1,200 characters withdrawn, asked again at once"
    at_once = retry_text(Retry(**STAMP, attempt=1, message="Gone.", seconds=0.0, at=0.0))
    assert at_once == "Attempt 1 gave nothing: Gone; asked again at once"


def test_facts_leave_out_what_is_not_known():
    assert "$0.0042" in step_facts(RUN.steps[0])
    assert not any("$" in fact for fact in step_facts(RUN.steps[2]))
    failed = StepState(status="failed", started_at=1.0, finished_at=2.0)
    assert step_facts(failed) == ["1.0 s"]


def test_a_nested_round_sums_its_plan_and_its_steps():
    facts = inner_facts(RUN.steps[1].inner[1])
    assert facts[:2] == ["planner-executor-verifier", "3 steps"]
    assert "5,500 tokens" in facts
    assert "$0.0188" in facts
    assert inner_facts(fold(failed_inner())) == []


@pytest.mark.thorough
def test_a_press_that_comes_twice_neither_closes_what_it_opened_nor_goes_up_two_levels(app, bench):
    session = bench.ask("Which one?").id
    revision = bench.store.revisions.add(session, WORKFLOW, origin="import", note="Planted")
    bench.store.runs.start(run="run", session=session, revision=revision.id)
    for event in events("run"):
        bench.store.runs.append(event)
    page = app(session=session)
    page.session_state["selected"] = 1
    page.run()
    keys = {button.key for button in page.button}
    opened = {button.key for button in page.button(key="open-inside-1").click().run().button}
    assert "open-inside-1" not in opened
    assert opened - keys >= {"close-inside-1", "inside-close-1"}
    page.session_state[f"inside-{session}"] = (Level(1), Level(1))
    page.run()
    assert "inside-close-1" not in {button.key for button in page.button}
    page.button(key="inside-close-2").click().run()
    assert page.session_state[f"inside-{session}"] == (Level(1, 1),)
