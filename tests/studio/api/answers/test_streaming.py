"""What a stream sends when: its head, its pieces and its pings; the bytes themselves are tried over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest
from openai import OpenAI
from starlette.types import Message, Scope

from conductor.runs.events import StepToolsCalled
from conductor.values.messages import Completion, Delta, Request, Thought
from conductor.workers.protocol import WorkerCard
from studio.access.errors import ApiError
from studio.api.answers import streaming
from studio.api.answers.answer import Answer
from studio.api.answers.streaming import EventStream, Piece, progress_line
from tests.studio.api.performers import SECONDS, Paced
from tests.studio.api.stage import Stage
from tests.support.runs.conductor_cases import plan_text
from tests.support.runs.tool_cases import tool_events

POST: Scope = {"type": "http", "method": "POST"}


@dataclass
class Musing:
    """Writes something, thinks, and goes on once the gate is open."""

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

    async def pieces() -> AsyncGenerator[Piece, None]:
        yield Piece(b"one")
        yield Piece(b"")
        await at_rest.wait()
        yield Piece(b"two")
        yield Piece(b"three")

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


# -- the head --------------------------------------------------------------------------------------

FAILURE = ApiError("It failed.", status=502, headers={"x-should-retry": "false"})
OPENING, LINE, WORD = Piece(b"opening ", opens=False), Piece(b": line ", opens=False), Piece(b"word ")
FAILED = Piece(b"failed", error=FAILURE)


async def sent_by(pieces: Sequence[Piece], *, hold: float, seconds: float = 0.0) -> list[Any]:
    """The head as its status, and the bodies; each piece comes after so many seconds. Raises `ApiError`."""
    sent: list[Any] = []

    async def come() -> AsyncGenerator[Piece, None]:
        for piece in pieces:
            await asyncio.sleep(seconds)
            yield piece

    async def send(message: Message) -> None:
        sent.append(message["status"] if "status" in message else message["body"])

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    headers = {"x-request-id": "session"}
    async with asyncio.timeout(60):
        await EventStream(come(), headers=headers, on_end=lambda: None, hold=hold)(POST, receive, send)
    return sent


@pytest.mark.parametrize(
    ("pieces", "hold", "seconds", "sent"),
    [
        ([OPENING, LINE, WORD], 60, 0, [200, b"opening : line word ", b""]),
        ([OPENING, LINE, WORD, FAILED], 60, 0, [200, b"opening : line word ", b"failed", b""]),
        ([OPENING, LINE, WORD], 0.01, 0.2, [200, b"opening ", b": line ", b"word ", b""]),
        ([OPENING, FAILED], 0.01, 0.2, [200, b"opening ", b"failed", b""]),
        ([OPENING, FAILED], 0, 0, [200, b"opening ", b"failed", b""]),
        ([OPENING, LINE], 60, 0, [200, b"opening : line "]),
    ],
)
async def test_the_head_waits_for_the_answer_but_for_so_long_only(
    pieces: Sequence[Piece], hold: float, seconds: float, sent: list[Any]
) -> None:
    assert [each for each in await sent_by(pieces, hold=hold, seconds=seconds) if each != b""] == [
        each for each in sent if each != b""
    ]


@pytest.mark.parametrize("pieces", [[FAILED], [OPENING, FAILED], [OPENING, LINE, LINE, FAILED]])
async def test_an_error_before_the_answer_is_one_of_http(pieces: Sequence[Piece]) -> None:
    with pytest.raises(ApiError, match="It failed") as raised:
        await sent_by(pieces, hold=60)
    assert raised.value.headers == {"x-request-id": "session", "x-should-retry": "false"}


# -- pings -----------------------------------------------------------------------------------------


async def test_a_ping_has_the_number_of_the_last_event_that_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PING_SECONDS", 0.01)
    bodies: list[bytes] = []
    goes_on = asyncio.Event()

    async def come() -> AsyncGenerator[Piece, None]:
        yield Piece(b"one", number=0)
        yield Piece(b"two", number=5)
        await goes_on.wait()
        yield Piece(b"three", number=6)

    async def send(message: Message) -> None:
        bodies.append(message.get("body", b""))
        if b"keepalive" in message.get("body", b""):
            goes_on.set()

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async with asyncio.timeout(60):
        await EventStream(come(), headers={}, on_end=lambda: None)(POST, receive, send)
    assert b'event: keepalive\ndata: {"type": "keepalive", "sequence_number": 5}\n\n' in b"".join(
        bodies[: bodies.index(b"three")]
    )


async def test_a_stream_that_has_ended_sends_no_ping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PING_SECONDS", 0.001)
    bodies: list[bytes] = []

    async def come() -> AsyncGenerator[Piece, None]:
        yield Piece(b"one")

    async def send(message: Message) -> None:
        bodies.append(message.get("body", b""))

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    await EventStream(come(), headers={}, on_end=lambda: None)(POST, receive, send)
    sent = len(bodies)
    await asyncio.sleep(0.02)
    assert len(bodies) == sent


@pytest.mark.usefixtures("open_at_once")
def test_a_silent_response_has_events_that_use_up_no_number(
    stage: Stage, client: OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PING_SECONDS", 0.02)
    gates = {0: Event(), 1: Event()}
    stage.plays(Paced("alpha", ["So ", "it is."], gates=gates), plans=(plan_text((0, "answer", "[]")),))
    events: list[Any] = []
    with client.responses.create(model="conductor", input="Why?", stream=True) as stream:
        for event in stream:
            events.append(event)
            if event.type == "keepalive":  # type: ignore[comparison-overlap]
                closed = [gate for gate in gates.values() if not gate.is_set()]
                for gate in closed[:1]:
                    gate.set()
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(numbers)
    own = [event for event in events if event.type != "keepalive"]
    assert [event.sequence_number for event in own] == list(range(len(own)))
    response = own[-1].response
    assert response.output_text == "So it is."
    monkeypatch.undo()
    again = list(client.responses.retrieve(response.id, stream=True))
    assert [(each.sequence_number, each.type) for each in again] == [
        (each.sequence_number, each.type) for each in own
    ]
    at = max(at for at, event in enumerate(events) if event.type == "keepalive")
    rest = client.responses.retrieve(response.id, stream=True, starting_after=numbers[at])
    assert [each.sequence_number for each in rest] == numbers[at + 1 :]


@pytest.mark.usefixtures("open_at_once")
def test_the_clients_own_helper_reads_a_response_with_pings(
    stage: Stage, client: OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PING_SECONDS", 0.02)
    gate = Event()
    stage.plays(Paced("alpha", ["So."], gates={0: gate}), plans=(plan_text((0, "answer", "[]")),))
    with client.responses.stream(model="conductor", input="Why?") as stream:
        for event in stream:
            if event.type == "keepalive":  # type: ignore[comparison-overlap]
                gate.set()
        assert gate.is_set()
        assert stream.get_final_response().output_text == "So."


def test_a_comment_names_the_tools_of_servers_and_nothing_that_a_model_wrote() -> None:
    events = tool_events("secret\nwords")
    called = events[2]
    assert isinstance(called, StepToolsCalled)
    own, other = called.calls
    calls = (own, other.model_copy(update={"server": ""}))
    answer, lines = Answer(rounds=1), []
    for event in (*events[:2], called.model_copy(update={"calls": calls}), *events[3:]):
        answer.add(event)
        lines.append(progress_line(event, answer))
    assert [line for line in lines if line is not None] == [
        "step 1 of 1 (alpha) started",
        "step 1 of 1 (alpha) waiting for files:read, a tool",
        "step 1 of 1 (alpha) has the results of its tools",
        "step 1 of 1 (alpha) finished",
    ]
