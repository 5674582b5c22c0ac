"""Every word of a request has its source; shares sum to the whole, and changes are shown by source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.engine.prompt_layouts import PromptContext, research_messages, tagged_parts
from conductor.values.messages import Message, Part, Request, Sampling, SeenResponse
from conductor.values.provenance import (
    Change,
    Source,
    changes,
    estimated_shares,
    exact_shares,
    measured,
    source_of,
    without_nonces,
)
from conductor.workers.wording.wording import OURS

QUERY, TASK, FRAME = Source("query"), Source("task"), Source("frame")


def seen(
    step: int, *, response: str = "answer", round: int | None = None, by_hand: bool = False
) -> SeenResponse:
    return SeenResponse(
        step=step,
        worker=f"w{step}",
        instruction=f"task {step + 1}",
        response=response,
        round=round,
        by_hand=by_hand,
    )


def step(number: int, *, round: int | None = None) -> Source:
    return Source("step", step=number, round=round, worker=f"w{number}")


def request(
    *steps: SeenResponse,
    query: str = "what?",
    instruction: str = "do it",
    nonce: str = "0123abcd",
    final: bool = False,
    research: bool = False,
) -> Request:
    sight = PromptContext(query=query, instruction=instruction, seen=steps, final=final, nonce=nonce)
    if research:
        return Request(messages=research_messages(sight, OURS, {}))
    return Request(messages=(Message(role="user", parts=tuple(tagged_parts(sight))),))


def lengths(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def test_sources_stand_in_the_order_of_query_steps_own_task_and_our_wording() -> None:
    shares = measured(request(seen(1, round=1), seen(0), seen(2)))
    assert [share.source for share in shares.shares] == [
        QUERY,
        step(1, round=1),
        step(0),
        step(2),
        TASK,
        FRAME,
    ]


def test_a_steps_task_and_response_are_one_source_and_its_hand_written_response_is_marked() -> None:
    shares = measured(request(seen(0, response="four"), seen(1, by_hand=True)))
    by_source = {share.source: share for share in shares.shares}
    assert by_source[step(0)].amount == len("task 1") + len("four")
    assert [share.by_hand for share in shares.shares] == [False, False, True, False, False]


def test_a_request_without_parts_has_no_shares() -> None:
    empty = Request(messages=())
    assert measured(empty).shares == ()
    assert estimated_shares(empty, reported=12).total == 0
    assert exact_shares(empty, lengths).total == 0


def test_each_message_is_counted_by_itself() -> None:
    messages = (
        Message(role="system", parts=(Part("frame", "abc"),)),
        Message(role="user", parts=(Part("query", "de"), Part("frame", "f"))),
    )
    calls: list[list[str]] = []

    def count(texts: Sequence[str]) -> list[int]:
        calls.append(list(texts))
        return lengths(texts)

    assert exact_shares(Request(messages=messages), count).total == 6
    assert calls == [["abc"], ["de", "f"]]


@pytest.mark.slow
@given(
    texts=st.lists(st.text(max_size=40), max_size=9),
    reported=st.none() | st.integers(0, 10_000),
)
def test_estimates_are_whole_and_sum_to_what_was_reported(texts: list[str], reported: int | None) -> None:
    parts = tuple(Part("response", text, at, "w") for at, text in enumerate(texts))
    shares = estimated_shares(Request(messages=(Message(role="user", parts=parts),)), reported=reported)
    characters = sum(map(len, texts))
    expected = -(-characters // 4) if reported is None else reported
    assert shares.total == (expected if characters else 0)
    for share, text in zip(shares.shares, texts, strict=True):
        assert share.amount >= 0
        if characters:
            assert share.part == pytest.approx(len(text) / characters)
            assert abs(share.amount - expected * len(text) / characters) < 1


@given(texts=st.lists(st.text(max_size=40), max_size=9))
def test_parts_of_the_whole_sum_to_one(texts: list[str]) -> None:
    parts = tuple(Part("response", text, at, "w") for at, text in enumerate(texts))
    shares = measured(Request(messages=(Message(role="user", parts=parts),)))
    assert sum(share.part for share in shares.shares) == pytest.approx(1.0 if any(texts) else 0.0)


# -- two requests ------------------------------------------------------------------------------------


def differences(comparison: Sequence[Change]) -> list[tuple[Source | None, Source | None, tuple[str, ...]]]:
    return [(change.old, change.new, change.changed) for change in comparison if change.any]


@pytest.mark.parametrize("research", [False, True])
def test_the_same_request_under_another_mark_has_not_changed(research: bool) -> None:
    old = request(seen(0), seen(1), research=research)
    new = request(seen(0), seen(1), research=research, nonce="ffff0000")
    assert without_nonces(old) == without_nonces(new)
    assert differences(changes(old, new)) == []
    assert {change.new for change in changes(old, new)} == {QUERY, TASK, step(0), step(1)}


def test_what_workers_wrote_is_compared_to_the_letter_though_it_looks_like_a_mark() -> None:
    old = request(seen(0, response="<step-0123abcd>"))
    new = request(seen(0, response="<step-9999abcd>"))
    assert without_nonces(old) != without_nonces(new)
    assert differences(changes(old, new)) == [(step(0), step(0), ("response",))]


CHANGED = {
    "a response": (request(seen(0, response="other"), seen(1)), [(step(0), step(0), ("response",))]),
    "the query": (request(seen(0), seen(1), query="why?"), [(QUERY, QUERY, ("query",))]),
    "the own task": (request(seen(0), seen(1), instruction="no"), [(TASK, TASK, ("instruction",))]),
    "one more": (request(seen(0), seen(1), seen(2)), [(None, step(2), ("subtask", "response"))]),
    "one less": (request(seen(0)), [(step(1), None, ("subtask", "response"))]),
    "an earlier round": (
        request(seen(0, round=1), seen(0), seen(1)),
        [(None, step(0, round=1), ("subtask", "response"))],
    ),
    "only our wording": (request(seen(0), seen(1), final=True), [(FRAME, FRAME, ("frame",))]),
    "a mark by hand": (request(seen(0, by_hand=True), seen(1)), [(FRAME, FRAME, ("frame",))]),
}


@pytest.mark.parametrize("case", CHANGED, ids=str)
def test_changes_are_reported_by_source(case: str) -> None:
    new, expected = CHANGED[case]
    assert differences(changes(request(seen(0), seen(1)), new)) == expected


def test_what_stayed_the_same_of_a_step_is_reported_too() -> None:
    [change] = [
        change
        for change in changes(request(seen(0)), request(seen(0, response="other")))
        if change.new == step(0)
    ]
    assert (change.changed, change.same) == (("response",), ("subtask",))


def test_renumbered_steps_are_compared_with_what_they_were() -> None:
    old = request(seen(0), seen(1))
    renumbered = (
        SeenResponse(step=1, worker="w0", instruction="task 1", response="answer"),
        SeenResponse(step=2, worker="w1", instruction="task 2", response="other"),
    )
    rows = differences(changes(old, request(*renumbered), places={0: 1, 1: 2}))
    assert rows == [(step(1), Source("step", step=2, worker="w1"), ("response",))]


def test_a_step_that_is_gone_is_not_taken_for_the_one_that_has_its_number_now() -> None:
    old = request(seen(0), seen(1))
    new = request(SeenResponse(step=0, worker="w1", instruction="task 2", response="answer"))
    rows = differences(changes(old, new, places={1: 0}))
    assert rows == [(step(0), None, ("subtask", "response"))]


def test_sampling_is_no_source() -> None:
    old = request(seen(0))
    new = replace(old, sampling=Sampling(temperature=1.0))
    assert differences(changes(old, new)) == []


def test_every_kind_of_part_has_a_source() -> None:
    messages = request(seen(0, round=2)).messages
    assert {source_of(part, message) for message in messages for part in message.parts} == {
        FRAME,
        QUERY,
        step(0, round=2),
        TASK,
    }
