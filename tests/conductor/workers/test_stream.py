"""A worker's stream is read to its completion, and its text handed on as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from conductor.engine.run import Note
from conductor.errors import WorkerError
from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.messages import Completion, Delta, Message, Part, Request, Retried, Thought
from conductor.workers.protocol import StreamItem, Worker
from conductor.workers.stream import BATCH_SECONDS, DeltaBatch, read_stream
from tests.support.runs.simulated_time import in_simulated_time
from tests.support.runs.worker_cases import Plain, PlainIterable, Scripted, Silent, Unclosable

REQUEST = Request(messages=(Message(role="user", parts=(Part("query", "why?"),)),))
RETRIED = Retried(attempt=1, message="busy", seconds=0.5)


@dataclass
class Received:
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    async def of(self, worker: Worker) -> Completion | None:
        return await read_stream(
            worker.stream(REQUEST),
            on_text=lambda piece: self.texts.append(piece.text),
            on_thought=lambda piece: self.thoughts.append(piece.text),
            note=self.notes.append,
            count=self.tokens.append,
        )


@pytest.mark.parametrize(
    ("script", "texts", "thoughts"),
    [
        pytest.param([], [], [], id="nothing but the completion"),
        pytest.param([Delta("a"), Delta("b")], [], [], id="all in one turn"),
        pytest.param([Delta("a"), 0.0, Delta("b")], ["a"], [], id="the last piece comes with the end"),
        pytest.param([Delta("a"), 1.0, Delta("b"), 1.0, Delta("c"), 1.0], ["a", "b", "c"], [], id="slowly"),
        pytest.param([Thought("hm"), 1.0, Delta("a"), 1.0], ["a"], ["hm"], id="thoughts apart"),
    ],
)
def test_what_the_completion_holds_is_not_handed_on_twice(
    script: list[StreamItem | float | Exception], texts: list[str], thoughts: list[str]
) -> None:
    received = Received()
    end = Completion(text="abc", reasoning="hm")
    worker = Scripted([*script, end])
    assert in_simulated_time(received.of(worker)) == end
    assert (received.texts, received.thoughts, worker.closed) == (texts, thoughts, True)


@pytest.mark.parametrize(
    "error", [WorkerError("it is gone"), ValueError("a fault")], ids=["known", "a fault"]
)
def test_of_a_broken_answer_everything_is_handed_on(error: Exception) -> None:
    received = Received()
    with pytest.raises(type(error), match=str(error)):
        in_simulated_time(received.of(Scripted([Thought("hm"), Delta("a"), Delta("b"), error])))
    assert (received.texts, received.thoughts) == (["ab"], ["hm"])


def test_a_stream_may_end_without_a_completion() -> None:
    received = Received()
    assert in_simulated_time(received.of(Silent())) is None
    assert received.texts == ["and then"]


def test_any_other_item_is_passed_on() -> None:
    received = Received()
    in_simulated_time(received.of(Scripted([RETRIED, Completion(text="a")])))
    assert received.notes == [RETRIED]


@pytest.mark.parametrize("kind", [Plain, PlainIterable, Unclosable])
def test_any_asynchronous_iterable_is_a_stream(kind: Callable[[Sequence[StreamItem]], Worker]) -> None:
    received = Received()
    end = Completion(text="paid for")
    assert in_simulated_time(received.of(kind([RETRIED, Delta("paid for"), end]))) == end
    assert received.notes == [RETRIED]


@pytest.mark.parametrize("kind", [Plain, PlainIterable])
def test_a_plain_iterator_may_end_without_a_completion(
    kind: Callable[[Sequence[StreamItem]], Worker],
) -> None:
    received = Received()
    assert in_simulated_time(received.of(kind([Delta("and then")]))) is None
    assert received.texts == ["and then"]


def test_what_is_withdrawn_is_handed_on_before_it_is_taken_back() -> None:
    received: list[object] = []
    withdrawal = Retried(attempt=1, message="broke", seconds=1, withdrawn=4)
    worker = Scripted([Thought("hm"), Delta("ab"), withdrawal, 1.0, Delta("blue"), Completion(text="blue")])
    add, pieces = received.append, list[str]()
    answering = read_stream(
        worker.stream(REQUEST), on_text=add, on_thought=add, note=add, count=pieces.append
    )
    assert in_simulated_time(answering) == Completion(text="blue")
    assert received == [Thought("hm"), Delta("ab"), withdrawal]


def test_log_probabilities_are_handed_on_with_their_text_and_withdrawn_with_it() -> None:
    received: list[object] = []
    blue, sky, lost, gone = (TokenLogprob(text, -0.5) for text in ("blue", " sky", "lost", "gone"))
    worker = Scripted(
        [
            Delta("lo", (lost,)),
            Delta("st", (gone,)),
            Retried(attempt=1, message="broke", seconds=1, withdrawn=4),
            Delta("blue", (blue,)),
            1.0,
            Delta(" sky", (sky,)),
            1.0,
            Completion("blue sky", logprobs=(blue, sky)),
        ]
    )
    add, ignore = received.append, list[object]().append
    answering = read_stream(worker.stream(REQUEST), on_text=add, on_thought=add, note=ignore, count=ignore)
    end = in_simulated_time(answering)
    assert received == [Delta("lost", (lost, gone)), Delta("blue", (blue,)), Delta(" sky", (sky,))]
    assert end is not None
    assert end.logprobs == (blue, sky)


# -- batches -----------------------------------------------------------------------------------------


def test_the_first_pieces_are_handed_on_in_the_next_turn_and_later_ones_are_gathered() -> None:
    async def scenario() -> None:
        received: list[str] = []
        batch = DeltaBatch(received.append)
        for piece in ("", "a", "b"):
            batch.add(piece)
        assert received == []
        await asyncio.sleep(0)
        assert received == ["ab"]
        for piece in ("c", "", "d"):
            batch.add(piece)
        await asyncio.sleep(BATCH_SECONDS * 0.9)
        assert received == ["ab"]
        await asyncio.sleep(BATCH_SECONDS * 0.2)
        assert received == ["ab", "cd"]

    in_simulated_time(scenario())


def test_what_is_gathered_is_handed_on_once_or_dropped() -> None:
    async def scenario() -> None:
        received: list[str] = []
        batch = DeltaBatch(received.append)
        for piece in ("a", "b"):
            batch.add(piece)
            batch.flush()
        batch.flush()
        batch.add("dropped")
        batch.drop()
        await asyncio.sleep(BATCH_SECONDS * 2)
        assert received == ["a", "b"]
        batch.add("c")
        await asyncio.sleep(BATCH_SECONDS * 2)
        assert received == ["a", "b", "c"]

    in_simulated_time(scenario())
