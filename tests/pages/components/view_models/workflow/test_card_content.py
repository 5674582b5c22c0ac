"""What the cards show: before a run, in it, after it, and after an edit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conductor.drawing.marks import MARKS
from conductor.engine.schedule import BlastRadius
from conductor.runs.events import Retry
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.formatting import duration
from conductor.values.messages import Usage
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.workflow.card_content import card_contents, step_name, worker_marks
from tests.support.runs.charges import took
from tests.support.runs.workflow_cases import PINNED

ONE = Workflow.of([Step(instruction="Find what is asked, with sources.", worker="w")])
OTHER = ONE.with_worker(0, "v")


def card(kind):
    return {"w": WorkerCard(name="w", kind=kind, strengths="", model="m")}


def content(workflow=ONE, *, run=None, radius=None, cards=None):
    (only,) = card_contents(workflow, run=run, radius=radius, cards=cards or {}, now=100.0)
    return only


def run_of(**step):
    return RunState(run="r", workflow=ONE, steps=(StepState(**step),))


@pytest.mark.parametrize(
    ("run", "status", "note"),
    [
        (None, "waiting", ""),
        (run_of(), "waiting", ""),
        (run_of(status="running", started_at=98.5), "running", "1.5 s"),
        (run_of(status="running", started_at=100.5), "running", "0.0 s"),
        (run_of(status="finished", started_at=90.0, finished_at=92.25), "finished", "2.2 s"),
        (run_of(status="finished", reused=True), "finished", "reused"),
        (run_of(status="empty", reused=True), "empty", "reused"),
        (run_of(status="refused", started_at=90.0, finished_at=92.25), "refused", "2.2 s"),
        (run_of(status="refused", reused=True), "refused", "reused"),
        (run_of(status="blocked"), "blocked", ""),
    ],
)
def test_a_card_shows_its_step_of_the_run(run, status, note):
    card = content(run=run)
    assert (card.status, card.note) == (status, note)


def test_a_card_has_the_mark_of_the_worker_that_answers_in_the_colour_that_was_chosen():
    pool = {
        "w": WorkerCard(name="w", kind="model", strengths="", model="m", colour="teal"),
        "v": WorkerCard(name="v", kind="model", strengths="", model="m", colour="red"),
    }
    assert content(cards=pool).mark == MARKS["teal"]
    assert (
        content(run=run_of(status="running", stand_in="v", started_at=1.0), cards=pool).mark == MARKS["red"]
    )


def test_a_card_counts_the_notes_on_its_step():
    def badges(**notes):
        (only,) = card_contents(ONE, run=None, radius=None, cards={}, now=0.0, **notes)
        return only.badges

    assert badges() == badges(notes={1: 3}) == ()
    assert badges(notes={0: 1}) == ("1 note",)
    assert badges(notes={0: 2, 1: 1}) == ("2 notes",)


def test_a_card_states_that_its_worker_has_no_answer():
    assert content(run=run_of(status="refused", reused=True)).remark == "no answer"


@pytest.mark.parametrize(
    ("reused", "status", "note"), [({0}, "finished", "reused"), (set(), "stale", "will run")]
)
def test_after_an_edit_a_card_shows_what_a_rerun_would_do(reused, status, note):
    radius = BlastRadius(
        runs=frozenset({0} - reused),
        outputs=dict.fromkeys(reused, PINNED),
        spared=frozenset(),
        edited=frozenset(),
    )
    card = content(OTHER, run=run_of(status="failed"), radius=radius)
    assert (card.status, card.note) == (status, note)


def test_an_edited_workflow_that_cannot_run_claims_nothing_of_the_last_run():
    assert content(OTHER, run=replace(run_of(status="finished"), status="finished")).status == "waiting"


@pytest.mark.parametrize(
    ("cards", "badges"),
    [({}, ()), (card("model"), ()), (card("offline"), ("offline",)), (card("simulated"), ("simulated",))],
)
def test_a_card_states_where_no_model_answers(cards, badges):
    assert content(cards=cards).badges == badges


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "<1 ms"),
        (0.0421, "42 ms"),
        (0.0996, "0.1 s"),
        (1.26, "1.3 s"),
        (99.9, "99.9 s"),
        (150, "2.5 min"),
    ],
)
def test_durations_are_short_at_any_size(seconds, text):
    assert duration(seconds) == text


def test_steps_are_named_by_their_number_from_one_and_their_title():
    assert step_name(ONE, 0) == "1. Find what is asked"


def test_a_pinned_step_whose_inputs_changed_states_it_on_its_card():
    pinned = ONE.with_pin(0, PINNED)
    (card,) = card_contents(pinned, run=None, radius=None, cards={}, now=0, pin_changed={0})
    assert (card.note, card.remark) == ("pinned", "pinned, inputs changed")
    assert (content(pinned).note, content(pinned).remark) == ("pinned", "")


ANSWER = PINNED.model_copy(update={"text": "## Result\n\nIt is **41**" + " and more" * 30})
BEGINNING = "Result · It is 41 and more and more and more and more and more and more and more and more…"


@pytest.mark.parametrize(
    ("step", "excerpt", "streams"),
    [
        ({}, "", True),
        ({"status": "running", "text": "# Plan\n\n- **First** of"}, "First of", True),
        ({"status": "running", "text": "word " * 40}, f"…{'word ' * 17}word", True),
        ({"status": "finished", "text": ANSWER.text, "output": ANSWER}, BEGINNING, False),
        ({"status": "cancelled", "text": "It was"}, "It was", True),
    ],
)
def test_a_card_shows_the_beginning_of_an_output_and_the_end_of_one_that_is_being_written(
    step, excerpt, streams
):
    card = content(run=run_of(**step))
    assert (card.excerpt, card.streams) == (excerpt, streams)
    assert len(card.excerpt) <= 90


@pytest.mark.parametrize(
    ("output", "label"),
    [
        (None, ""),
        (ANSWER, "Result · It is 41 and m…"),
        (ANSWER.model_copy(update={"usage": Usage(completion_tokens=1_234)}), "1.2k tokens"),
        (ANSWER.model_copy(update={"text": "word " * 4_000}), "~5.0k tokens"),
    ],
)
def test_an_edge_carries_the_first_words_of_an_output_and_the_length_of_a_long_one(output, label):
    run = run_of(status="finished", output=output, text="" if output is None else output.text)
    assert content(run=run).gives == label
    assert len(label) <= 24


def test_a_card_shows_the_output_that_a_rerun_would_keep():
    radius = BlastRadius(
        runs=frozenset(), outputs={0: ANSWER}, spared=frozenset(), edited=frozenset(), kept_steps=frozenset()
    )
    assert content(OTHER, run=run_of(status="failed"), radius=radius).excerpt == BEGINNING
    assert content(ONE.with_pin(0, ANSWER)).excerpt == BEGINNING


ASKED_TWICE = (Retry(run="r", seq=0, attempt=1, message="No answer.", seconds=1, at=90.0),)
USED = Usage(prompt_tokens=1000, completion_tokens=312, cost=0.0214)


@pytest.mark.parametrize(
    ("step", "figures"),
    [
        ({"status": "finished", "charges": took(USED)}, ("1,312 tok", "$0.0214")),
        (
            {"status": "finished", "charges": took(USED), "retries": ASKED_TWICE * 2},
            ("2 retries", "1,312 tok", "$0.0214"),
        ),
        ({"status": "running", "retries": ASKED_TWICE, "text": "So"}, ("1 retry",)),
        ({"status": "finished", "charges": took(Usage(prompt_tokens=9))}, ("≥ 9 tok",)),
        ({"status": "finished", "charges": took(USED), "reused": True}, ()),
        ({"status": "finished", "charges": took(USED), "kept_because": "pinned"}, ()),
    ],
)
def test_a_card_counts_what_its_call_took_as_far_as_that_is_known(step, figures):
    assert content(run=run_of(**step)).figures == figures


def test_a_failed_card_states_why():
    card = content(run=run_of(status="failed", message="The server has no model 'm'."))
    assert card.remark == "The server has no model 'm'."


def test_workers_outside_of_the_pool_have_the_same_marks_in_any_order():
    names = [f"worker-{at}" for at in range(6)]
    assert worker_marks({}, *names) == worker_marks({}, *reversed(names))
