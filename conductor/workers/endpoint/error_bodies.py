"""A server's own words about an error: found in whatever shape they come, and made fit to be shown.

Knows the shapes and the Retry-After header; knows neither endpoints nor failures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

SAID_CHARACTERS = 300
"""How much of a server's own words is shown."""

_UNSPOKEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+|\s+")


def shortened(text: str) -> str:
    """One line, without control characters, of at most `SAID_CHARACTERS`."""
    line = _UNSPOKEN.sub(" ", text).strip()
    return line if len(line) <= SAID_CHARACTERS else f"{line[: SAID_CHARACTERS - 1]}…"


def quoted(said: str) -> str:
    """How words follow a sentence; "" where there are none."""
    return f": “{shortened(said).rstrip('.')}”" if said else ""


def spoken(body: bytes) -> str:
    """A server's own words about an error, whatever shape it gives them."""
    text = body.decode("utf-8", errors="replace").strip()
    if text.startswith("<"):
        return ""
    try:
        return message_of(json.loads(text))
    except (ValueError, RecursionError):
        return text


def message_of(error: Any) -> str:
    """The words in the known shapes: OpenAI's, FastAPI's, Google's list, a bare text."""
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
