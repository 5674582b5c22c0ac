"""A run in one file: a page that replays a stored run and holds the lines of its session, to be imported.

Knows where in such a page the lines are; `conductor/report` knows the page.
"""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

from conductor.errors import FormatError, StorageError
from conductor.text.formatting import size
from conductor.values.note import Note
from conductor.workflow.model import Workflow
from storage.store import SessionStore
from studio.session_file.writing import write_sessions
from studio.sessions.notes import Notes
from studio.sessions.plan_origin import planned_by

if TYPE_CHECKING:
    from conductor.report import Planning

MAX_SESSION = 20_000_000
"""Bytes of a session's lines in a page; a larger session is exported as a session file."""

_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head)\b", re.IGNORECASE)
_FIRST, _AFTER_LAST = b'<script type="application/json" id="session">', b"</script>"
_PIECE = 1_000_000
# An escaped "<" has six bytes.
_MOST = 6 * MAX_SESSION


# -- out -------------------------------------------------------------------------------------------


def run_page(store: SessionStore, run: str, *, now: float) -> str:
    """The page of a run as far as it is stored; `now` (Unix seconds) is when it is written.

    A session that is too large is not in it, as the page states. Raises `StorageError` for an unknown run and
    for one that has not begun.
    """
    # Who imports a session, or plans, does not wait for what draws a page.
    from conductor.report import run_report  # noqa: PLC0415

    record = store.runs.find(run)
    state = store.runs.state(run)
    if state.workflow is None:
        raise StorageError(f"The run {run!r} has not begun, so there is nothing to report; run it first.")
    return run_report(
        state,
        store.runs.events(run),
        title=store.sessions.find(record.session).title,
        written_at=now,
        pool_label=record.pool_label,
        used=store.sessions.total(record.session),
        planning=_planning(store, record.revision),
        notes=_notes(store, record.session, state.workflow),
        session=_lines(store, record.session),
    )


def _lines(store: SessionStore, session: str) -> str:
    """The session's lines; "" where they are too many."""
    lines, left = [], MAX_SESSION
    try:
        for line in write_sessions(store, [session]):
            left -= len(line)
            if left < 0:
                return ""
            lines.append(line)
    except FormatError:
        return ""
    return b"".join(lines).decode()


def _notes(store: SessionStore, session: str, workflow: Workflow) -> list[Note]:
    """The session's notes at the steps of the workflow that was run; those on other steps are left out."""
    return [
        note.model_copy(update={"step": step})
        for step, notes in Notes(store).by_step(session, workflow).items()
        for note in notes
        if step is not None or note.part == "question"
    ]


def _planning(store: SessionStore, revision: str) -> Planning | None:
    from conductor.report import Planning  # noqa: PLC0415 - as above

    ran = store.revisions.find(revision)
    source = planned_by(store, ran)
    if source is None:
        return None
    planned, plan = source
    parts = () if plan.report is None else (plan.report.thinking, plan.report.reasoning)
    return Planning(
        planner=plan.planner,
        reasoning="\n\n".join(part for part in parts if part),
        edited=ran.workflow.unpinned != planned.workflow.unpinned,
    )


def newest_run(store: SessionStore, session: str) -> str:
    """The id of the session's newest run. Raises `StorageError` where it has none."""
    newest = store.runs.latest(session)
    if newest is None:
        raise StorageError(f"The session {session!r} has no run to report; run its workflow first.")
    return newest.id


# -- in --------------------------------------------------------------------------------------------


def lines_in(file: BinaryIO) -> BinaryIO:
    """The lines of the session in a page, as a file; a file that begins as no page is returned as it is.

    Raises `FormatError` for a page without a session.
    """
    file.seek(0)
    if not _PAGE.match(file.read(1_000)):
        return file
    file.seek(0)
    while piece := file.readline(_PIECE):
        if piece.strip() == _FIRST:
            break
    else:
        raise FormatError("This page has no session. Choose a run in one file, as Share writes it.")
    lines = BytesIO()
    while (piece := file.readline(_PIECE)) and piece.strip() != _AFTER_LAST:
        lines.write(piece)
        if lines.tell() > _MOST:
            raise FormatError(
                f"The session in the page has more than {size(_MOST)}, too large for a run in one file."
            )
    return lines
