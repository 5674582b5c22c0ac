"""How sessions are found: a filter as a query, and what a list shows of each session.

Words are looked up in the database's own full-text index, which the migrations keep; what was typed reaches
it as quoted words only, so that no sign in it is taken for an operator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    RowMapping,
    column,
    exists,
    false,
    func,
    literal,
    select,
    table,
)
from sqlalchemy.sql.elements import ColumnClause

from conductor.values.total import Total
from storage.database.schema import API_REQUESTS, REVISION_WORKERS, REVISIONS, RUNS, SESSIONS, TAGS, TEXTS
from storage.database.unreadable_rows import readable
from storage.records import EVERYTHING, SessionFilter, SessionSummary
from storage.search.terms import Snippet, Term, snippet, terms_of
from storage.session_entries import SessionState
from storage.tables.ledger import sessions_between, totals
from storage.tables.rows import record

_OF_SESSION = RUNS.c.session == SESSIONS.c.id

_WORDS: ColumnClause[Any] = column("words")
_INDEX = table("words", column("rowid"), _WORDS)
"""SQLite's index over the texts; MATCH is applied to its hidden column of the same name."""

_READ_BESIDE = ("workers", "tags", "topology", "steps", "tokens", "tokens_at_least", "runs")

_SUMMARY = select(
    *(SESSIONS.c[name] for name in SessionSummary.model_fields if name not in _READ_BESIDE),
    REVISIONS.c.topology,
    REVISIONS.c.steps,
    SESSIONS.c.head,
    select(func.count())
    .select_from(RUNS)
    .where(_OF_SESSION, RUNS.c.experiment.is_(None))
    .scalar_subquery()
    .label("runs"),
).select_from(SESSIONS.outerjoin(REVISIONS, REVISIONS.c.id == SESSIONS.c.head))

_NEWEST_FIRST = (SESSIONS.c.updated_at.desc(), SESSIONS.c.id.desc())


def listed(
    connection: Connection, filter: SessionFilter = EVERYTHING, *, limit: int = 50, offset: int = 0
) -> tuple[SessionSummary, ...]:
    """The sessions that a filter selects, last updated first."""
    # In two steps: what a row shows is looked up for the rows that are shown, not for all that are sorted.
    page = ids(connection, filter, limit=limit, offset=offset)
    summaries_of = _SUMMARY.where(SESSIONS.c.id.in_(page)).order_by(*_NEWEST_FIRST)
    rows = connection.execute(summaries_of).mappings().all()
    heads = [row["head"] for row in rows if row["head"] is not None]
    workers = _texts_by(connection, REVISION_WORKERS.c.revision, REVISION_WORKERS.c.worker, heads)
    tags = _texts_by(connection, TAGS.c.session, TAGS.c.tag, page)
    used = totals(connection, [row["id"] for row in rows])

    def summary(row: RowMapping) -> SessionSummary:
        total = used.get(row["id"], Total())
        beside = {
            "workers": tuple(workers[row["head"]]),
            "tags": tuple(tags[row["id"]]),
            "tokens": total.tokens,
            "tokens_at_least": total.tokens_at_least,
        }
        values = {name: value for name, value in row.items() if name != "head"}
        return record(SessionSummary, values | beside)

    return tuple(readable(summary, rows))


class Heading(NamedTuple):
    """What names a session in a list."""

    id: str
    title: str
    state: SessionState


def newest(connection: Connection, *, limit: int) -> tuple[Heading, ...]:
    """The first `limit` sessions of `listed`."""
    headings = select(SESSIONS.c.id, SESSIONS.c.title, SESSIONS.c.state).where(
        *_conditions(connection, EVERYTHING)
    )
    rows = connection.execute(headings.order_by(*_NEWEST_FIRST).limit(limit))
    return tuple(Heading(row.id, row.title, row.state) for row in rows)


def count(connection: Connection, filter: SessionFilter = EVERYTHING) -> int:
    """How many sessions `listed` returns without a limit."""
    query = select(func.count()).select_from(SESSIONS).where(*_conditions(connection, filter))
    return connection.execute(query).scalar_one()


def ids(
    connection: Connection, filter: SessionFilter = EVERYTHING, *, limit: int | None = None, offset: int = 0
) -> tuple[str, ...]:
    """The ids of the sessions that a filter selects, in the order of `listed`; of all, without a limit."""
    query = select(SESSIONS.c.id).where(*_conditions(connection, filter)).order_by(*_NEWEST_FIRST)
    return tuple(connection.scalars(query.limit(limit).offset(offset)))


