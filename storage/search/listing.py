"""Lists the sessions that a filter selects, newest first, at a cost that does not grow with the store.

A window of a list is found by a walk along a path, an index in the order of the list. What the path passes is
tested for the other conditions, a bounded number of rows; where these end before the window is full, the walk
can go on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, select

from conductor.text.formatting import quantity
from storage.database.schema import SESSIONS
from storage.records import EVERYTHING, SessionFilter
from storage.search.path import Path, cursor_of, path_of
from storage.search.terms import has_term

WINDOW = 1000
"""The most sessions that a list counts."""

SCANNED = 5000
"""The most rows of an index that are read for a window."""

_CHUNK = 250

_TEXTS_OF_A_SESSION = 5
"""About so many more texts are read for a row where all of a session's are."""


class Window(NamedTuple):
    """Ids in the order of a list; `further` is the `after` of the next window, None at its end."""

    ids: tuple[str, ...]
    further: str | None


def window(
    connection: Connection,
    filter: SessionFilter = EVERYTHING,
    *,
    after: str | None = None,
    most: int = WINDOW,
    scanned: int | None = SCANNED,
) -> Window:
    """The first sessions that a filter selects, `most` at most, after a session or the end of a window.

    They are in the order of their last update, of a search in the order in which the texts were written that
    match; newest first. `scanned` rows of an index are read, None all: where these end, a window may have
    fewer sessions, or none, and others may follow. Raises `StorageError` for an `after` that is no place of
    this list.
    """
    path = path_of(connection, filter)
    if path is None:
        return Window((), None)
    at = None if after is None else path.place(connection, after)
    # A session is listed at its newest text with the word, and not again behind a place.
    reads_texts = len(path.terms) > 1 or (bool(path.terms) and after is not None)
    if scanned is not None and reads_texts:
        scanned //= _TEXTS_OF_A_SESSION
    # In the order of the walk: of several rows of a session the first counts.
    ids: dict[str, str] = {}
    passed, chunk = 0, min(most + 1, _CHUNK)
    while True:
        rows = connection.execute(path.rows(at).limit(chunk)).all()
        passing = _passing(connection, rows, path, reads_texts=reads_texts)
        for row in passing:
            if row.session in ids:
                continue
            if len(ids) == most:
                return Window(tuple(ids), next(reversed(ids.values()), after))
            ids[row.session] = cursor_of(row)
        if len(rows) < chunk:
            return Window(tuple(ids), None)
        at = tuple(rows[-1])[:2]
        passed += len(rows)
        if scanned is not None and passed >= scanned:
            return Window(tuple(ids), cursor_of(rows[-1]))
        chunk = 4 * _CHUNK if scanned is None else min(4 * _CHUNK, scanned - passed)


def many(count: int, noun: str) -> str:
    """The words for so many as `count` returned."""
    return quantity(count, noun) if count <= WINDOW else f"more than {quantity(WINDOW, noun)}"


def count(connection: Connection, filter: SessionFilter = EVERYTHING) -> int:
    """How many sessions a filter selects; above `WINDOW` it is not counted further."""
    return len(window(connection, filter, most=WINDOW + 1).ids)


def ids(
    connection: Connection, filter: SessionFilter = EVERYTHING, *, limit: int | None = None
) -> tuple[str, ...]:
    """The ids of the sessions that a filter selects, in the order of `window`; of all, without a limit."""
    # A store has fewer.
    return window(connection, filter, most=2**62 if limit is None else limit, scanned=None).ids


def _passing(
    connection: Connection, rows: Sequence[Row[Any]], path: Path, *, reads_texts: bool
) -> Sequence[Row[Any]]:
    """The rows whose sessions pass the tests and have all terms."""
    if path.is_wider:
        rows = [row for row in rows if has_term(row.text, path.terms[0])]
    if path.tests:
        sessions = {row.session for row in rows}
        query = select(SESSIONS.c.id).where(SESSIONS.c.id.in_(list(sessions)), *path.tests)
        passing = frozenset(connection.scalars(query))
        rows = [row for row in rows if row.session in passing]
    if reads_texts:
        newest = path.newest(connection, {row.session for row in rows})
        rows = [row for row in rows if newest.get(row.session) == row.key]
    return rows
