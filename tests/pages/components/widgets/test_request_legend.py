"""A request's sources are distinguished by name, number and share, never by colour alone."""

from __future__ import annotations

import pytest

from conductor.report.words import source_name
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.messages import Message, Part, Request, Usage
from conductor.values.output import Output
from conductor.values.provenance import estimated_shares, exact_shares, measured
from conductor.workers.protocol import WorkerCard
from pages.components.widgets.request_legend import (
    UNREPORTED,
    count_method,
    legend,
    origin_notes,
    stretches,
)
from pages.components.workbench.step.request_view import Reader, reader
from tests.support.runs.charges import took


def request(*steps, query="what?"):
    parts = [Part("frame", "<q>"), Part("query", query), Part("frame", "</q>")]
    for step, round in steps:
        parts += [Part("subtask", "task", step, "w", round), Part("response", "said", step, "w", round)]
    parts.append(Part("instruction", "do it"))
    return Request(messages=(Message(role="user", parts=tuple(parts)),))


def test_each_source_has_a_name_a_mark_a_worker_and_its_share():
    entries = legend(measured(request((1, 1), (0, None))), {})
    assert [(entry.name, entry.mark, entry.detail) for entry in entries] == [
        ("Query", "Q", ""),
        ("Round 1, step 2", "1·2", "w"),
        ("Step 1", "1", "w"),
        ("Own task", "T", ""),
        ("App's wording", "", ""),
    ]
    assert [(entry.amount, entry.percent, entry.unit) for entry in entries][:2] == [
        ("5", "15%", "characters"),
        ("8", "24%", "characters"),
    ]
    assert sum(entry.part for entry in entries) == pytest.approx(1)


def test_estimated_amounts_are_marked_each():
    entries = legend(estimated_shares(request((0, None)), reported=1000), {})
    assert all(entry.amount.startswith("~") for entry in entries)
    assert not any(entry.amount.startswith("~") for entry in legend(measured(request()), {}))


def test_the_text_is_the_request_to_the_letter_and_each_stretch_points_to_its_entry():
    sent = request((1, 1), (0, None))
    shares = measured(sent)
    entries, pieces = legend(shares, {}), stretches(sent, shares)
    assert "".join(stretch.text for stretch in pieces) == sent.messages[0].content
    assert [(entries[stretch.source].name, stretch.chip) for stretch in pieces] == [
        ("App's wording", ""),
        ("Query", "Query"),
        ("App's wording", ""),
        ("Round 1, step 2", "Round 1, step 2 · its task"),
        ("Round 1, step 2", "Round 1, step 2 · response"),
        ("Step 1", "Step 1 · its task"),
        ("Step 1", "Step 1 · response"),
        ("Own task", "Own task"),
    ]
    assert all(stretch.tone == entries[stretch.source].tone for stretch in pieces)


def test_eight_steps_are_tinted_apart_and_more_of_them_are_named_apart_by_their_marks():
    entries = legend(measured(request(*((step, None) for step in range(12)))), {})
    steps = [entry for entry in entries if entry.name.startswith("Step")]
    assert len({entry.tone for entry in steps[:8]}) == 8
    assert steps[8].tone == steps[0].tone
    assert len({(entry.tone, entry.mark) for entry in steps}) == 12


def test_what_must_be_stated_of_a_steps_output_stands_at_its_entry():
    parts = (
        Part("query", "q"),
        Part("response", "a", 0, "w", None, True),
        Part("response", "b", 1, "w"),
        Part("response", "c", 1, "w", 1),
    )
    sent = Request(messages=(Message(role="user", parts=parts),))
    notes = {(None, 0): ("pinned",), (None, 1): ("reused", "offline")}
    notes_by_name = {entry.name: entry.notes for entry in legend(measured(sent), notes)}
    assert notes_by_name == {
        "Query": (),
        "Step 1": ("edited by hand", "pinned"),
        "Step 2": ("reused", "offline"),
        "Round 1, step 2": (),
    }


