"""Sessions written as the text of a file, one entry a line: two files can be compared line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import StringIO

from conductor.errors import FormatError
from storage.session_entries import SECTIONS, Entry, Section
from storage.session_file.document import BULK_FORMAT, FORMAT
from storage.session_file.reading import MAX_BYTES, MAX_SESSIONS
from storage.session_file.references import MAX_ROWS
from storage.session_file.upgrades import UPGRADES
from storage.store.session_store import SessionStore
from storage.text import to_json

VERSION = len(UPGRADES) + 1

_END = "\n]}\n"


def write_session(store: SessionStore, session: str) -> str:
    """The file of one session.

    Raises `StorageError` for an unknown one, and `FormatError` where it could not be imported again.
    """
    text = StringIO()
    for piece in _session(_bounded(store.entries(session))):
        text.write(piece)
        if text.tell() > MAX_BYTES:
            raise _too_much(f"{MAX_BYTES:,} bytes as a file")
    return text.getvalue()


def write_sessions(store: SessionStore, sessions: Sequence[str]) -> bytes:
    """One file of several sessions, in that order; a file that begins otherwise, and is imported alike.

    Raises `FormatError` where it could not be imported again.
    """
    if len(sessions) > MAX_SESSIONS:
        raise FormatError(
            f"These are {len(sessions):,} sessions; one file has at most {MAX_SESSIONS:,}. Export fewer."
        )
    text = StringIO()
    text.write(f'{{"format": "{BULK_FORMAT}", "version": {VERSION}, "sessions": [')
    for place, session in enumerate(sessions):
        text.write(",\n" if place else "\n")
        for piece in _session(_bounded(store.entries(session))):
            text.write(piece.removesuffix("\n") if piece == "}\n" else piece)
            if text.tell() > MAX_BYTES - len(_END):
                raise FormatError(
                    f"The sessions together take more than {MAX_BYTES:,} bytes, and could not be imported "
                    "again; export fewer at once."
                )
    text.write(_END)
    return text.getvalue().encode()


def _bounded(entries: Iterator[tuple[Section, Entry]]) -> Iterator[tuple[Section, Entry]]:
    """The entries, as long as there are not more of them than a file may have."""
    rows = others = 0
    for section, entry in entries:
        rows += section in ("plans", "revisions", "runs", "experiments")
        others += section in ("corrections", "ratings", "outputs")
        if rows > MAX_ROWS:
            raise _too_much(f"{MAX_ROWS:,} plans, revisions, runs and experiments")
        if others > MAX_ROWS:
            raise _too_much(f"{MAX_ROWS:,} outputs and judgements")
        yield section, entry


def _too_much(what: str) -> FormatError:
    return FormatError(
        f"The session has more than {what}, and could not be imported again; "
        "export its workflow alone, or keep a copy of the whole database."
    )


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
