"""Files of version 1: one JSON document with a list for each kind of entry, of one session or of several.

Read piece by piece, because the files are untrusted; none is written any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count
from typing import BinaryIO

from conductor.errors import FormatError
from storage.copies.session_entries import Kind

BULK_FORMAT = "conductor-sessions"
"""A file of several sessions."""

MAX_BYTES = 50_000_000
"""No larger file was written."""

MAX_SESSIONS = 10_000

_KINDS: Mapping[bytes, Kind] = {
    b"session": "session",
    b"plans": "plan",
    b"revisions": "revision",
    b"runs": "run",
    b"experiments": "experiment",
    b"corrections": "correction",
    b"ratings": "rating",
    b"outputs": "output",
    b"events": "event",
}
"""By the names of a document's members, in their order."""

_SPACE = rb"[ \t\r\n]*+"

_MAX_DEPTH = 64
"""Lists and objects inside one another in an entry."""

_MAX_TOKENS = 100_000
"""Texts and brackets in an entry."""

_TEXT = rb'"(?:[^"\\]++|\\.)*+"'
# An object of nothing but names, texts and numbers, as most entries are.
_FLAT = re.compile(rb'\{(?:[^"\[\]{}]++|' + _TEXT + rb")*+\}", re.DOTALL)
# A quote that begins no whole text is found by itself, so that its end is searched once.
_TOKEN = re.compile(_TEXT + rb'|["\[\]{}]', re.DOTALL)


def entries_in(file: BinaryIO) -> Iterator[tuple[int, Kind, bytes]]:
    """Each entry's line (from 1), kind and JSON. Raises `FormatError` where the document is wrong."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise FormatError(f"The file has more than {MAX_BYTES:,} bytes, which no file of version 1 has.")
    document = _Document(data)
    yield from document.sessions() if document.is_bulk() else document.session()
    document.take(r"\Z", "the end")


@cache
def _compiled(pattern: str) -> re.Pattern[bytes]:
    """The expression after any space, in which `~` matches any space."""
    return re.compile(_SPACE + pattern.encode("ascii").replace(b"~", _SPACE))


class _Document:
    """A place in the document. Its methods raise `FormatError` where they find something else there."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._line = 1
        self._counted = 0

    def is_bulk(self) -> bool:
        """Whether it holds several sessions; their list is next."""
        return self._skip(rf'(?:\xef\xbb\xbf)?~\{{~"format"~:~"{BULK_FORMAT}"~,~"version"~:~1~,~"sessions"~:')

    def sessions(self) -> Iterator[tuple[int, Kind, bytes]]:
        """The entries of a list of sessions."""
        for place in self._elements():
            if place > MAX_SESSIONS:
                raise FormatError(f"The file has more than {MAX_SESSIONS:,} sessions; import fewer at once.")
            yield from self.session()
        self.take(r"\}", "'}'")

    def session(self) -> Iterator[tuple[int, Kind, bytes]]:
        """The entries of a session."""
        self.take(r'(?:\xef\xbb\xbf)?~\{~"format"~:~"conductor-session"~,~"version"~:~1', "the format")
        left = dict(_KINDS)
        while found := self._find(r',~"([^"\\]*+)"~:'):
            kind = left.pop(found[1], None)
            if kind is None:
                raise self._wrong(
                    f"the member {found[1][:60].decode(errors='replace')!r} is unknown, or there twice"
                )
            if kind != "session" and b"session" in left:
                break
            places = [0] if kind == "session" else self._elements()
            for _ in places:
                yield self._entry(kind)
        if b"session" in left:
            raise self._wrong('a document begins with its "session"')
        self.take(r"\}", "'}'")

    def take(self, pattern: str, what: str) -> None:
        """Move past what the pattern describes, in which `~` matches any space."""
        if not self._skip(pattern):
            raise self._wrong(f"{what} is missing")

    def _elements(self) -> Iterator[int]:
        """The places, from 1, in the list that begins here; the element is read before the next place."""
        self.take(r"\[", "'['")
        if self._skip(r"\]"):
            return
        for place in count(1):
            yield place
            if self._skip(r"\]"):
                return
            self.take(",", "','")

    def _entry(self, kind: Kind) -> tuple[int, Kind, bytes]:
        self._skip("")
        start = self._at
        if self._data[start : start + 1] != b"{":
            raise self._wrong(f"the {kind} is not an object")
        # So short that it cannot have too many parts.
        flat = _FLAT.match(self._data, start, start + _MAX_TOKENS)
        self._at = self._end(start) if flat is None else flat.end()
        return self._line_of(start), kind, self._data[start : self._at]

    def _end(self, start: int) -> int:
        depth = 0
        for tokens, found in enumerate(_TOKEN.finditer(self._data, start)):
            token = found[0] if found.end() - found.start() == 1 else b""
            depth += (token in (b"{", b"[")) - (token in (b"}", b"]"))
            if token == b'"':
                break
            if depth > _MAX_DEPTH or tokens > _MAX_TOKENS:
                raise self._wrong("the entry is nested too deeply, or has too many parts")
            if depth == 0:
                return found.end()
        raise self._wrong("the entry does not end")

    def _skip(self, pattern: str) -> bool:
        return self._find(pattern) is not None

    def _find(self, pattern: str) -> re.Match[bytes] | None:
        found = _compiled(pattern).match(self._data, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _line_of(self, at: int) -> int:
        self._line += self._data.count(b"\n", self._counted, at)
        self._counted = at
        return self._line

    def _wrong(self, what: str) -> FormatError:
        return FormatError(f"Line {self._line_of(self._at):,} is wrong: {what}.")
