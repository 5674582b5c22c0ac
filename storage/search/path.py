"""Indexes in the order of a list: all sessions, those of a facet, the texts with a word; the shortest one.

Knows no window: how many rows of a path are read is its caller's matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, func, literal, select, tuple_

from conductor.errors import StorageError
from storage.database.schema import SESSION_FACETS, SESSIONS, TEXTS
from storage.records import SessionFilter
from storage.search.conditions import (
    Facet,
    FacetKind,
    base,
    between_dates,
    between_tokens,
    facets_of,
    has_facet,
    has_words,
    is_facet,
    texts_with,
    with_facet,
    with_tokens,
)
from storage.search.terms import Term, has_term, index_words, terms_of

_RARE = 1000
"""So many sessions at most are collected and sorted, where no index has them in order."""

_RARE_IN_TEXTS = 200
"""The same where the texts of each are searched."""

_IN_ORDER = (2, 4)
"""Letters of the beginnings that SQLite's index has, see `search_sqlite.sql`."""

_COLLECTED = 5000
"""So many texts are collected rather than looked at one by one."""

_SAMPLE, _DENSE = 200, 20
"""Of so many texts of a wider term one in so many must have the term, or it is looked up itself."""

_BETWEEN = "~"

_BEYOND_IDS = 2**63
"""No database takes this number for an id."""


def cursor_of(row: Row[Any]) -> str:
    """The place of a path's row, as text."""
    # The id of a text is a place by itself.
    return f"{row.key!r}{_BETWEEN}{'' if isinstance(row.key, int) else row.session}"


@dataclass(frozen=True)
class Path:
    """An index in the order of a list: `query` selects the columns `key` and `session`, in descending order.

    What it passes must also pass the `tests`.
    """

    query: Select[Any]
    key: ColumnElement[Any]
    session: ColumnElement[str]
    tests: tuple[ColumnElement[bool], ...]
    terms: tuple[Term, ...] = ()
    """What is searched: the path leads along the texts with the first, whose ids are the keys."""
    is_wider: bool = False
    """Whether it also leads along texts without that term; the rows have the column `text` then."""

    def rows(self, at: tuple[Any, ...] | None) -> Select[Any]:
        """The rows behind a place."""
        if at is None:
            return self.query
        if self.terms:
            return self.query.where(self.key < at[0])
        return self.query.where(tuple_(self.key, self.session) < tuple_(*map(literal, at)))

    def place(self, connection: Connection, after: str) -> tuple[Any, ...]:
        """The place of a cursor, or of the session of that id. Raises `StorageError` for neither."""
        key, _, session = after.rpartition(_BETWEEN)
        if not key:
            place = self._key_of(connection, session)
            if place is not None:
                return place, session
        else:
            with suppress(ValueError):
                at = int(key) if self.terms else float(key)
                if abs(at) < _BEYOND_IDS or not self.terms:
                    return at, session
        raise StorageError(f"{after[:100]!r} is no place in this list of sessions; begin without it.")

    def _key_of(self, connection: Connection, session: str) -> float | None:
        if self.terms:
            return next(iter(self.newest(connection, [session]).values()), None)
        return connection.scalar(select(SESSIONS.c.updated_at).where(SESSIONS.c.id == session))

    def newest(self, connection: Connection, sessions: Iterable[str]) -> Mapping[str, int]:
        """Of these sessions those with all terms; each with its newest text that has the first term, at which
        it is listed.
        """
        if connection.dialect.name != "sqlite":
            return self._newest_by_index(connection, list(sessions))
        texts: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        query = select(TEXTS.c.session, TEXTS.c.id, TEXTS.c.text).where(TEXTS.c.session.in_(list(sessions)))
        for session, id, text in connection.execute(query):
            texts[session].append((id, text))
        first, *others = self.terms
        return {
            session: max(ids)
            for session, own in texts.items()
            if (ids := [id for id, text in own if has_term(text, first)])
            and all(any(has_term(text, term) for _, text in own) for term in others)
        }

    def _newest_by_index(self, connection: Connection, sessions: Sequence[str]) -> Mapping[str, int]:
        """The same on PostgreSQL, which stores the words of each text."""
        first, *others = map(has_words, self.terms)
        newest = func.max(TEXTS.c.id).filter(first).label("newest")
        query = select(TEXTS.c.session, newest).where(TEXTS.c.session.in_(sessions)).group_by(TEXTS.c.session)
        rows = connection.execute(query.having(func.bool_or(first), *map(func.bool_or, others)))
        return {row.session: row.newest for row in rows}


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
        if filter.token is not None and kind != "token":
            # What leads to a place names no session of another token.
            continue
        size = _size(connection, sessions, most=_RARE)
        if len(names) == 1 and size <= best:
            others = (has_facet(*each) for each in facets if each != (kind, names))
            best, path = size, _along_facet(filter, kind, names[0], (*others, *between_tokens(filter)))
        elif size < best:
            best, path = size, _along_sessions(filter, tests, within=sessions)
    if (
        filter.least_tokens
        and filter.token is None
        and _size(connection, with_tokens(filter), most=_RARE) < best
    ):
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
    tests: tuple[ColumnElement[bool], ...],
) -> Path:
    """Along the texts with the rarest of the terms; of few sessions, along all of their texts."""
    if within is not None:
        columns = TEXTS.c.id.label("key"), TEXTS.c.session, TEXTS.c.text
        query: Select[Any] = select(*columns).where(TEXTS.c.session.in_(within)).order_by(TEXTS.c.id.desc())
        is_wider = connection.dialect.name == "sqlite"
        if not is_wider:
            query = query.where(has_words(terms[0]))
        return Path(query, TEXTS.c.id, TEXTS.c.session, tests, tuple(terms), is_wider=is_wider)
    ways = {term: _way_to(connection, term) for term in terms}
    if len(terms) > 1:
        sizes = {
            term: _size(connection, texts_with(connection, way), most=_RARE) for term, way in ways.items()
        }
        terms = sorted(terms, key=sizes.__getitem__)
    way = ways[terms[0]]
    query = texts_with(connection, way)
    key, session = query.selected_columns.key, query.selected_columns.session
    return Path(query, key, session, tests, tuple(terms), is_wider=way != terms[0])


def _way_to(connection: Connection, term: Term) -> Term:
    """What to look up in the index for a term: itself, or what more texts have where these come sooner.

    SQLite has the texts with a whole word in order, and those with a beginning of so many letters. All with
    another beginning it collects: so that is looked up by a shorter one, or by the whole words before it, if
    many of those texts have the term; else few have it.
    """
    *whole, last = index_words(term) or term.words
    if connection.dialect.name != "sqlite" or not term.begins or (not whole and len(last) in _IN_ORDER):
        return term
    length = max((each for each in _IN_ORDER if each < len(last)), default=0)
    if not whole and not length:
        return term
    words = tuple(whole) or (last[:length],)
    wider = Term(" ".join(words), words, begins=not whole)
    if _size(connection, texts_with(connection, wider), most=_COLLECTED) <= _COLLECTED:
        return term
    texts = connection.execute(texts_with(connection, wider).limit(_SAMPLE)).all()
    with_term = sum(has_term(row.text, term) for row in texts)
    return wider if with_term * _DENSE >= len(texts) else term
