"""Sessions written as the lines of a file, one entry at a time: two files can be compared line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from hashlib import blake2b
from typing import Any

from pydantic_core import from_json as parsed
from pydantic_core import to_json as to_text

from conductor.errors import FormatError, StorageError
from conductor.text.control_characters import escaped
from storage.database.encoding import to_json
from storage.session_entries import ENTRIES, Entry, Kind
from storage.store.session_store import SessionStore
from studio.session_file.format import FORMAT, LONG, MAX_ENTRIES, MAX_SESSIONS, REFERENCE, VERSION


def write_sessions(
    store: SessionStore, sessions: Sequence[str], *, progress: Callable[[int], None] | None = None
) -> Iterator[bytes]:
    """The lines of one file with these sessions, in that order; each session is of one state of the store.
    `progress` is called with how many are written.

    While it is consumed, raises `StorageError` for an unknown session, and `FormatError` where the file could
    not be imported again.
    """
    if len(sessions) > MAX_SESSIONS:
        raise FormatError(
            f"These are {len(sessions):,} sessions; one file has at most {MAX_SESSIONS:,}. Export fewer."
        )
    lines = 2
    yield _line({"format": FORMAT, "version": VERSION, "sessions": len(sessions)})
    for number, session in enumerate(sessions, 1):
        # Closed also where the consumer stops: they hold a transaction open.
        try:
            with closing(store.files.entries(session)) as entries:
                for line in _session(entries):
                    yield line
                    lines += 1
        except StorageError as error:
            raise StorageError(f"Session {session!r}: {error}") from error
        if progress is not None:
            progress(number)
    yield _line({"end": {"lines": lines}})


def _session(entries: Iterator[tuple[Kind, Entry]]) -> Iterator[bytes]:
    counts: Counter[Kind] = Counter()
    written: set[str] = set()
    for kind, entry in entries:
        counts[kind] += 1
        if counts[kind] > MAX_ENTRIES and kind != "event":
            raise FormatError(
                f"The session has more than {MAX_ENTRIES:,} {kind}s, and could not be imported again; "
                "export its workflow alone, or copy the whole database."
            )
        text = to_json(ENTRIES[kind], entry)
        if len(text) < LONG or kind == "session":
            # Texts are counted from the session's own line on, so that line refers to none.
            yield escaped(f'{{"{kind}":{text}}}\n').encode()
            continue
        value = parsed(text)
        for id, long in _long_texts(value):
            if id not in written:
                written.add(id)
                yield _line({"text": {"id": id, "text": long}})
        yield _line({kind: value})


def _long_texts(value: Any) -> Iterator[tuple[str, str]]:
    """Put references in the place of the value's long texts; the texts, by their ids."""
    for place, part in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(part, str):
            if len(part) >= LONG:
                id = blake2b(part.encode(), digest_size=12).hexdigest()
                value[place] = {REFERENCE: id}
                yield id, part
        elif isinstance(part, dict | list):
            yield from _long_texts(part)


def _line(value: dict[str, Any]) -> bytes:
    return escaped(f"{to_text(value).decode()}\n").encode()
