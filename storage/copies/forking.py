"""A fork as rows: a new session that begins with a revision of another one, and with what that one knows.

The rounds that the revision looks back on come along, with their runs and events, so that a fork stands by
itself: it stays whole when the session that it was made from goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, literal, select

from conductor.runs.events import RunStarted
from conductor.values.conversation import Conversation
from storage import fragments
from storage.database.schema import EVENTS, FRAGMENTS, LONG_TEXTS, OUTPUTS, REVISION_WORKERS, REVISIONS, RUNS
from storage.records import Session
from storage.tables import ledger, revisions, runs, sessions
from storage.tables.revisions import check_belongs
from storage.tables.rows import new_id, next_number

_BATCH = 500
"""Fragments that are copied by one statement."""


def fork(
    connection: Connection,
    now: float,
    session: str,
    revision: str,
    *,
    query: str | None = None,
    conversation: Conversation | None = None,
) -> Session:
    """A new session that begins with a revision of this one; `query` and `conversation` are in the place of
    this one's.

    It has the settings, all known outputs, and the rounds that the revision looks back on; its
    `forked_from` is that revision.
    """
    parent = sessions.find(connection, session)
    base = revisions.find(connection, revision)
    check_belongs(session, revision=base)
    copy = sessions.create(
        connection,
        now,
        query or parent.query,
        title=f"{parent.title[: sessions.MAX_TITLE - 7]} (fork)",
        pool_label=parent.pool_label,
        origin="fork",
        forked_from=revision,
        conversation=conversation or parent.conversation,
    )
    outputs = select(literal(copy.id), *(column for column in OUTPUTS.c if column.name != "session"))
    connection.execute(
        OUTPUTS.insert().from_select(OUTPUTS.c.keys(), outputs.where(OUTPUTS.c.session == session))
    )
    stored = connection.scalars(select(OUTPUTS.c.output).where(OUTPUTS.c.session == session)).all()
    _take_along(connection, stored, session=session, into=copy.id)
    note = f"Forked from revision {base.number} of {parent.title}"
    head, _ = _revision(connection, revision, into=copy.id, note=note, now=now)
    sessions.change(connection, copy.id, head=head, state="planned", settings=parent.settings)
    return sessions.find(connection, copy.id)


def _revision(
    connection: Connection, revision: str, *, into: str, note: str | None, now: float
) -> tuple[str, str | None]:
    """Copy a revision and the rounds before it; the ids of the copy and of the run that it looks back on.

    Without a `note` it keeps its own.
    """
    row: dict[str, Any] = dict(
        connection.execute(select(REVISIONS).where(REVISIONS.c.id == revision)).mappings().one()
    )
    before = looks_back = None
    if row["looks_back"] is not None:
        before, looks_back = _round(connection, row["looks_back"], into=into, now=now)
    _take_along(connection, [row["workflow"]], session=row["session"], into=into)
    row |= {
        "id": new_id(),
        "session": into,
        "number": next_number(connection, REVISIONS, into),
        "parent": before,
        "note": row["note"] if note is None else note,
        # The plan stays with its session: what a fork changes is no correction of it.
        "plan": None,
        "created_at": now,
        "looks_back": looks_back,
        "redo": None,
    }
    connection.execute(REVISIONS.insert(), row)
    # The trigger adds the steps' own workers, without their fallbacks.
    named = {
        copy: select(REVISION_WORKERS.c.worker).where(REVISION_WORKERS.c.revision == copy)
        for copy in (revision, row["id"])
    }
    fallbacks = connection.scalars(named[revision].except_(named[row["id"]])).all()
    if fallbacks:
        rows = [{"revision": row["id"], "worker": name} for name in fallbacks]
        connection.execute(REVISION_WORKERS.insert(), rows)
    return row["id"], looks_back


def _round(connection: Connection, run: str, *, into: str, now: float) -> tuple[str, str]:
    """Copy a finished run with what it ran; the ids of the copied revision and run."""
    row: dict[str, Any] = dict(connection.execute(select(RUNS).where(RUNS.c.id == run)).mappings().one())
    revision, before = _revision(connection, row["revision"], into=into, note=None, now=now)
    row |= {
        "id": new_id(),
        "session": into,
        "number": next_number(connection, RUNS, into),
        "revision": revision,
        "parent": before,
        "experiment": None,
        "trial": None,
    }
    connection.execute(RUNS.insert(), row)
    shared = fragments.Fragments()
    for event in runs.events_of(connection, run, after=-1):
        place: dict[str, Any] = {"run": row["id"]}
        if isinstance(event, RunStarted):
            place["parent"] = before
        copied = shared.event(event.model_copy(update=place))
        connection.execute(EVENTS.insert(), {"run": row["id"], "seq": event.seq, "event": copied})
    shared.keep(connection, session=into)
    ledger.copy_run(connection, run, to=row["id"], session=into)
    return revision, row["id"]


def _take_along(connection: Connection, stored: Sequence[str], *, session: str, into: str) -> None:
    """Copy what rows of `session` refer to that the session `into` does not have."""
    reached = fragments.reachable(connection, session, fragments.Reached.of(*stored))
    for table, digests in ((FRAGMENTS, reached.json.keys()), (LONG_TEXTS, reached.texts)):
        had = connection.scalars(select(table.c.digest).where(table.c.session == into))
        missing = sorted(digests - set(had))
        for start in range(0, len(missing), _BATCH):
            some = table.c.digest.in_(missing[start : start + _BATCH])
            copied = select(literal(into), table.c.digest, table.c.text).where(
                table.c.session == session, some
            )
            connection.execute(table.insert().from_select(table.c.keys(), copied))
