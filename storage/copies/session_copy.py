"""A session's rows as entries, a few in memory at a time.

Functions of a connection inside a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel
from sqlalchemy import Connection, RowMapping, Select, Table, Text, bindparam, exists, select

from conductor.runs.events import EVENT
from storage import fragments
from storage.database.schema import (
    CHANGE_REQUESTS,
    CORRECTIONS,
    EVENTS,
    EXPERIMENTS,
    NOTES,
    OUTPUT,
    OUTPUTS,
    PLANS,
    RATINGS,
    REVISIONS,
    RUNS,
    SESSIONS,
    TAGS,
    WORKFLOW,
)
from storage.records import Session
from storage.session_entries import (
    ChangeEntry,
    ChargedPlanEntry,
    CorrectionEntry,
    Entry,
    ExperimentEntry,
    Kind,
    NoteEntry,
    NumberedEntry,
    RatingEntry,
    RevisionEntry,
    RunEntry,
    SessionEntry,
)
from storage.tables import ledger, sessions, text_pieces
from storage.tables.rows import record

_BATCH = 25
"""Entries that are read together: with their texts they are in memory at once."""

TABLES: Mapping[Kind, Table] = {
    "plan": PLANS,
    "revision": REVISIONS,
    "run": RUNS,
    "experiment": EXPERIMENTS,
    "correction": CORRECTIONS,
    "rating": RATINGS,
    "note": NOTES,
    "change": CHANGE_REQUESTS,
    "output": OUTPUTS,
    "event": EVENTS,
}

_NUMBERED: Mapping[Kind, type[NumberedEntry]] = {
    "plan": ChargedPlanEntry,
    "revision": RevisionEntry,
    "run": RunEntry,
    "experiment": ExperimentEntry,
}


def entries_of(connection: Connection, session: str) -> Iterator[tuple[Kind, Entry]]:
    """All entries of a session, in the order of `ENTRIES`.

    Raises `StorageError` for an unknown session, and at an entry that cannot be read.
    """
    own = sessions.find(connection, session)
    tags = connection.scalars(_TAGS, {"session": session}).all()
    present = connection.execute(_PRESENT, {"session": session}).one()._mapping
    shared = SessionEntry.model_fields.keys() & Session.model_fields.keys()
    values = {name: getattr(own, name) for name in shared}
    yield "session", SessionEntry(**values, state=present["state"], tags=tuple(tags))
    for kind, (form, query) in _FORMS.items():
        if not present[kind]:
            continue
        for rows in _batches(connection, query, session):
            for row in rows:
                values = dict(row)
                if kind == "plan":
                    values["charges"] = ledger.of_plan(connection, session, str(row["id"]))
                if kind == "revision":
                    (values["workflow"],) = fragments.read(connection, session, WORKFLOW, [row["workflow"]])
                yield kind, cast("Entry", record(form, values))
    for rows in _batches(connection, _OUTPUTS, session):
        for output in fragments.read(connection, session, OUTPUT, [row["output"] for row in rows]):
            yield "output", output
    for rows in _batches(connection, _EVENTS, session):
        stored = text_pieces.unpacked(row["event"] for row in rows)
        for event in fragments.read(connection, session, EVENT, stored):
            yield "event", event


def _batches(connection: Connection, query: Select[Any], session: str) -> Iterator[Sequence[RowMapping]]:
    """The query's rows, fetched as they are consumed, from PostgreSQL as well."""
    with connection.execute(query, {"session": session}) as result:
        yield from result.mappings().partitions()


# -- queries, which are made once: to make one takes longer than SQLite takes to execute it ---------------

_SESSION = bindparam("session", type_=Text)


def _columns(table: Table, form: type[BaseModel]) -> Select[Any]:
    columns = (table.c[name] for name in form.model_fields if name in table.c)
    return select(*columns).where(table.c.session == _SESSION)


def _forms() -> Mapping[Kind, tuple[type[Any], Select[Any]]]:
    """The kinds that a session may lack, each with its form and its rows in order."""
    numbered = {
        kind: (form, _columns(TABLES[kind], form).order_by(TABLES[kind].c.number))
        for kind, form in _NUMBERED.items()
    }
    edited = REVISIONS.c.id == CORRECTIONS.c.revision
    corrections = _columns(CORRECTIONS, CorrectionEntry).join(REVISIONS, edited)
    # Who rated stays in the store.
    rated = (RATINGS.c[name] for name in RatingEntry.model_fields)
    ratings = select(*rated).join(RUNS, RUNS.c.id == RATINGS.c.run).where(RUNS.c.session == _SESSION)
    notes = _columns(NOTES, NoteEntry).where(NOTES.c.deleted_at.is_(None))
    changes = _columns(CHANGE_REQUESTS, ChangeEntry)
    return {
        **numbered,
        "correction": (CorrectionEntry, corrections.order_by(REVISIONS.c.number)),
        "rating": (RatingEntry, ratings.order_by(RUNS.c.number)),
        "note": (NoteEntry, notes.order_by(NOTES.c.created_at, NOTES.c.id)),
        "change": (ChangeEntry, changes.order_by(CHANGE_REQUESTS.c.created_at, CHANGE_REQUESTS.c.id)),
    }


def _streamed(query: Select[Any]) -> Select[Any]:
    return query.execution_options(yield_per=_BATCH)


_FORMS = {kind: (form, _streamed(query)) for kind, (form, query) in _forms().items()}
_PRESENT = select(
    SESSIONS.c.state, *(exists(query.order_by(None)).label(kind) for kind, (_, query) in _FORMS.items())
).where(SESSIONS.c.id == _SESSION)
_TAGS = select(TAGS.c.tag).where(TAGS.c.session == _SESSION).order_by(TAGS.c.tag)
_OUTPUTS = _streamed(
    select(OUTPUTS.c.output)
    .where(OUTPUTS.c.session == _SESSION)
    .order_by(OUTPUTS.c.finished_at, OUTPUTS.c.run, OUTPUTS.c.step, OUTPUTS.c.fingerprint)
)
_EVENTS = _streamed(
    select(EVENTS.c.event)
    .join(RUNS, RUNS.c.id == EVENTS.c.run)
    .where(RUNS.c.session == _SESSION)
    .order_by(RUNS.c.number, EVENTS.c.seq)
)
