"""JSON text that loses nothing: each name is there once, every number is one, characters are whole.

Python's `json` keeps the last of two members of one name, and reads NaN. JSON can escape one half of a
character, one of the two surrogates with which UTF-16 writes it, alone or in another piece of a stream than
its other half; UTF-8, in which everything is stored and sent, has no form for a half. NUL is a character that
PostgreSQL refuses, and SQLite's functions end a text there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, NoReturn

from conductor.errors import FormatError
from conductor.text.bounded_value import BoundsError, json_value


class _Lossy(ValueError):
    """What reading would lose; the message follows the name of the text."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise _Lossy(f"names {name[:60]!r} twice in one object, so it has two values; take one out.")
    return members


def _no_number(name: str) -> NoReturn:
    raise _Lossy(f"has {name} in the place of a number.")


def parsed(data: str | bytes, *, where: str, parse_constant: Callable[[str], Any] = _no_number) -> Any:
    """The value of JSON from outside, without any loss. `where` names it for errors.

    `parse_constant` gives what NaN and the like become. Raises `FormatError`; only halves of characters that
    are written as escapes pass.
    """
    try:
        # Strictly, where `json.loads` would let halves of characters pass.
        text = data if isinstance(data, str) else data.decode(json.detect_encoding(data))
        return json_value(text, object_pairs_hook=_unique, parse_constant=parse_constant)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno:,}, " if "\n" in error.doc.strip() else ""
        place = f"at {line}column {error.colno:,}"
        raise FormatError(f"{where} is not JSON: {error.msg} {place}.") from error
    except _Lossy as error:
        raise FormatError(f"{where} {error}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{where} is not text in UTF-8; save it as such, or export it again.") from error
    except BoundsError as error:
        raise FormatError(f"{where} cannot be read: {error}.") from error


def portable(text: str) -> str:
    """The text as every store and protocol can hold it: halves that form a pair are joined, any other half
    and NUL become U+FFFD. All other characters stay.
    """
    if "\x00" not in text:
        if text.isascii():
            return text
        try:
            # To search by a regular expression takes six times as long.
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "\ufffd")


class HalfJoiner:
    """A stream of text: what `feed` and `end` return is, together, `portable` of all that was fed."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What is certain after the next piece: all of it but a first half at its end."""
        text, self._held = self._held + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return portable(text)

    def end(self) -> str:
        held, self._held = self._held, ""
        return portable(held)


class ValueCounter:
    """How many values a JSON text has, counted from its bytes before a parser builds an object for each.

    `values` are the members of all objects and the items of all lists; an empty object or list counts as one.
    A piece may end anywhere, also inside a string or an escape. The text need not be valid.
    """

    def __init__(self) -> None:
        self.values = 0
        self._in_string = False
        self._in_escape = False

    def feed(self, piece: bytes) -> None:
        """Count the values that begin in the next piece of the text."""
        if self._in_escape:
            piece = b"\\" + piece
        # Pairs of backslashes first: what is left of a row of them escapes the character behind it.
        unescaped = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        self._in_escape = unescaped.endswith(b"\\")
        parts = unescaped.split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        self.values += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
