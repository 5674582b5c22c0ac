"""The conditions of a filter, as conditions of the database.

Words are looked up in the database's own full-text index, which the migrations make; what a person typed
reaches it as quoted words only, so that no sign in it is taken for an operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    column,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    table,
)
from sqlalchemy.sql.elements import ColumnClause

from storage.database.schema import (
    OF_EVALUATIONS,
    OF_PEOPLE,
    RUNS,
    SESSION_FACETS,
    SESSION_SUMS,
    SESSIONS,
    TEXTS,
)
from storage.records import SessionFilter
from storage.search.terms import Term
from storage.tables.ledger import MAY_CALL

_WORDS: ColumnClause[Any] = column("words")
INDEX = table("words", column("rowid"), _WORDS)
"""SQLite's index over the texts; MATCH is applied to its hidden column of the same name."""

FacetKind = Literal["state", "topology", "worker", "tag", "token"]
"""What a session is listed by: its state, the shape and a worker of its current workflow, a tag of its own,
the token that began it."""

Facet = tuple[FacetKind, Sequence[str]]
"""One of several names of a kind."""


def facets_of(filter: SessionFilter) -> Iterator[Facet]:
    """Of each, a session must have one name."""
    several: tuple[Facet, ...] = (
        ("state", filter.states),
        ("topology", filter.topologies),
        ("worker", filter.workers),
        ("token", () if filter.token is None else (filter.token,)),
        *(("tag", (tag,)) for tag in filter.tags),
    )
    yield from ((kind, names) for kind, names in several if names)


def has_facet(kind: FacetKind, names: Sequence[str]) -> ColumnElement[bool]:
    row = SESSION_FACETS.c
    return exists().where(row.session == SESSIONS.c.id, row.kind == kind, row.name.in_(names))


def is_facet(filter: SessionFilter, kind: FacetKind, names: Sequence[str]) -> Iterator[ColumnElement[bool]]:
    row = SESSION_FACETS.c
    yield row.kind == kind
    yield row.name == names[0] if len(names) == 1 else row.name.in_(names)
    yield row.evaluated == int(filter.evaluated)


def with_facet(filter: SessionFilter, kind: FacetKind, names: Sequence[str]) -> Select[str]:
    return select(SESSION_FACETS.c.session).where(*is_facet(filter, kind, names))


def facet_names(connection: Connection, kind: FacetKind) -> tuple[str, ...]:
    """The names of a kind that sessions have which are not deleted, in alphabetical order."""
    row = SESSION_FACETS.c
    least = select(func.min(row.name).label("name")).where(row.kind == kind).cte("names", recursive=True)
    # From name to name, however many sessions have each.
    next_name = select(func.min(row.name)).where(row.kind == kind, row.name > least.c.name).scalar_subquery()
    names = least.union_all(select(next_name).where(least.c.name.is_not(None)))
    own = select(row.session).join(SESSIONS, SESSIONS.c.id == row.session)
    # The limit is for PostgreSQL, which would look at all sessions for an EXISTS.
    first = own.where(row.kind == kind, row.name == names.c.name, SESSIONS.c.deleted_at.is_(None)).limit(1)
    is_listed = first.scalar_subquery().is_not(None)
    return tuple(connection.scalars(select(names.c.name).where(is_listed).order_by(names.c.name)))


# -- conditions ------------------------------------------------------------------------------------


def base(filter: SessionFilter) -> Iterator[ColumnElement[bool]]:
    yield SESSIONS.c.deleted_at.is_not(None) if filter.deleted else SESSIONS.c.deleted_at.is_(None)
    if filter.deleted:
        yield SESSIONS.c.expires_at.is_(None)
    if filter.evaluated:
        yield OF_EVALUATIONS
    elif not filter.deleted:
        yield OF_PEOPLE


def between_dates(filter: SessionFilter, updated_at: ColumnElement[float]) -> Iterator[ColumnElement[bool]]:
    if filter.since is not None:
        yield updated_at >= filter.since
    if filter.until is not None:
        yield updated_at <= filter.until


_TOKENS = SESSION_SUMS.c.prompt + SESSION_SUMS.c.completion


def between_tokens(filter: SessionFilter) -> Iterator[ColumnElement[bool]]:
    """Known tokens of `least_tokens` or more, and at most `most_tokens` where no tokens are unknown."""
    least, most = filter.least_tokens, filter.most_tokens
    if least is None and most is None:
        return
    own = SESSION_SUMS.c.session == SESSIONS.c.id
    limits = (
        *(() if least is None else (least <= _TOKENS,)),
        *(() if most is None else (most >= _TOKENS, SESSION_SUMS.c.tokens_unknown == 0)),
    )
    has_used = exists().where(own, *limits)
    # A run may have needed no request.
    ran = exists().where(RUNS.c.session == SESSIONS.c.id, MAY_CALL)
    yield has_used if least else or_(has_used, and_(~exists().where(own), ran))


def with_tokens(filter: SessionFilter) -> Select[str]:
    """The sessions with so many known tokens, of any kind."""
    most = () if filter.most_tokens is None else (filter.most_tokens >= _TOKENS,)
    return select(SESSION_SUMS.c.session).where(filter.least_tokens <= _TOKENS, *most)


_COMMON = 0.005
"""The part of all texts that must have a term for PostgreSQL to look through the newest."""


def _estimate(connection: Connection, query: Select[Any]) -> float:
    """How many rows PostgreSQL expects, by its statistics."""
    compiled = query.compile(dialect=connection.dialect)
    plans = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {compiled}", compiled.params).scalar_one()
    return float(plans[0]["Plan"]["Plan Rows"])


def has_words(term: Term) -> ColumnElement[bool]:
    """Whether a text has a term, on PostgreSQL."""
    return literal_column("texts.words").op("@@")(func.term(literal(term.text), term.begins))


def texts_with(connection: Connection, term: Term) -> Select[Any]:
    """The texts with a term, newest first: the columns `key`, `session` and `text`."""
    columns = TEXTS.c.session, TEXTS.c.text
    if connection.dialect.name != "sqlite":
        query = select(TEXTS.c.id.label("key"), *columns).where(has_words(term))
        if _estimate(connection, query) < _estimate(connection, select(TEXTS.c.id)) * _COMMON:
            # The offset has the index read for all of them, and not the table until there are enough.
            few = query.offset(0).subquery()
            return select(few.c.key, few.c.session, few.c.text).order_by(few.c.key.desc())
        return query.order_by(TEXTS.c.id.desc())
    # What stands beside a row of the index is looked up, so that the index gives the order.
    key, own = INDEX.c.rowid, TEXTS.c.id == INDEX.c.rowid
    beside = (select(each).where(own).scalar_subquery().label(each.name) for each in columns)
    quoted = f'"{term.text.replace(chr(34), " ")}"{"*" if term.begins else ""}'
    return select(key.label("key"), *beside).where(_WORDS.op("MATCH")(quoted)).order_by(key.desc())
