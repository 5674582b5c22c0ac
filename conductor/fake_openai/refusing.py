"""What is done instead of answering: errors, some of them for a while only.

Knows one call and how often it was refused before; keeps no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from conductor.fake_openai.refusal import Refusal
from conductor.fake_openai.script import Body, Head, Script, refused


@dataclass(frozen=True, slots=True)
class Call:
    """One request as a misbehaviour sees it.

    `value` is what stands after the misbehaviour's "="; `refused` counts how often this one has refused
    this request since it was last answered; `authorization` is the header as sent, and is never kept.
    """

    body: Mapping[str, Any]
    value: str
    refused: int
    authorization: str | None = field(repr=False)

    @property
    def number(self) -> float:
        """The value as a number; it was checked when the misbehaviour was chosen."""
        return float(self.value)


_SERVER_ERROR = Refusal(
    "The server had an error while processing your request.", status=500, type="server_error"
)
_PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>"


def rate_limited(call: Call) -> Script | None:
    """429 without a word on when to come back, `number` times."""
    return refused(_too_many()) if call.refused < call.number else None


def rate_limited_retry_after(call: Call) -> Script | None:
    """429 once, with the seconds to wait."""
    return refused(_too_many(), {"retry-after": call.value}) if not call.refused else None


def rate_limited_retry_date(call: Call) -> Script | None:
    """429 once, with the date to come back at, as HTTP also allows."""
    if call.refused:
        return None
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=call.number), usegmt=True)
    return refused(_too_many(), {"retry-after": date})


def failing_first(call: Call) -> Script | None:
    """500, `number` times."""
    return refused(_SERVER_ERROR) if call.refused < call.number else None


def failing(_: Call) -> Script:
    """500, always."""
    return refused(_SERVER_ERROR)


def bad_request(_: Call) -> Script:
    """400 in OpenAI's shape."""
    return refused(
        Refusal(
            "Unsupported value: 'messages' does not suit this model.",
            param="messages",
            code="unsupported_value",
        )
    )


def unauthorized(_: Call) -> Script:
    """401, as for a wrong key."""
    return refused(wrong_key())


def leaking(call: Call) -> Script:
    """401 that repeats what it was sent."""
    return refused(wrong_key(f": {call.authorization or '(none)'}"))


def unknown_parameter(call: Call) -> Script | None:
    """400 where the body has the parameter `value`."""
    if call.value not in call.body:
        return None
    message = f"Unknown parameter: '{call.value}'."
    return refused(Refusal(message, param=call.value, code="unknown_parameter"))


def wrong_content_type(_: Call) -> Script:
    """An HTML page where an answer was asked for."""
    return (Head(content_type="text/html; charset=utf-8"), Body(_PAGE))


def wrong_key(told: str = "") -> Refusal:
    """What a wrong key is answered with."""
    return Refusal(f"Incorrect API key provided{told}.", status=401, code="invalid_api_key")


def _too_many() -> Refusal:
    return Refusal("Rate limit reached.", status=429, type="requests", code="rate_limit_exceeded")
