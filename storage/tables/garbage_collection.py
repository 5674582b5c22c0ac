"""Removes for good: deleted sessions with all of their data, and outputs that no run refers to.

Functions of a connection inside a transaction. An output is stored under its fingerprint so that a later run
need not call the worker again. A run refers to it where it produced it, or an event of its session names that
fingerprint; a revision does where it pins the output, also as a person rewrote it. The caller decides what is
removed, and when.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    LargeBinary,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
    tuple_,
    type_coerce,
)

from conductor.text.json_text import portable
from storage.database.schema import (
    API_CONVERSATIONS,
    API_EARLIER_RESPONSES,
    API_REQUESTS,
    CHANGE_REQUESTS,
    CHARGES,
    CORRECTIONS,
    EVENTS,
    EXPERIMENTS,
    FRAGMENTS,
    LONG_TEXTS,
    METADATA,
    NOTES,
    OUTPUTS,
    PLANS,
    RATINGS,
    REVISIONS,
    RUNS,
    SESSIONS,
    TAGS,
    TEXTS,
)
from storage.database.time_slice import slice_of
from storage.fragments import ANY, Reached, reachable
from storage.tables import plans, session_attachments
from storage.tables.people import view_links

# Quotation marks inside JSON's texts are escaped, so that these are found as keys alone. Earlier versions
# wrote a blank behind the colon where a text held half of a surrogate pair.
_TEXT = r'"((?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)"'
_FINGERPRINT = re.compile(rf'"fingerprint": ?{_TEXT}')
_RUN = re.compile(rf'"run": ?{_TEXT}')

_ROW_BYTES = 32
"""What a row takes beside its values: SQLite's headers in the table and its index, and the gaps in pages."""

_WORDS_SHARE = 0.4
"""The full-text index, as a part of its texts: a fifth where words recur, three fifths where all differ."""

_ROWS = 100
"""Rows that a statement removes at most."""

_EXPIRED = 20
"""Sessions that are removed together at most."""

# Its texts are removed before the rows that contain them, so that no trigger searches for other uses.
_OWNED = (
    *(TEXTS, TAGS, API_EARLIER_RESPONSES, API_REQUESTS, API_CONVERSATIONS, NOTES, CHANGE_REQUESTS),
    *(CORRECTIONS, EXPERIMENTS, RUNS, REVISIONS, PLANS, OUTPUTS, FRAGMENTS, LONG_TEXTS),
)
_CIRCULAR = {PLANS: ("looks_back",), REVISIONS: ("parent", "looks_back"), RUNS: ("parent", "experiment")}

IDLE_SECONDS = 60.0
"""For how long nothing was written to a session that is removed because its time is over."""

_EVENT = type_coerce(EVENTS.c.event, Text)
_OUTPUT = type_coerce(OUTPUTS.c.output, Text)
_WORKFLOW = type_coerce(REVISIONS.c.workflow, Text)


# -- sessions --------------------------------------------------------------------------------------


def _deleted(before: float | None) -> ColumnElement[bool]:
    """Deleted earlier than `before` (Unix seconds; None: at any time), and nothing runs there."""
    gone = SESSIONS.c.deleted_at.is_not(None) if before is None else SESSIONS.c.deleted_at < before
    return and_(gone, at_rest())


def _removable(before: float | None) -> ColumnElement[bool]:
    """The same of a session that was stored."""
    return and_(_deleted(before), SESSIONS.c.expires_at.is_(None))


def at_rest() -> ColumnElement[bool]:
    """Nothing runs in the session."""
    going = RUNS.alias("going")
    return ~exists().where(going.c.session == SESSIONS.c.id, going.c.status == "running").correlate(SESSIONS)


def removable(connection: Connection, *, before: float | None) -> tuple[tuple[str, str], ...]:
    """Id and title of the sessions that were deleted earlier than `before`, the oldest deletion first.

    `before` is in Unix seconds, None: at any time. A session that runs is left out.
    """
    query = select(SESSIONS.c.id, SESSIONS.c.title).where(_removable(before))
    return tuple((row.id, row.title) for row in connection.execute(query.order_by(SESSIONS.c.deleted_at)))


def begin_removal(connection: Connection, session: str, *, before: float | None) -> int | None:
    """Have the time of a session be over, so that `remove_slice` removes it, here or in another process, and
    no list shows it; returns how many runs it has.

    Returns None, and changes nothing, where it is not deleted, or runs: it may have been restored meanwhile.
    """
    over = SESSIONS.update().where(SESSIONS.c.id == session, _deleted(before))
    if not connection.execute(over.values(updated_at=0.0, expires_at=0.0)).rowcount:
        return None
    count = select(func.count()).select_from(RUNS).where(RUNS.c.session == session)
    return connection.execute(count).scalar_one()