def snippets(connection: Connection, ids: Sequence[str], search: str) -> Mapping[str, Snippet]:
    """For each of the sessions `ids` the place in its texts, beside its title, that a search found.

    A session is left out where nothing but its title was found.
    """
    terms = terms_of(search)
    if not terms:
        return {}
    texts: defaultdict[str, list[Any]] = defaultdict(list)
    query = select(TEXTS.c.session, TEXTS.c.kind, TEXTS.c.text).where(TEXTS.c.session.in_(ids))
    for row in connection.execute(query.order_by(TEXTS.c.id.desc())):
        texts[row.session].append((row.kind, row.text))
    places = {session: snippet(own, terms) for session, own in texts.items()}
    return {session: place for session, place in places.items() if place is not None}


def known_workers(connection: Connection) -> tuple[str, ...]:
    """The workers of all sessions' current workflows, in alphabetical order."""
    # There are few workers: for each of them the first workflow that names it is soon found.
    names = select(REVISION_WORKERS.c.worker).distinct().subquery()
    is_current = exists().where(
        SESSIONS.c.id == REVISIONS.c.session,
        SESSIONS.c.head == REVISIONS.c.id,
        SESSIONS.c.deleted_at.is_(None),
    )
    current = (
        select(REVISIONS.c.id)
        .select_from(REVISION_WORKERS.join(REVISIONS, REVISIONS.c.id == REVISION_WORKERS.c.revision))
        .where(REVISION_WORKERS.c.worker == names.c.worker, is_current)
    )
    return tuple(connection.scalars(select(names.c.worker).where(exists(current)).order_by(names.c.worker)))


def _texts_by(
    connection: Connection, owner: Column[str], text: Column[str], owners: Sequence[str]
) -> defaultdict[str | None, list[str]]:
    """The texts that belong to each of these owners, in alphabetical order."""
    texts: defaultdict[str | None, list[str]] = defaultdict(list)
    for name, value in connection.execute(select(owner, text).where(owner.in_(owners)).order_by(text)):
        texts[name].append(value)
    return texts


# -- conditions ------------------------------------------------------------------------------------


def _conditions(connection: Connection, filter: SessionFilter) -> Iterator[ColumnElement[bool]]:
    yield SESSIONS.c.deleted_at.is_not(None) if filter.deleted else SESSIONS.c.deleted_at.is_(None)
    if filter.deleted:
        yield SESSIONS.c.expires_at.is_(None)
    if filter.evaluated:
        yield SESSIONS.c.origin == "evaluation"
    elif not filter.deleted:
        yield SESSIONS.c.origin.is_distinct_from("evaluation")
    if filter.states:
        yield SESSIONS.c.state.in_(filter.states)
    if filter.topologies:
        shaped = select(REVISIONS.c.id).where(REVISIONS.c.topology.in_(filter.topologies))
        yield SESSIONS.c.head.in_(shaped)
    if filter.workers:
        named = select(REVISION_WORKERS.c.revision).where(REVISION_WORKERS.c.worker.in_(filter.workers))
        yield SESSIONS.c.head.in_(named)
    for tag in filter.tags:
        yield SESSIONS.c.id.in_(select(TAGS.c.session).where(TAGS.c.tag == tag))
    if filter.token is not None:
        yield SESSIONS.c.id.in_(select(API_REQUESTS.c.session).where(API_REQUESTS.c.token == filter.token))
    if filter.since is not None:
        yield SESSIONS.c.updated_at >= filter.since
    if filter.until is not None:
        yield SESSIONS.c.updated_at <= filter.until
    if filter.least_tokens is not None or filter.most_tokens is not None:
        yield SESSIONS.c.id.in_(sessions_between(least=filter.least_tokens, most=filter.most_tokens))
    yield from _found_by(connection, filter.search)


def _found_by(connection: Connection, search: str) -> Iterator[ColumnElement[bool]]:
    if not search.strip():
        return
    terms = terms_of(search)
    if not terms:
        yield false()
    matches = _matches_sqlite if connection.dialect.name == "sqlite" else _matches_postgresql
    for term in terms:
        yield SESSIONS.c.id.in_(select(TEXTS.c.session).where(matches(term)))


def _matches_sqlite(term: Term) -> ColumnElement[bool]:
    quoted = f'"{term.text.replace(chr(34), " ")}"{"*" if term.begins else ""}'
    return TEXTS.c.id.in_(select(_INDEX.c.rowid).where(_WORDS.op("MATCH")(quoted)))


def _matches_postgresql(term: Term) -> ColumnElement[bool]:
    return func.words(TEXTS.c.text).op("@@")(func.term(literal(term.text), term.begins))
