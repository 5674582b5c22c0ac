"""A session's rows as entries, and entries as the rows of a new session.

Functions of a connection inside a transaction. What is imported was read and judged before: here it only gets
ids of its own and its places in the tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, cast

from sqlalchemy import Connection, RowMapping, Table, exists, select

from conductor.events import Event
from conductor.output import Output
from storage import interruption, sessions, tags
from storage.owner import this_process
from storage.records import Session
from storage.schema import (
    CORRECTIONS,
    EVENTS,
    EXPERIMENTS,
    OUTPUTS,
    PLANS,
    RATINGS,
    REVISIONS,
    RUNS,
    SESSIONS,
)
from storage.session_entries import (
    CorrectionEntry,
    Entry,
    ExperimentEntry,
    Kind,
    PlanEntry,
    RatingEntry,
    RevisionEntry,
    RunEntry,
    Section,
    SessionEntry,
)

_NUMBER = re.compile(r" \(\d{1,6}\)$")

_BATCH = 500
"""Events that are written together."""

_NUMBERED: Mapping[Kind, tuple[Table, type[PlanEntry | RevisionEntry | RunEntry | ExperimentEntry]]] = {
    "plans": (PLANS, PlanEntry),
    "revisions": (REVISIONS, RevisionEntry),
    "runs": (RUNS, RunEntry),
    "experiments": (EXPERIMENTS, ExperimentEntry),
}


@dataclass(frozen=True)
class Copy:
    """A session that is to be made: its entries, whose ids are those of the rows to be.

    `rows` are in an order in which each refers only to those before it, each with its number in its section.
    `used` is what the calls of each run took together, in tokens, None where one did not tell.
    """

    session: SessionEntry
    rows: Sequence[tuple[Kind, int, PlanEntry | RevisionEntry | RunEntry | ExperimentEntry]]
    corrections: Sequence[CorrectionEntry]
    ratings: Sequence[RatingEntry]
    outputs: Iterable[Output]
    events: Iterable[Event]
    used: Mapping[str, int | None]


# -- out -------------------------------------------------------------------------------------------


def entries_of(connection: Connection, session: str) -> Iterator[tuple[Section, Entry]]:
    """All entries of a session, section by section, in order.

    Raises `StorageError` for an unknown session, and at an entry that cannot be read.
    """
    row = connection.execute(select(SESSIONS).where(SESSIONS.c.id == session)).mappings().first()
    if row is None:
        sessions.find(connection, session)
        raise AssertionError("an unknown session was found")
    own = {name: row[name] for name in SessionEntry.model_fields if name != "tags"}
    yield "session", SessionEntry(**own, tags=tags.tags_of(connection, session))
    for section, (table, kind) in _NUMBERED.items():
        query = select(*(table.c[name] for name in kind.model_fields))
        for found in connection.execute(query.where(table.c.session == session).order_by(table.c.number)):
            yield section, _entry(kind, found._mapping)
    yield from _judgement(connection, session)
    outputs = select(OUTPUTS.c.output).where(OUTPUTS.c.session == session)
    for output in connection.scalars(outputs.order_by(OUTPUTS.c.fingerprint)):
        yield "outputs", output
    events = select(EVENTS.c.event).join(RUNS, RUNS.c.id == EVENTS.c.run).where(RUNS.c.session == session)
    for event in connection.scalars(events.order_by(RUNS.c.number, EVENTS.c.seq)):
        yield "events", event


def _judgement(connection: Connection, session: str) -> Iterator[tuple[Section, Entry]]:
    corrections = (
        select(*(CORRECTIONS.c[name] for name in CorrectionEntry.model_fields))
        .join(REVISIONS, REVISIONS.c.id == CORRECTIONS.c.revision)
        .where(CORRECTIONS.c.session == session)
        .order_by(REVISIONS.c.number)
    )
    for row in connection.execute(corrections):
        yield "corrections", _entry(CorrectionEntry, row._mapping)
    ratings = select(RATINGS).join(RUNS, RUNS.c.id == RATINGS.c.run).where(RUNS.c.session == session)
    for row in connection.execute(ratings.order_by(RUNS.c.number)):
        yield "ratings", _entry(RatingEntry, row._mapping)


def _entry(kind: type[Any], row: RowMapping) -> Entry:
    return cast("Entry", sessions.record(kind, row))


# -- in --------------------------------------------------------------------------------------------


def keep_all(connection: Connection, copies: Sequence[Copy], *, now: float) -> tuple[Session, ...]:
    """Make a session of each, last updated `now`; a run that was live reads interrupted.

    It is called otherwise where another one has its title.
    """
    titles = FreeTitles(is_taken=partial(is_taken, connection))
    return tuple(_keep(connection, copy, title=titles.give(copy.session.title), now=now) for copy in copies)


def _keep(connection: Connection, copy: Copy, *, title: str, now: float) -> Session:
    entry = copy.session
    session = sessions.create(
        connection, entry.query, title=title, pool_label=entry.pool_label, origin="import", now=now
    ).id
    sessions.change(
        connection,
        session,
        created_at=entry.created_at,
        head=entry.head,
        state="interrupted" if entry.state == "running" else entry.state,
        settings=entry.settings,
        conversation=entry.conversation,
    )
    for tag in entry.tags:
        tags.add(connection, session, tag)
    for kind, number, row in copy.rows:
        values = dict(row)
        own = {"session": session, "number": number, **values, **_beside(row, copy.used)}
        connection.execute(_NUMBERED[kind][0].insert(), own)
    for correction in copy.corrections:
        connection.execute(CORRECTIONS.insert(), {"session": session, **dict(correction)})
    _insert(connection, RATINGS, (dict(rating) for rating in copy.ratings))
    outputs = (
        {"session": session, "fingerprint": output.fingerprint, "output": output} for output in copy.outputs
    )
    _insert(connection, OUTPUTS, outputs)
    events = ({"run": event.run, "seq": event.seq, "event": event} for event in copy.events)
    _insert(connection, EVENTS, events)
    for _, _, row in copy.rows:
        if isinstance(row, RunEntry) and row.status == "running":
            interruption.interrupt(connection, row.id, now=now)
    return sessions.find(connection, session)


def _beside(row: object, used: Mapping[str, int | None]) -> Mapping[str, Any]:
    """What a row keeps besides its entry."""
    if isinstance(row, RevisionEntry):
        return {"topology": row.workflow.topology, "steps": len(row.workflow)}
    if isinstance(row, RunEntry):
        # As `journal` ends such a run.
        tokens = None if row.status == "interrupted" else used.get(row.id, 0)
        return {"owner": this_process(), "tokens": tokens}
    return {}


def _insert(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    left = iter(rows)
    while batch := list(islice(left, _BATCH)):
        connection.execute(table.insert(), batch)


class FreeTitles:
    """Titles for sessions that come in together: none that another one has, be it one of them."""

    def __init__(self, *, is_taken: Callable[[str], bool]) -> None:
        self._is_taken = is_taken
        self._given: set[str] = set()
        # By title without a number: all up to this one are taken, which a thousand of one title need not ask.
        self._numbers: dict[str, int] = {}

    def give(self, title: str) -> str:
        """The title, with the next free number behind it where it is taken."""
        bare = _NUMBER.sub("", title)
        found, number = title, self._numbers.get(bare, 1)
        while found in self._given or self._is_taken(found):
            number += 1
            mark = f" ({number})"
            found = f"{bare[: sessions.MAX_TITLE - len(mark)]}{mark}"
        self._numbers[bare] = number
        self._given.add(found)
        return found


def is_taken(connection: Connection, title: str) -> bool:
    """Whether a session that is not deleted has this title."""
    named = exists().where(SESSIONS.c.title == title, SESSIONS.c.deleted_at.is_(None))
    return bool(connection.scalar(select(named)))
