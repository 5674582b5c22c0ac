"""Session files as bytes: how tests write, read and edit them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from storage import Session, SessionStore
from studio.session_file import ImportPreview, import_sessions, look_into, write_sessions


def exported(store: SessionStore, *sessions: str) -> bytes:
    """The file of these sessions."""
    return b"".join(write_sessions(store, sessions))


def imported(store: SessionStore, file: bytes) -> Session:
    """The session of a file of one, imported."""
    (session,) = import_sessions(store, BytesIO(file))
    return store.sessions.find(session)


def previewed(file: bytes, *, workers: Sequence[str] = (), **options: Any) -> ImportPreview:
    """What the file holds."""
    return look_into(BytesIO(file), workers=workers, **options)


def lines_of(file: bytes) -> list[dict[str, Any]]:
    """The file's lines as values."""
    return [json.loads(line) for line in file.splitlines()]


def file_of(*entries: dict[str, Any]) -> bytes:
    """A file of these lines between the first and the last, whose counts are right."""
    sessions = sum("session" in entry for entry in entries)
    header = {"format": "conductor-session", "version": 2, "sessions": sessions}
    lines = [header, *entries, {"end": {"lines": len(entries) + 2}}]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