CUT = Output(
    fingerprint="f",
    text="t",
    worker="w",
    worker_kind="model",
    seconds=1,
    run="r",
    step=0,
    usage=Usage(),
    finish_reason="length",
)


@pytest.mark.parametrize(
    ("state", "notes"),
    [
        (StepState(worker_kind="model"), ()),
        (StepState(worker_kind="simulated", reused=True), ("reused", "simulated")),
        (StepState(worker_kind="offline"), ("offline",)),
        (StepState(worker_kind="model", kept_because="pinned"), ("pinned",)),
        (StepState(worker_kind="model", kept_because="preloaded"), ("preloaded",)),
        (
            StepState(worker_kind="model", output=CUT.model_copy(update={"instead_of": "first"})),
            ("in place of first", "cut off"),
        ),
    ],
)
def test_where_an_output_comes_from_is_stated(state, notes):
    assert origin_notes(state) == notes


def tokens(number):
    return lambda texts: [number, *[0] * (len(texts) - 1)]


@pytest.mark.parametrize(
    ("shares", "kind", "expected"),
    [
        (measured(request()), "offline", "17 characters. A worker that computes reads text, not tokens."),
        (
            estimated_shares(request()),
            "model",
            "~5 tokens, estimated by length; the endpoint reported no number.",
        ),
        (
            estimated_shares(request(), reported=1250),
            "model",
            "1,250 tokens, as the endpoint counted; the split is estimated by length.",
        ),
        (
            exact_shares(request(), tokens(7), reported=7),
            "simulated",
            "7 tokens, counted as words by the simulated worker.",
        ),
        (exact_shares(request(), tokens(7)), "model", "7 tokens of text, by the model's tokenizer."),
        (
            exact_shares(request(), tokens(7), reported=16),
            "model",
            "7 tokens of text, by the model's tokenizer. The endpoint counted 16, 9 more for its chat "
            "format.",
        ),
        (
            exact_shares(request(), tokens(7), reported=7),
            "model",
            "7 tokens of text, by the model's tokenizer. The endpoint counted the same.",
        ),
        (
            exact_shares(request(), tokens(7), reported=3),
            "model",
            "7 tokens of text, by the model's tokenizer. The endpoint counted only 3. Is this the "
            "model's tokenizer?",
        ),
    ],
)
def test_who_counted_is_stated_in_words(shares, kind, expected):
    assert count_method(shares, kind) == expected


def test_sources_of_earlier_rounds_are_named_by_round():
    shares = measured(request((1, 1), (0, None)))
    assert [source_name(share.source) for share in shares.shares][1:3] == ["Round 1, step 2", "Step 1"]


CARD = WorkerCard(name="w", kind="model", strengths="", model="m")


@pytest.mark.parametrize(
    ("card", "state", "reported", "unreported"),
    [
        (CARD, StepState(status="finished", charges=took(Usage(prompt_tokens=7))), 7, UNREPORTED),
        (CARD, StepState(status="finished"), None, UNREPORTED),
        (CARD, StepState(status="running"), None, "the endpoint has not reported a number yet"),
        (
            CARD.model_copy(update={"nested": True}),
            StepState(status="finished", charges=took(Usage(prompt_tokens=900))),
            None,
            "the Conductor's own calls are counted inside",
        ),
        (
            None,
            StepState(status="finished", charges=took(Usage(prompt_tokens=900)), inner=(RunState(),)),
            None,
            "the Conductor's own calls are counted inside",
        ),
    ],
)
def test_what_an_endpoint_counted_is_its_own_count_of_this_request(card, state, reported, unreported):
    count = reader({} if card is None else {"w": card}, "w", state)
    assert (count.worker, count.kind) == ("w", "model")
    assert (count.reported, count.unreported) == (reported, unreported)


def test_who_stood_in_is_who_read_it():
    state = StepState(status="finished", stand_in="second", worker_kind="simulated")
    assert reader({"w": CARD}, "w", state) == Reader(worker="second", kind="simulated")
