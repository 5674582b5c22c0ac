"""What a stream sends when, and its pings; the bytes themselves are tried over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest
from conductor_cases import plan_text
from openai import OpenAI
from performers import SECONDS
from stage import Stage
from starlette.types import Message, Scope

from conductor.values.messages import Completion, Delta, Request, Thought
from conductor.workers.protocol import WorkerCard
from studio.api.answers.streaming import EventStream, Pings

POST: Scope = {"type": "http", "method": "POST"}


async def _send(_: Message) -> None:
    pass


async def _send_other(_: Message) -> None:
    pass


async def test_streams_that_follow_one_another_never_have_two_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were those of ended streams left on, all of them would ping the one that is open."""
    loop, timers = asyncio.get_running_loop(), list[asyncio.TimerHandle]()
    begin = loop.call_later

    def schedule(*arguments: Any) -> asyncio.TimerHandle:
        timers.append(begin(*arguments))
        return timers[-1]

    monkeypatch.setattr(loop, "call_later", schedule)

    def on() -> int:
        return sum(not timer.cancelled() for timer in timers)

    pings = Pings()
    for _ in range(3):
        with pings.sent_by(_send), pings.sent_by(_send_other):
            assert on() == 1
        assert on() == 0


@dataclass
class Musing:
    """Says something, thinks, and goes on once the gate is open."""

    gate: Event = field(default_factory=Event)
    went_on: Event = field(default_factory=Event)
    card: WorkerCard = WorkerCard(name="alpha", kind="simulated", strengths="muses", model="alpha")

    async def stream(self, _: Request) -> AsyncIterator[Delta | Thought | Completion]:
        yield Delta(text="One")
        yield Thought(text="two?")
        await asyncio.to_thread(self.gate.wait, SECONDS)
        self.went_on.set()
        yield Completion(text="One", reasoning="two?")


@pytest.mark.parametrize("shape", ["chat", "response"])
def test_the_first_word_comes_before_what_follows_a_thought(stage: Stage, client: OpenAI, shape: str) -> None:
    musing = Musing()
    stage.plays(musing, plans=(plan_text((0, "answer", "[]")),))
    stream: Any
    if shape == "chat":
        stream = client.chat.completions.create(
            model="conductor", messages=[{"role": "user", "content": "Why?"}], stream=True
        )
        words = (each.choices[0].delta.content for each in stream)
    else:
        stream = client.responses.create(model="conductor", input="Why?", stream=True)
        words = (each.delta for each in stream if each.type == "response.output_text.delta")
    try:
        assert next(word for word in words if word) == "One"
        assert not musing.went_on.is_set()
    finally:
        musing.gate.set()
        stream.close()


async def test_a_piece_is_not_held_back_by_an_event_that_adds_nothing() -> None:
    announced = [True, False, True, False]
    at_rest, sent = asyncio.Event(), []

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield b"one"
        yield b""
        await at_rest.wait()
        yield b"two"
        yield b"three"

    async def send(message: Message) -> None:
        sent.append(message.get("body"))
        if message.get("body") == b"one":
            at_rest.set()

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    stream = EventStream(pieces(), headers={}, on_end=lambda: None, more=lambda: announced.pop(0))
    async with asyncio.timeout(60):
        await stream(POST, receive, send)
    assert sent == [None, b"one", b"twothree", b""]
