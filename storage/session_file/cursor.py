"""A way through JSON text piece by piece, for files that nobody vouches for.

Nothing is read before it is asked for, and one value is bounded in depth and in parts before it is: what a
file can make this program do is bounded by its size. Knows JSON; knows nothing of sessions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from conductor.errors import FormatError
from conductor.json_object import finite, named_twice, no_number, unique

MAX_DEPTH = 64
"""Lists and objects inside one another in one value."""

MAX_PARTS = 100_000
"""Texts, lists, objects and commas in one value; the largest workflow has a third of them."""

MAX_VALUE_BYTES = 20_000_000
"""A request in which a hundred steps' outputs of 100,000 characters are sent takes half of it."""

_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
# A quote that begins no whole text is met by itself, so that its end is not looked for twice.
_PART = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{},]', re.DOTALL)
# An object of nothing but names, texts and numbers, as most entries are.
_FLAT = re.compile(rb'\{(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+\}', re.DOTALL)
_SCALAR = re.compile(rb'[^\s,:"\[\]{}]++')
# One half of a pair may stand alone as an escape, which no database can hold.
_HALF_PAIR = re.compile(r"\\ud[89a-f]", re.IGNORECASE)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Cursor:
    """A place in the text. Every method raises `FormatError` where the text is not what is asked for."""

    def __init__(self, data: bytes, *, most_parts: int = MAX_PARTS) -> None:
        self._data = data
        self._most_parts = most_parts
        self._at = len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0

    def members(self) -> Iterator[str]:
        """The names in the object that begins here; whoever is given a name reads its value next."""
        self._take(b"{")
        names: set[str] = set()
        if self._skip(b"}"):
            return
        while True:
            name = self._name()
            if name in names:
                raise named_twice(name)
            names.add(name)
            self._take(b":")
            yield name
            if self._skip(b"}"):
                return
            self._take(b",")

    def elements(self) -> Iterator[int]:
        """The places, from 1, in the list that begins here; whoever is given one reads its value next."""
        self._take(b"[")
        if self._skip(b"]"):
            return
        place = 0
        while True:
            place += 1
            yield place
            if self._skip(b"]"):
                return
            self._take(b",")

    def value(self) -> Any:
        """The whole value that begins here, as Python's `json` gives it."""
        start = self._space()
        self._at = self._end(start)
        if self._at - start > MAX_VALUE_BYTES:
            raise FormatError(
                f"The file has an entry of more than {MAX_VALUE_BYTES:,} bytes, which is none of ours."
            )
        try:
            text = self._data[start : self._at].decode()
            value = _DECODER.decode(text)
            if _HALF_PAIR.search(text):
                json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise FormatError(
                "The file has half a character, an escape like \\ud83d without the other half; take it out."
            ) from error
        except UnicodeDecodeError as error:
            raise FormatError("The file is not text in UTF-8; choose a JSON file.") from error
        except json.JSONDecodeError as error:
            raise self._unexpected(error.msg, at=start + error.pos) from error
        except ValueError as error:
            # Python refuses to read whole numbers of thousands of digits.
            raise FormatError("The file has a number that is too long to be one of ours.") from error
        return value

    def finish(self) -> None:
        """Check that nothing follows."""
        if self._space() != len(self._data):
            raise self._unexpected("Something follows the end")

    def _end(self, start: int) -> int:
        first = self._data[start : start + 1]
        if first not in (b"{", b"[", b'"'):
            scalar = _SCALAR.match(self._data, start)
            if scalar is None:
                raise self._unexpected("A value is missing", at=start)
            return scalar.end()
        # So short that it cannot have too many parts.
        flat = _FLAT.match(self._data, start, start + MAX_PARTS)
        return self._closed(start) if flat is None else flat.end()

    def _closed(self, start: int) -> int:
        """Where what begins with a bracket or a quote ends, its depth and its parts counted on the way."""
        depth = 0
        for parts, found in enumerate(_PART.finditer(self._data, start)):
            token = found.group()[:1] if found.end() - found.start() == 1 else b""
            if token in (b"{", b"["):
                depth += 1
            elif token in (b"}", b"]"):
                depth -= 1
            elif token == b'"':
                raise self._unexpected("A text does not end", at=found.start())
            if depth > MAX_DEPTH:
                raise FormatError("The file is nested too deeply to be one of ours.")
            if parts > self._most_parts:
                raise FormatError(
                    f"The file has an entry of more than {self._most_parts:,} parts, which is none of ours."
                )
            if depth == 0:
                return found.end()
        raise self._unexpected("The file ends too early", at=len(self._data))

    def _name(self) -> str:
        found = _STRING.match(self._data, self._space())
        if found is None:
            raise self._unexpected("A name in quotes is missing")
        name = self.value()
        assert isinstance(name, str)
        return name

    def _take(self, byte: bytes) -> None:
        if not self._skip(byte):
            raise self._unexpected(f"{byte.decode()!r} is missing")

    def _skip(self, byte: bytes) -> bool:
        at = self._space()
        found = self._data[at : at + 1] == byte
        self._at += found
        return found

    def _space(self) -> int:
        found = _SPACE.match(self._data, self._at)
        assert found is not None
        self._at = found.end()
        return self._at

    def _unexpected(self, what: str, *, at: int | None = None) -> FormatError:
        line = self._data.count(b"\n", 0, self._at if at is None else at) + 1
        return FormatError(f"The file is not JSON as it should be: {what} in line {line:,}.")


_DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=no_number, parse_float=finite)
