"""Sessions written as the lines of a file, one entry at a time: two files can be compared line by line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import blake2b
from typing import Any

from conductor.errors import FormatError
from conductor.text.control_characters import escaped
from storage.database.encoding import to_json
from storage.session_entries import ENTRIES, Entry, Kind
from storage.store.session_store import SessionStore
from studio.session_file.format import FORMAT, LONG, MAX_ENTRIES, MAX_SESSIONS, REFERENCE, VERSION


def write_sessions(store: SessionStore, sessions: Sequence[str]) -> Iterator[bytes]:
    """The lines of one file with these sessions, in that order; each session is of one state of the store.

    While it is consumed, raises `StorageError` for an unknown session, and `FormatError` where the file could
    not be imported again.
    """
    if len(sessions) > MAX_SESSIONS:
        raise FormatError(
            f"These are {len(sessions):,} sessions; one file has at most {MAX_SESSIONS:,}. Export fewer."
        )
    lines = 2
    yield _line({"format": FORMAT, "version": VERSION, "sessions": len(sessions)})
    for session in sessions:
        # Closed also where the consumer stops: they hold a transaction open.
        with closing(store.files.entries(session)) as entries:
            for line in _session(entries):
                yield line
                lines += 1
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
        texts: dict[str, str] = {}
        value = _without_texts(json.loads(text), texts)
        for id, long in texts.items():
            if id not in written:
                written.add(id)
                yield _line({"text": {"id": id, "text": long}})
        yield _line({kind: value})


def _without_texts(value: Any, texts: dict[str, str]) -> Any:
    """The value with references in the place of long texts, which are added to `texts`."""
    if isinstance(value, dict):
        return {name: _without_texts(part, texts) for name, part in value.items()}
    if isinstance(value, list):
        return [_without_texts(part, texts) for part in value]
    if isinstance(value, str) and len(value) >= LONG:
        id = blake2b(value.encode(), digest_size=12).hexdigest()
        texts[id] = value
        return {REFERENCE: id}
    return value


def _line(value: dict[str, Any]) -> bytes:
    return escaped(f"{json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n").encode()
