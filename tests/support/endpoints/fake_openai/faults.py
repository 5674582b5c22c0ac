"""How an answer is sent: the script of what goes over the connection, and the faults by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .answers import Answer, logprobs_of

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


def encoded(shape: Any) -> bytes:
    """JSON in UTF-8."""
    return json.dumps(shape, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _event(shape: Any) -> bytes:
    return b"data: " + encoded(shape) + b"\n\n"


def streamed(answer: Answer, *, tokens_per_second: float | None) -> Iterator[Act]:
    """A stream at that pace, None at once."""
    frame = {"id": "chatcmpl-simulated", "object": "chat.completion.chunk", "created": 0}
    frame |= {"model": answer.model} | ({} if answer.usage is None else {"usage": None})

    def chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
        choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        if answer.top_logprobs is not None:
            has_token = any(value for name, value in delta.items() if name != "role")
            choice["logprobs"] = logprobs_of(delta, top=answer.top_logprobs) if has_token else None
        return _event({**frame, "choices": [choice]})

    yield Head(content_type="text/event-stream; charset=utf-8")
    yield chunk({"role": "assistant", "content": ""})
    for delta in answer.deltas:
        if tokens_per_second is not None:
            yield Wait(1 / tokens_per_second)
        yield chunk(delta)
    yield chunk({}, answer.finish_reason)
    if answer.usage is not None:
        yield _event({**frame, "choices": [], "usage": answer.usage})
    yield DONE


# -- the faults --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """One request as a fault sees it.

    `value` stands after the fault's "="; `refused` counts how often the fault has refused an equal body.
    """

    body: Mapping[str, Any]
    value: str
    refused: int
    authorization: str | None = field(repr=False)

    @property
    def amount(self) -> float:
        """The value as a number."""
        return float(self.value)


def wrong_key(detail: str = "") -> Script:
    """The refusal of a wrong key."""
    return refused(401, f"Incorrect API key provided{detail}.", code="invalid_api_key")


def _limited(retry_after: str | None = None) -> Script:
    return refused(429, "Rate limit reached.", retry_after=retry_after)


def _unknown_parameter(call: Call) -> Script | None:
    return refused(400, f"Unknown parameter: '{call.value}'.") if call.value in call.body else None


def _unknown_member(call: Call) -> Script | None:
    """As Groq and Mistral refuse it."""
    if f'"{call.value}"' not in json.dumps(call.body["messages"]):
        return None
    return refused(400, f"'messages.1': property '{call.value}' is unsupported")


REFUSALS: Mapping[str, Callable[[Call], Script | None]] = {
    # 429, =TIMES, then an answer; once, with Retry-After =SECONDS.
    "rate-limited": lambda call: _limited() if call.refused < call.amount else None,
    "rate-limited-retry-after": lambda call: None if call.refused else _limited(call.value),
    "error-500": lambda _: refused(500, "The server had an error while processing your request."),
    "bad-request-400": lambda _: refused(400, "Unsupported value: 'messages' does not suit this model."),
    "leaky-401": lambda call: wrong_key(f": {call.authorization}"),
    # 400 where the body has the parameter =NAME.
    "unknown-parameter": _unknown_parameter,
    # 400 where a message has the member, or a part of the kind, =NAME.
    "unknown-member": _unknown_member,
}


def _leaking(answer: Answer, call: Call) -> Answer:
    """The Authorization header in the text and in the reasoning, a few letters at a time."""
    text = f"You sent {call.authorization}, as I see."
    pieces = [text[start : start + 7] for start in range(0, len(text), 7)]
    deltas = [{name: piece} for name in ("reasoning_content", "content") for piece in pieces]
    return replace(answer, deltas=tuple(deltas), usage=None)


def _half(answer: Answer) -> Answer:
    return replace(answer, deltas=answer.deltas[: len(answer.deltas) // 2], finish_reason="length")


CHANGES: Mapping[str, Callable[[Answer, Call], Answer]] = {
    "leaky-answer": _leaking,
    "empty": lambda answer, _: replace(answer, deltas=()),
    "no-usage": lambda answer, _: replace(answer, usage=None),
    "no-logprobs": lambda answer, _: replace(answer, top_logprobs=None),
    "length": lambda answer, _: _half(answer),
}

_ERROR = _event({"error": {"message": "The engine died.", "type": "server_error", "code": 500}})

_ARRIVAL = Wait(0.05)
"""A reset may overtake what was sent just before it; this lets the client read that first."""


def _slow(script: Script, call: Call) -> Script:
    """The headers and a comment come at once, the first token after `amount` seconds."""
    head, *rest = script
    return (head, b": still at work\n\n", Wait(call.amount), *rest)


def _until_half(script: Script, *end: Act) -> Script:
    return (*script[: len(script) // 2], *end)


SPOILS: Mapping[str, Callable[[Script, Call], Script]] = {
    "slow-first-token": _slow,
    "stall": lambda script, call: (
        *_until_half(script, Wait(call.amount)),
        *script[len(script) // 2 :],
    ),
    "reset-before-first-byte": lambda _, __: (BreakOff(reset=True),),
    "reset-mid-stream": lambda script, _: _until_half(script, _ARRIVAL, BreakOff(reset=True)),
    "hang-up": lambda script, _: _until_half(script, BreakOff(reset=False)),
    "error-event": lambda script, _: _until_half(script, _ERROR, DONE),
}

FAULTS = (*REFUSALS, *CHANGES, *SPOILS)

DEFAULTS = {
    "rate-limited": "2",
    "rate-limited-retry-after": "1",
    "slow-first-token": "30",
    "stall": "inf",
}
"""The values of faults that are named without one."""
