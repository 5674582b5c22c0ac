"""What is to be done on the wire, one act after another, and an answer told as such a script.

Knows the two forms of a chat completion, whole and streamed; knows neither sockets nor misbehaviour.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from conductor.fake_openai.answer import Answer
from conductor.fake_openai.refusal import Refusal

EVENTS = "text/event-stream; charset=utf-8"
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Head:
    """The status line and the headers."""

    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Body:
    """A piece of the body, sent as one chunk."""

    content: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing for that many seconds; None: until the other side leaves."""

    seconds: float | None


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset, as by a crash; ends the script."""


@dataclass(frozen=True, slots=True)
class HangUp:
    """The connection is closed in order, but before the answer's end; ends the script."""


Act = Head | Body | Wait | Reset | HangUp
Script = tuple[Act, ...]


def refused(refusal: Refusal, headers: Mapping[str, str] | None = None) -> Script:
    """An error, told."""
    return (Head(refusal.status, headers=headers or {}), Body(encoded(refusal.shape)))


def told(answer: Answer, *, tokens_per_second: float | None) -> Script:
    """An answer, whole or streamed, at that pace (None: at once)."""
    pause = None if tokens_per_second is None else 1 / tokens_per_second
    return tuple(_streamed(answer, pause) if answer.streams else _whole(answer, pause))


def encoded(shape: Any) -> bytes:
    """JSON in UTF-8; half a surrogate pair as its escape, which is what JSON has for it."""
    return json.dumps(shape, ensure_ascii=False).encode("utf-8", "backslashreplace")


def event(shape: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + encoded(shape) + b"\n\n"


def _object(answer: Answer) -> bytes:
    """An answer as one JSON object."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.text)}
    if answer.reasoning:
        message[answer.reasoning_field] = "".join(answer.reasoning)
    if answer.calls_tool:
        message |= {"content": None, "tool_calls": [_tool_call()]}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    shape = {**_frame(answer, "chat.completion"), "choices": [choice]}
    return encoded(shape | {"usage": answer.usage} if answer.told_usage else shape)


def _whole(answer: Answer, pause: float | None) -> Iterator[Act]:
    if pause is not None:
        yield Wait(pause * (len(answer.reasoning) + len(answer.text)))
    yield Head()
    content = _object(answer)
    # In two pieces, so that there is a middle at which something can go wrong.
    half = len(content) // 2
    yield Body(content[:half])
    yield Body(content[half:])


def _streamed(answer: Answer, pause: float | None) -> Iterator[Act]:
    frame = _frame(answer, "chat.completion.chunk")
    if answer.told_usage:
        frame["usage"] = None

    def chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> Body:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return Body(event({**frame, "choices": [choice]}))

    yield Head(content_type=EVENTS, headers={"cache-control": "no-cache"})
    yield chunk({"role": "assistant", "content": ""})
    said = [(answer.reasoning_field, token) for token in answer.reasoning]
    said += [("content", token) for token in answer.text]
    for name, token in said:
        if pause is not None:
            yield Wait(pause)
        yield chunk({name: token})
    if answer.calls_tool:
        yield from map(chunk, _tool_call_deltas())
    yield chunk({}, answer.finish_reason)
    if answer.told_usage:
        yield Body(event({**frame, "choices": [], "usage": answer.usage}))
    yield Body(DONE)


def _frame(answer: Answer, kind: str) -> dict[str, Any]:
    return {"id": answer.id, "object": kind, "created": answer.created, "model": answer.model}


def _tool_call() -> dict[str, Any]:
    function = {"name": "look_up", "arguments": '{"words": "simulated"}'}
    return {"id": "call_simulated", "type": "function", "function": function}


def _tool_call_deltas() -> Iterator[dict[str, Any]]:
    """The tool call as it is streamed: its name first, then its arguments in pieces."""
    call = _tool_call()
    arguments = call["function"]["arguments"]
    begun = {**call, "function": {**call["function"], "arguments": ""}}
    yield {"tool_calls": [{"index": 0, **begun}]}
    for piece in (arguments[:9], arguments[9:]):
        yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
