"""Marks show whether anything has changed since a page was drawn, in this process or another one.

Cheap enough for an idle page to check every second. Knows what a page shows of the store, no page.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from conductor.errors import StorageError
from studio.workbench.workbench import Workbench

RECENT = 8
"""Sessions that the list of recent ones shows."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Short texts; each changes with what it represents.

    `session` represents one session, "" none; `recent` the list of recent ones. Events inside a run change
    neither: a page that shows a run reads its events.
    """

    session: str
    recent: str


def marks(bench: Workbench, session: str | None) -> Marks:
    """The marks as of now; an unknown session's is "gone"."""
    recent = bench.store.sessions.newest(limit=RECENT)
    return Marks(_session_mark(bench, session), _digest(*recent))


def _session_mark(bench: Workbench, session: str | None) -> str:
    if session is None:
        return ""
    try:
        record = bench.store.sessions.find(session)
        run = bench.store.runs.latest(session)
        notes = [note.id for note in bench.store.notes.of_session(session)]
    except StorageError:
        return "gone"
    ran = None if run is None else (run.id, run.status)
    # Planning leaves no trace in the store before it ends; elsewhere it is shown then.
    return _digest(record.model_dump_json(), ran, notes, bench.activities.busy(session))


def _digest(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(errors="replace"), digest_size=8).hexdigest()
