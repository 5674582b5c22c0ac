"""The faults by name: functions from a call to a refusal, and that alter an answer or the script of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

from .answers import Answer
from .script import DONE, Act, BreakOff, Head, Script, Wait, event, refused


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


# -- in place of an answer ----------------------------------------------------------------------------


def wrong_key(detail: str = "") -> Script:
    """The refusal of a wrong key."""
    return refused(401, f"Incorrect API key provided{detail}.", code="invalid_api_key")


def _limited(retry_after: str | None = None) -> Script:
    return refused(429, "Rate limit reached.", retry_after=retry_after)


def _date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def _unknown_parameter(call: Call) -> Script | None:
    return refused(400, f"Unknown parameter: '{call.value}'.") if call.value in call.body else None


_SERVER_ERROR = refused(500, "The server had an error while processing your request.")
_PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>"

REFUSALS: Mapping[str, Callable[[Call], Script | None]] = {
    # 429, =TIMES, then an answer; once, with Retry-After =SECONDS; once, with it as a date.
    "rate-limited": lambda call: _limited() if call.refused < call.amount else None,
    "rate-limited-retry-after": lambda call: None if call.refused else _limited(call.value),
    "rate-limited-retry-date": lambda call: None if call.refused else _limited(_date(call.amount)),
    "error-500-then-200": lambda call: None if call.refused else _SERVER_ERROR,
    "error-500": lambda _: _SERVER_ERROR,
    "bad-request-400": lambda _: refused(400, "Unsupported value: 'messages' does not suit this model."),
    "unauthorized-401": lambda _: wrong_key(),
    "leaky-401": lambda call: wrong_key(f": {call.authorization}"),
    # 400 where the body has the parameter =NAME.
    "unknown-parameter": _unknown_parameter,
    "wrong-content-type": lambda _: (Head(content_type="text/html; charset=utf-8"), _PAGE),
}

# -- another answer -----------------------------------------------------------------------------------

_LINE = "These words are simulated and there are far too many of them; nobody asked for so much. " * 45
_TOOL_CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def _huge(answer: Answer, call: Call) -> Answer:
    """`amount` million characters, in pieces of some four thousand."""
    deltas = ({"content": _LINE},) * (1 + int(call.amount * 1_000_000) // len(_LINE))
    return replace(answer, deltas=deltas, finish_reason="stop")


def _half(answer: Answer, finish_reason: str) -> Answer:
    return replace(answer, deltas=answer.deltas[: len(answer.deltas) // 2], finish_reason=finish_reason)


def _leaking(answer: Answer, call: Call) -> Answer:
    """The Authorization header in the text and in the reasoning, a few letters at a time."""
    text = f"You sent {call.authorization}, as I see."
    pieces = [text[start : start + 7] for start in range(0, len(text), 7)]
    deltas = [{name: piece} for name in ("reasoning_content", "content") for piece in pieces]
    return replace(answer, deltas=tuple(deltas), sends_usage=False)


CHANGES: Mapping[str, Callable[[Answer, Call], Answer]] = {
    "leaky-answer": _leaking,
    "empty": lambda answer, _: replace(answer, deltas=()),
    "no-usage": lambda answer, _: replace(answer, sends_usage=False),
    "huge": _huge,
    "tool-calls": lambda answer, _: replace(
        answer, deltas=({"tool_calls": [_TOOL_CALL]},), finish_reason="tool_calls"
    ),
    "length": lambda answer, _: _half(answer, "length"),
    "content-filter": lambda answer, _: _half(answer, "content_filter"),
    "non-stream-json": lambda answer, _: replace(answer, streams=False),
}

# -- another way of sending a stream ------------------------------------------------------------------

_BROKEN_JSON = b'data: {"choices": [{"index": 0, "delta": {"content": "half\n\n'
_ERROR = event({"error": {"message": "The engine died.", "type": "server_error", "code": 500}})

_ARRIVAL = Wait(0.05)
"""A reset may overtake what was sent just before it; this lets the client read that first."""


def _slow(script: Script, call: Call) -> Script:
    """The headers and a comment come at once, the first token after `amount` seconds."""
    head, *rest = script
    return (head, b": still at work\n\n", Wait(call.amount), *rest)


def _until_half(script: Script, *end: Act) -> Script:
    return (*script[: len(script) // 2], *end)


def _at_half(script: Script, act: Act) -> Script:
    return (*_until_half(script, act), *script[len(script) // 2 :])


def _ragged(script: Script) -> Script:
    """A legal stream in a strange form: comments, other fields, CRLF, chunks of seven bytes."""
    return tuple(piece for act in script for piece in (_cut(act) if isinstance(act, bytes) else (act,)))


def _cut(content: bytes) -> tuple[Act, ...]:
    # A line break between two members of the object puts the event's data on two lines.
    content = b": a comment\nevent: message\nid: 7\ndata:" + content.removeprefix(b"data: ")
    content = content.replace(b', "object"', b',\ndata: "object"').replace(b"\n", b"\r\n")
    # One cut is behind the first byte of the first character that has several.
    first = next((at + 1 for at, byte in enumerate(content) if byte > 127), 7) % 7 or 7
    return tuple(
        content[start:end] for start, end in pairwise((0, *range(first, len(content), 7), len(content)))
    )


SPOILS: Mapping[str, Callable[[Script, Call], Script]] = {
    "slow-first-token": _slow,
    "stall": lambda script, call: _at_half(script, Wait(call.amount)),
    "reset-before-first-byte": lambda _, __: (BreakOff(reset=True),),
    "reset-mid-stream": lambda script, _: _until_half(script, _ARRIVAL, BreakOff(reset=True)),
    "hang-up": lambda script, _: _until_half(script, BreakOff(reset=False)),
    # The body ends in the middle as if that were its end: without finish_reason and [DONE].
    "early-close": lambda script, _: _until_half(script),
    "malformed-sse": lambda script, _: _at_half(script, _BROKEN_JSON),
    "error-event": lambda script, _: _until_half(script, _ERROR, DONE),
    "ragged-sse": lambda script, _: _ragged(script),
}

FAULTS = (*REFUSALS, *CHANGES, *SPOILS)

DEFAULTS = {
    "rate-limited": "2",
    "rate-limited-retry-after": "1",
    "rate-limited-retry-date": "1",
    "huge": "10",
    "slow-first-token": "30",
    "stall": "inf",
}
"""The values of faults that are named without one."""
