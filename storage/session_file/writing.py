"""Sessions written as the text of a file, one entry a line: two files can be compared line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from io import StringIO

from conductor.errors import FormatError
from storage.session_entries import SECTIONS, Entry, Section
from storage.session_file.document import BULK_FORMAT, FORMAT
from storage.session_file.reading import MAX_BYTES
from storage.session_file.upgrades import UPGRADES
from storage.store.session_store import SessionStore
from storage.text import to_json

VERSION = len(UPGRADES) + 1


def write_session(store: SessionStore, session: str) -> str:
    """The file of one session. Raises `StorageError` for an unknown one."""
    text = StringIO()
    for piece in _session(store.entries(session)):
        text.write(piece)
    return text.getvalue()


def write_sessions(store: SessionStore, sessions: Iterable[str]) -> bytes:
    """One file of several sessions, in that order; a file that begins otherwise, and is imported alike.

    Raises `FormatError` where it would be larger than what is imported again.
    """
    text = StringIO()
    text.write(f'{{"format": "{BULK_FORMAT}", "version": {VERSION}, "sessions": [')
    for place, session in enumerate(sessions):
        text.write(",\n" if place else "\n")
        for piece in _session(store.entries(session)):
            text.write(piece.removesuffix("\n") if piece == "}\n" else piece)
        if text.tell() > MAX_BYTES:
            raise FormatError(
                f"The sessions together take more than {MAX_BYTES:,} bytes, and could not be imported again; "
                "export fewer at once."
            )
    text.write("\n]}\n")
    return text.getvalue().encode()


def _session(entries: Iterator[tuple[Section, Entry]]) -> Iterator[str]:
    """The document in pieces; every list is there, be it empty."""
    yield f'{{"format": "{FORMAT}", "version": {VERSION}'
    left = list(SECTIONS)
    at: Section | None = None
    for section, entry in entries:
        while at != section:
            yield from _ended(at)
            at = left.pop(0)
            yield f',\n"{at}": ' if at == "session" else f',\n"{at}": ['
            first = True
        yield "" if section == "session" else "\n" if first else ",\n"
        first = False
        yield json.dumps(json.loads(to_json(SECTIONS[section], entry)))
    yield from _ended(at)
    for name in left:
        yield f',\n"{name}": []'
    yield "}\n"


def _ended(section: Section | None) -> Iterator[str]:
    if section not in (None, "session"):
        yield "]"
