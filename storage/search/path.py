"""Indexes in the order of a list: all sessions, those of a facet, the texts with a word; the shortest one.

Knows no window: how many rows of a path are read is its caller's matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, exists, func, literal, select, tuple_

from conductor.errors import StorageError
from storage.database.schema import SESSION_FACETS, SESSIONS, TEXTS
from storage.records import SessionFilter
from storage.search.conditions import (
    INDEX,
    Facet,
    FacetKind,
    base,
    between_dates,
    between_tokens,
    facets_of,
    has_facet,
    is_facet,
    matches,
    texts_with,
    with_facet,
    with_tokens,
)
from storage.search.terms import Term, terms_of

_RARE = 1000
"""So many sessions at most are collected and sorted, where no index has them in order."""

_RARE_IN_TEXTS = 200
"""The same where the texts of each are searched."""

_BETWEEN = "~"


def cursor_of(row: Row[Any]) -> str:
    """The place of a path's row, as text."""
    return f"{row.key!r}{_BETWEEN}{row.session}"


@dataclass(frozen=True)
class Path:
    """An index in the order of a list: `query` selects the columns `key` and `session`, in descending order.

    What it passes must also pass the `tests`.
    """

    query: Select[Any]
    key: ColumnElement[Any]
    session: ColumnElement[str]
    tests: tuple[ColumnElement[bool], ...]
    term: Term | None = None
    """What is searched along texts, whose ids are the keys."""

    def rows(self, at: tuple[Any, ...] | None) -> Select[Any]:
        """The rows behind a place."""
        if at is None:
            return self.query
        if self.term is not None:
            return self.query.where(self.key < at[0])
        return self.query.where(tuple_(self.key, self.session) < tuple_(*map(literal, at)))

    def place(self, connection: Connection, after: str) -> tuple[Any, ...]:
        """The place of a cursor, or of the session of that id. Raises `StorageError` for neither."""
        key, _, session = after.rpartition(_BETWEEN)
        if not key:
            place = connection.scalar(
                select(SESSIONS.c.updated_at).where(SESSIONS.c.id == session)
                if self.term is None
                else select(func.max(TEXTS.c.id)).where(
                    TEXTS.c.session == session, matches(connection, self.term)
                )
            )
            if place is not None:
                return place, session
        else:
            with suppress(ValueError):
                return (float(key) if self.term is None else int(key)), session
        raise StorageError(f"{after[:100]!r} is no place in this list of sessions; begin without it.")

    def not_passed(self, connection: Connection, at: tuple[Any, ...] | None) -> Iterator[ColumnElement[bool]]:
        """A session is listed at its newest text that matches, and not again at another."""
        if at is not None and self.term is not None:
            newer = (TEXTS.c.session == SESSIONS.c.id, TEXTS.c.id >= at[0])
            yield ~exists().where(*newer, matches(connection, self.term))


def path_of(connection: Connection, filter: SessionFilter) -> Path | None:
    """The shortest path to what a filter selects; None for none."""
    terms = terms_of(filter.search)
    if filter.search.strip() and not terms:
        return None
    facets = tuple(facets_of(filter))
    tests = (*(has_facet(*facet) for facet in facets), *between_tokens(filter))
    if terms:
        tests = (*base(filter), *between_dates(filter, SESSIONS.c.updated_at), *tests)
        return _along_texts(connection, terms, _few(connection, filter, facets), tests)
    if filter.deleted:
        # Facets have those that are not deleted, too.
        return _along_sessions(filter, tests)
    best, path = _RARE + 1, _along_sessions(filter, tests)
    for kind, names in facets:
        sessions = with_facet(filter, kind, names)
        size = _size(connection, sessions, most=_RARE)
        if len(names) == 1 and size <= best:
            others = (has_facet(*each) for each in facets if each != (kind, names))
            best, path = size, _along_facet(filter, kind, names[0], (*others, *between_tokens(filter)))
        elif size < best:
            best, path = size, _along_sessions(filter, tests, within=sessions)
    if filter.least_tokens and _size(connection, with_tokens(filter), most=_RARE) < best:
        path = _along_sessions(filter, tests, within=with_tokens(filter))
    return path


def _few(connection: Connection, filter: SessionFilter, facets: Sequence[Facet]) -> Select[str] | None:
    """The sessions of the facet or the range of tokens that has fewest, if those are few; else None."""
    sets = [with_facet(filter, *facet) for facet in facets]
    if filter.least_tokens:
        sets.append(with_tokens(filter))
    sizes = [_size(connection, each, most=_RARE_IN_TEXTS) for each in sets]
    least = min(sizes, default=_RARE_IN_TEXTS + 1)
    return sets[sizes.index(least)] if least <= _RARE_IN_TEXTS else None


def _size(connection: Connection, rows: Select[Any], *, most: int) -> int:
    """How many rows there are; one more than `most` for all above."""
    limited = rows.limit(most + 1).subquery()
    return connection.scalar(select(func.count()).select_from(limited)) or 0


def _along_sessions(
    filter: SessionFilter, tests: Sequence[ColumnElement[bool]], within: Select[str] | None = None
) -> Path:
    key, id = SESSIONS.c.updated_at, SESSIONS.c.id
    query = select(key.label("key"), id.label("session")).where(*base(filter), *between_dates(filter, key))
    if within is not None:
        query = query.where(id.in_(within))
    return Path(query.order_by(key.desc(), id.desc()), key, id, tuple(tests))


def _along_facet(
    filter: SessionFilter, kind: FacetKind, name: str, tests: Iterable[ColumnElement[bool]]
) -> Path:
    key, session = SESSION_FACETS.c.updated_at, SESSION_FACETS.c.session
    own = (*is_facet(filter, kind, [name]), *between_dates(filter, key))
    query = select(key.label("key"), session.label("session")).where(*own)
    return Path(query.order_by(key.desc(), session.desc()), key, session, (*base(filter), *tests))


def _along_texts(
    connection: Connection,
    terms: Sequence[Term],
    within: Select[str] | None,
    tests: Sequence[ColumnElement[bool]],
) -> Path:
    """Along the texts with the rarest of the terms; of few sessions, along all of their texts."""
    sizes = [_size(connection, texts_with(connection, term), most=_RARE) for term in terms]
    rarest = terms[sizes.index(min(sizes))]
    others = [
        exists().where(TEXTS.c.session == SESSIONS.c.id, matches(connection, term))
        for term in terms
        if term is not rarest
    ]
    query = texts_with(connection, rarest)
    if within is not None:
        query = select(TEXTS.c.id.label("key"), TEXTS.c.session).where(
            TEXTS.c.session.in_(within), matches(connection, rarest)
        )
    key = TEXTS.c.id if within is not None or connection.dialect.name != "sqlite" else INDEX.c.rowid
    return Path(query.order_by(key.desc()), key, TEXTS.c.session, (*tests, *others), rarest)
