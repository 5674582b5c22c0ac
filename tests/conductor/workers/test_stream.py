"""A worker's stream is read to its completion, and its text handed on as it comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from simulated_time import in_simulated_time
from worker_cases import Plain, PlainIterable, Scripted, Silent, Unclosable

from conductor.engine.run import Note
from conductor.errors import WorkerError
from conductor.values.messages import Completion, Delta, Message, Part, Request, Retried, Thought
from conductor.workers.protocol import StreamItem, Worker
from conductor.workers.stream import read_stream

REQUEST = Request(messages=(Message(role="user", parts=(Part("query", "why?"),)),))
RETRIED = Retried(attempt=1, message="busy", seconds=0.5)


@dataclass
class Heard:
    said: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    counted: list[str] = field(default_factory=list)

    async def of(self, worker: Worker) -> Completion | None:
        return await read_stream(
            worker.stream(REQUEST),
            on_text=self.said.append,
            on_thought=self.thought.append,
            note=self.notes.append,
            count=self.counted.append,
        )


@pytest.mark.parametrize(
    ("script", "said", "thought"),
    [
        pytest.param([], [], [], id="nothing but the completion"),
        pytest.param([Delta("a"), Delta("b")], [], [], id="all in one turn"),
        pytest.param([Delta("a"), 0.0, Delta("b")], ["a"], [], id="the last piece comes with the end"),
        pytest.param([Delta("a"), 1.0, Delta("b"), 1.0, Delta("c"), 1.0], ["a", "b", "c"], [], id="slowly"),
        pytest.param([Thought("hm"), 1.0, Delta("a"), 1.0], ["a"], ["hm"], id="thoughts apart"),
    ],
)
def test_what_the_completion_tells_is_not_handed_on_twice(
    script: list[StreamItem | float | Exception], said: list[str], thought: list[str]
) -> None:
    heard = Heard()
    end = Completion(text="abc", reasoning="hm")
    worker = Scripted([*script, end])
    assert in_simulated_time(heard.of(worker)) == end
    assert (heard.said, heard.thought, worker.closed) == (said, thought, True)


@pytest.mark.parametrize("error", [WorkerError("it is gone"), ValueError("a fault")], ids=["told", "a fault"])
def test_of_a_broken_answer_everything_is_handed_on(error: Exception) -> None:
    heard = Heard()
    with pytest.raises(type(error), match=str(error)):
        in_simulated_time(heard.of(Scripted([Thought("hm"), Delta("a"), Delta("b"), error])))
    assert (heard.said, heard.thought) == (["ab"], ["hm"])


def test_a_stream_may_end_without_a_completion() -> None:
    heard = Heard()
    assert in_simulated_time(heard.of(Silent())) is None
    assert heard.said == ["and then"]


def test_what_else_a_worker_tells_is_passed_on() -> None:
    heard = Heard()
    in_simulated_time(heard.of(Scripted([RETRIED, Completion(text="a")])))
    assert heard.notes == [RETRIED]


@pytest.mark.parametrize("kind", [Plain, PlainIterable, Unclosable])
def test_any_asynchronous_iterable_is_a_stream(kind: Callable[[Sequence[StreamItem]], Worker]) -> None:
    heard = Heard()
    end = Completion(text="paid for")
    assert in_simulated_time(heard.of(kind([RETRIED, Delta("paid for"), end]))) == end
    assert heard.notes == [RETRIED]


@pytest.mark.parametrize("kind", [Plain, PlainIterable])
def test_a_plain_iterator_may_end_without_a_completion(
    kind: Callable[[Sequence[StreamItem]], Worker],
) -> None:
    heard = Heard()
    assert in_simulated_time(heard.of(kind([Delta("and then")]))) is None
    assert heard.said == ["and then"]


def test_what_is_withdrawn_is_handed_on_before_it_is_taken_back() -> None:
    heard: list[object] = []
    withdrawal = Retried(attempt=1, message="broke", seconds=1, withdrawn=4)
    worker = Scripted([Thought("hm"), Delta("ab"), withdrawal, 1.0, Delta("blue"), Completion(text="blue")])
    add, pieces = heard.append, list[str]()
    answering = read_stream(
        worker.stream(REQUEST), on_text=add, on_thought=add, note=add, count=pieces.append
    )
    assert in_simulated_time(answering) == Completion(text="blue")
    assert heard == ["hm", "ab", withdrawal]
