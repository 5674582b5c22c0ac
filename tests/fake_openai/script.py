"""How an answer is sent: a script of what goes over the connection, in order.

Knows the protocol; knows nothing of faults, and nothing of sockets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .answers import Answer

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Head:
    """The status line and the headers."""

    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """Sends nothing for that many seconds; infinity lasts until the client leaves."""

    seconds: float


@dataclass(frozen=True, slots=True)
class BreakOff:
    """Ends the connection and the script: by a reset, as a crash does, or by closing it inside the body."""

    reset: bool


Act = Head | bytes | Wait | BreakOff
"""Bytes are one chunk of the body."""

Script = tuple[Act, ...]


def refused(status: int, message: str, *, code: str | None = None, retry_after: str | None = None) -> Script:
    """An error in OpenAI's shape."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return (Head(status, headers=headers), encoded({"error": error}))


def sent(answer: Answer, *, tokens_per_second: float | None) -> Script:
    """An answer, whole or streamed; a stream at that pace, None at once."""
    pause = () if tokens_per_second is None else (Wait(1 / tokens_per_second),)
    return tuple(_streamed(answer, pause)) if answer.streams else (Head(), _whole(answer))


def encoded(shape: Any) -> bytes:
    """JSON in UTF-8."""
    return json.dumps(shape, ensure_ascii=False).encode("utf-8", "backslashreplace")


def event(shape: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + encoded(shape) + b"\n\n"


def _whole(answer: Answer) -> bytes:
    text = "".join(delta.get("content", "") for delta in answer.deltas)
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    usage = {"usage": answer.usage} if answer.sends_usage else {}
    return encoded({**_frame(answer, "chat.completion"), "choices": [choice], **usage})


def _streamed(answer: Answer, pause: tuple[Wait, ...]) -> Iterator[Act]:
    frame = _frame(answer, "chat.completion.chunk")
    if answer.sends_usage:
        frame["usage"] = None

    def chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return event({**frame, "choices": [choice]})

    yield Head(content_type="text/event-stream; charset=utf-8")
    yield chunk({"role": "assistant", "content": ""})
    for delta in answer.deltas:
        yield from pause
        yield chunk(delta)
    yield chunk({}, answer.finish_reason)
    if answer.sends_usage:
        yield event({**frame, "choices": [], "usage": answer.usage})
    yield DONE


def _frame(answer: Answer, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-simulated", "object": kind, "created": 0, "model": answer.model}
