"""Files of version 1: one JSON document with a list for each kind of entry, of one session or of several.

None is written any more. A document is read whole, so its size is limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conductor.errors import FormatError
from storage.session_entries import Kind
from studio.session_file.format import FORMAT

BULK_FORMAT = "conductor-sessions"
"""A file of several sessions."""

MAX_BYTES = 50_000_000
"""No larger file was written."""

MAX_PARTS = 2_000_000
"""Members of objects and items of lists in a file."""

MAX_SESSIONS = 10_000

_KINDS: Mapping[str, Kind] = {
    "session": "session",
    "plans": "plan",
    "revisions": "revision",
    "runs": "run",
    "experiments": "experiment",
    "corrections": "correction",
    "ratings": "rating",
    "outputs": "output",
    "events": "event",
}
"""By the names of a document's members."""


def entries_in(document: Mapping[str, Any]) -> Iterator[tuple[int, str, Kind, Any]]:
    """Each entry as the number of its session, its place, its kind and its value, in the order of version 2.

    Raises `FormatError` where the document is no list of entries for each kind.
    """
    sessions = document.get("sessions") if document["format"] == BULK_FORMAT else [document]
    if not isinstance(sessions, list) or len(sessions) > MAX_SESSIONS:
        raise FormatError(f'The file is wrong: its "sessions" are a list of at most {MAX_SESSIONS:,}.')
    for number, session in enumerate(sessions, start=1):
        if not isinstance(session, dict) or (session.get("format"), session.get("version")) != (FORMAT, 1):
            raise FormatError(f"Session {number:,} is wrong: it is no session of version 1.")
        if unknown := session.keys() - _KINDS.keys() - {"format", "version"}:
            raise FormatError(f"Session {number:,} is wrong: the member {min(unknown)[:60]!r} is unknown.")
        if "session" not in session:
            raise FormatError(f'Session {number:,} is wrong: its member "session" is missing.')
        for name, kind in _KINDS.items():
            entries = [session[name]] if kind == "session" else session.get(name, [])
            if not isinstance(entries, list):
                raise FormatError(f"Session {number:,} is wrong: its {name} are no list.")
            for at, entry in enumerate(entries, start=1):
                yield number, f"{kind.capitalize()} {at:,}", kind, entry
