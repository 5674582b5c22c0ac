"""A worker's stream is read to its completion, and its text handed on as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest
from simulated_time import in_simulated_time
from worker_cases import Silent, card_of

from conductor.engine.answering import Note, answer
from conductor.errors import WorkerError
from conductor.messages import Completion, Delta, Message, Part, Request, Retried, Thought
from conductor.workers.protocol import StreamItem, Worker, WorkerCard

REQUEST = Request(messages=(Message(role="user", parts=(Part("query", "why?"),)),))
RETRIED = Retried(attempt=1, message="busy", seconds=0.5)


@dataclass
class Scripted:
    """Yields items in turn; pauses for as many seconds where the script has a number, raises an exception."""

    script: Sequence[StreamItem | float | Exception]
    closed: bool = False

    @property
    def card(self) -> WorkerCard:
        return card_of("alpha")

    async def stream(self, _: Request) -> AsyncIterator[StreamItem]:
        try:
            for item in self.script:
                if isinstance(item, float):
                    await asyncio.sleep(item)
                elif isinstance(item, Exception):
                    raise item
                else:
                    yield item
        finally:
            self.closed = True


@dataclass
class Heard:
    said: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    async def of(self, worker: Worker) -> Completion:
        return await answer(
            worker, REQUEST, say=self.said.append, think=self.thought.append, note=self.notes.append
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


def test_a_stream_without_an_end_is_the_workers_fault() -> None:
    heard = Heard()
    with pytest.raises(WorkerError, match="alpha stopped without ending its answer"):
        in_simulated_time(heard.of(Silent()))
    assert heard.said == ["and then"]


def test_what_else_a_worker_tells_is_passed_on() -> None:
    heard = Heard()
    in_simulated_time(heard.of(Scripted([RETRIED, Completion(text="a")])))
    assert heard.notes == [RETRIED]
