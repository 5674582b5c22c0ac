"""Recorded sessions: real runs in session files, imported when a person wants to watch one.

Knows which there are; `session_file` reads them.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from storage.records import Session
from storage.store import SessionStore
from studio.session_file import import_sessions

_FILES = Path(__file__).parent / "recorded"


class Recorded(NamedTuple):
    """A recorded session. `title` is the session's own, `label` names who answered."""

    name: str
    title: str
    sentence: str
    label: str


RECORDED = (
    Recorded(
        "report",
        "Recorded: a report of three readers and an editor",
        "How a run moves: words that stream, a connection that breaks, a step that is asked again.",
        "simulated workers, texts written by hand",
    ),
)


def open_recorded(store: SessionStore, recorded: Recorded) -> Session:
    """The recorded session: the one that was imported before, where it is not deleted, else a new one.

    Raises `StorageError`.
    """
    before = store.sessions.titled(recorded.title)
    if before is not None:
        return store.sessions.find(before)
    with (_FILES / f"{recorded.name}.jsonl").open("rb") as file:
        (session,) = import_sessions(store, file)
    return session
