"""A server's message about an error: found in each of the known shapes, and shortened to be shown.

Knows the shapes and the Retry-After header; knows neither endpoints nor failures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from conductor.text.json_text import joined

SHOWN_CHARACTERS = 300
"""The length at which a server's message is cut."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+|\s+")


def shortened(text: str) -> str:
    """One line, without control characters and halves of others, of at most `SHOWN_CHARACTERS`."""
    line = _UNPRINTABLE.sub(" ", joined(text)).strip()
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[: SHOWN_CHARACTERS - 1]}…"


def quoted(message: str) -> str:
    """The message as the end of a sentence; "" where there is none."""
    return f": “{shortened(message).rstrip('.')}”" if message else ""


def error_message(body: bytes) -> str:
    """The message in an error's body; the whole text where its shape is unknown, "" for an HTML page."""
    text = body.decode("utf-8", errors="replace").strip()
    if text.startswith("<"):
        return ""
    try:
        return message_of(json.loads(text))
    except (ValueError, RecursionError):
        return text


def message_of(error: Any) -> str:
    """The message in the known shapes: OpenAI's, FastAPI's, Google's list, a bare text."""
    match error:
        case str():
            return error
        case [first, *_] if isinstance(first, Mapping) and "msg" in first:
            where = ".".join(map(str, first.get("loc") or ()))
            return f"{where}: {first['msg']}" if where else str(first["msg"])
        case [first, *_]:
            return message_of(first)
        case {"message": str() as message, "param": str() as parameter} if parameter not in message:
            return f"{message} ({parameter})"
        case {"error": inner} | {"message": inner} | {"detail": inner}:
            return message_of(inner)
        case _:
            return ""


def retry_after(header: str) -> float | None:
    """The seconds of a Retry-After header, given as such or as a date; None when it is neither."""
    value = header.strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