def expired(connection: Connection, now: float) -> tuple[str, ...]:
    """Some of the sessions that were not to be stored and whose time is over; nothing goes on there."""
    # Between a plan and its run nothing goes on for a moment.
    idle = SESSIONS.c.updated_at < now - IDLE_SECONDS
    busy = [one.session for one in plans.underway(connection).values()]
    over = (SESSIONS.c.expires_at < now, idle, at_rest(), SESSIONS.c.id.not_in(busy))
    return tuple(connection.scalars(select(SESSIONS.c.id).where(*over).limit(_EXPIRED)))


def remove_expired(connection: Connection, now: float) -> None:
    """Remove what one transaction may of the sessions whose time is over."""
    for _ in slice_of(row for session in expired(connection, now) for row in _removals(connection, session)):
        pass


def remove_slice(connection: Connection, session: str) -> bool:
    """Remove what one transaction may of a session with all of its data; whether nothing of it is left."""
    for _ in slice_of(_removals(connection, session)):
        pass
    return not connection.scalar(select(exists().where(SESSIONS.c.id == session)))


def _removals(connection: Connection, session: str) -> Iterator[None]:
    """Remove a session, some rows at a time."""
    for statement in _REMOVALS:
        count = _ROWS
        while count == _ROWS:
            count = connection.execute(statement, {_SESSION.key: session}).rowcount
            if count:
                yield
    view_links.forget(connection, session)
    connection.execute(SESSIONS.delete().where(SESSIONS.c.id == session))


def _statements() -> Iterator[Executable]:
    """What removes a session's rows, each at most `_ROWS` of them."""
    # Circular references, and those of rows to rows of their own table, are cleared first.
    for table, columns in _CIRCULAR.items():
        some = or_(*(table.c[name].is_not(None) for name in columns))
        rows = _some_rows(table, (table.c.session == _SESSION) & some)
        yield table.update().where(rows).values(dict.fromkeys(columns))
    runs = select(RUNS.c.id).where(RUNS.c.session == _SESSION)
    own: dict[Table, ColumnElement[bool]] = {table: table.c.run.in_(runs) for table in (RATINGS, EVENTS)}
    own |= {table: table.c.session == _SESSION for table in _OWNED}
    # What was copied into it is of use nowhere else; what was requested here was spent.
    own[CHARGES] = (CHARGES.c.session == _SESSION) & (CHARGES.c.copied == 1)
    for table, condition in own.items():
        yield table.delete().where(_some_rows(table, condition))


def _some_rows(table: Table, rows: ColumnElement[bool]) -> ColumnElement[bool]:
    key = list(table.primary_key.columns)
    return tuple_(*key).in_(select(*key).where(rows).limit(_ROWS))


# Made once: to make them takes longer than to execute them.
_SESSION = bindparam("own_session", type_=Text)
_REMOVALS = tuple(_statements())


def runs_of_removable(connection: Connection, *, before: float | None) -> int:
    """How many runs the removable sessions have, those of experiments included."""
    count = select(func.count()).select_from(RUNS.join(SESSIONS, SESSIONS.c.id == RUNS.c.session))
    return connection.execute(count.where(_removable(before))).scalar_one()


def taken_by_removable(connection: Connection, *, before: float | None, most: int | None = None) -> int:
    """About how many bytes the removable sessions take, `most` at most, in all tables and their indexes."""
    sessions = select(SESSIONS.c.id).where(_removable(before)).limit(most)
    owned = {
        SESSIONS.c.id: sessions,
        **{table.c.session: sessions for table in METADATA.tables.values() if "session" in table.c},
        **dict.fromkeys((EVENTS.c.run, RATINGS.c.run), select(RUNS.c.id).where(RUNS.c.session.in_(sessions))),
    }
    total = 0.0
    for owner, ids in owned.items():
        # A key's columns stand in an index, too.
        columns = (*owner.table.columns, *owner.table.primary_key.columns)
        row = sum((func.coalesce(_octets(connection, column), 0) for column in columns), literal(_ROW_BYTES))
        size = connection.scalar(select(func.sum(row)).select_from(owner.table).where(owner.in_(ids))) or 0
        total += size * (1 + _WORDS_SHARE if owner.table is TEXTS else 1)
    return int(total)


def _octets(connection: Connection, column: ColumnElement[Any]) -> ColumnElement[int]:
    text = cast(column, Text)
    # SQLite has `octet_length` from 3.43 on.
    if connection.dialect.name == "sqlite":
        return func.length(cast(text, LargeBinary))
    return func.octet_length(text)


# -- outputs ---------------------------------------------------------------------------------------


def with_own_outputs(connection: Connection) -> tuple[str, ...]:
    """The sessions at rest whose outputs came from their own runs, where they have any.

    A fork copied its outputs and keeps them when the original session is removed; so does an imported session
    that has not run here. One that no list shows may not be whole yet.
    """
    some = exists().where(OUTPUTS.c.session == SESSIONS.c.id)
    ran = exists().where(RUNS.c.session == SESSIONS.c.id, RUNS.c.started_at >= SESSIONS.c.created_at)
    own = SESSIONS.c.forked_from.is_(None) & SESSIONS.c.expires_at.is_(None)
    return tuple(connection.scalars(select(SESSIONS.c.id).where(some, ran, own, at_rest())))


def unreferenced(connection: Connection, sessions: Collection[str]) -> Mapping[str, frozenset[str]]:
    """The fingerprints of these sessions' outputs that no run and no revision refers to.

    Sessions without any are left out.
    """
    left: defaultdict[str, set[str]] = defaultdict(set)
    outputs = select(OUTPUTS.c.session, OUTPUTS.c.fingerprint)
    for row in connection.execute(outputs.where(OUTPUTS.c.session.in_(sessions))):
        left[row.session].add(row.fingerprint)
    reached: defaultdict[str, Reached] = defaultdict(Reached)
    for session, text in _referring(connection, left.keys(), (_EVENTS, _REVISIONS)):
        left[session] -= _named(_FINGERPRINT, text)
        reached[session].add(text)
    for session, directly in reached.items():
        for text in reachable(connection, session, directly).json.values():
            left[session] -= _named(_FINGERPRINT, text)
    alone = {session: names for session, names in left.items() if names}
    gone = {
        session: frozenset(names - _outputs_with_run(connection, session, names))
        for session, names in alone.items()
    }
    return {session: names for session, names in gone.items() if names}


def _named(key: re.Pattern[str], text: str) -> set[str]:
    """The texts under a key in JSON, which is read as text.

    So JSON of another version, or damaged JSON, still protects what it names.
    """
    return {portable(json.loads(f'"{name}"', strict=False)) for name in key.findall(text)}


def _outputs_with_run(connection: Connection, session: str, fingerprints: Collection[str]) -> set[str]:
    """Those of the session's outputs whose run is in the store, also in another session."""
    outputs = select(OUTPUTS.c.fingerprint, _OUTPUT.label("text")).where(
        OUTPUTS.c.session == session, OUTPUTS.c.fingerprint.in_(fingerprints)
    )
    runs: defaultdict[str, set[str]] = defaultdict(set)
    for row in connection.execute(outputs).all():
        for text in (row.text, *reachable(connection, session, Reached.of(row.text)).json.values()):
            runs[row.fingerprint] |= _named(_RUN, text)
    named = {run for names in runs.values() for run in names}
    stored_runs = set(connection.scalars(select(RUNS.c.id).where(RUNS.c.id.in_(named))))
    return {fingerprint for fingerprint, names in runs.items() if names & stored_runs}


# Stored JSON with the session in which it is.
_EVENTS = select(RUNS.c.session, _EVENT.label("text")).join(EVENTS, EVENTS.c.run == RUNS.c.id)
_REVISIONS = select(REVISIONS.c.session, _WORKFLOW.label("text"))
_OUTPUTS = select(OUTPUTS.c.session, _OUTPUT.label("text"))


def _referring(
    connection: Connection, sessions: Collection[str], kinds: Sequence[Select[Any]]
) -> Iterator[tuple[str, str]]:
    """The stored JSON that names fingerprints or refers to fragments, each with its session."""
    for query in kinds:
        session, text = query.selected_columns
        names = text.contains('"fingerprint":') | text.contains(ANY)
        for row in connection.execute(query.where(session.in_(sessions), names)):
            yield row.session, row.text


def collect(connection: Connection, session: str) -> int:
    """Remove the session's `unreferenced` outputs, unless it runs by now; returns how many."""
    if not connection.scalar(select(exists().where(SESSIONS.c.id == session, at_rest()))):
        return 0
    gone = unreferenced(connection, [session]).get(session, frozenset())
    for fingerprint in gone:
        connection.execute(
            OUTPUTS.delete().where(OUTPUTS.c.session == session, OUTPUTS.c.fingerprint == fingerprint)
        )
    if gone:
        _remove_fragments(connection, session)
    return len(gone)


def _remove_fragments(connection: Connection, session: str) -> None:
    """Remove the session's fragments without a reference."""
    directly = Reached()
    for _, text in _referring(connection, [session], (_EVENTS, _REVISIONS, _OUTPUTS)):
        directly.add(text)
    directly.texts |= session_attachments.digests_in(connection, session)
    stays = reachable(connection, session, directly)
    for table, digests in ((FRAGMENTS, stays.json.keys()), (LONG_TEXTS, stays.texts)):
        had = connection.scalars(select(table.c.digest).where(table.c.session == session)).all()
        for digest in set(had) - digests:
            connection.execute(table.delete().where(table.c.session == session, table.c.digest == digest))
