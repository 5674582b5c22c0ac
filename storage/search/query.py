"""Finds sessions: a filter as a query, and what a list shows of each session.

Words are looked up in the database's own full-text index, which the migrations keep; what was typed reaches
it as quoted words only, so that no sign in it is taken for an operator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    RowMapping,
    func,
    select,
)

from conductor.values.total import Total
from storage.database.schema import REVISION_WORKERS, REVISIONS, RUNS, SESSIONS, TAGS, TEXTS
from storage.database.unreadable_rows import readable
from storage.records import EVERYTHING, SessionFilter, SessionSummary
from storage.search.listing import window
from storage.search.terms import Snippet, snippet, terms_of
from storage.session_entries import SessionState
from storage.tables.ledger import totals
from storage.tables.rows import record

_OF_SESSION = RUNS.c.session == SESSIONS.c.id

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


def listed(
    connection: Connection,
    filter: SessionFilter = EVERYTHING,
    *,
    limit: int = 50,
    after: str | None = None,
) -> tuple[SessionSummary, ...]:
    """The first sessions that a filter selects after the session `after`, in the order of `window`;
    fewer where it reads no further."""
    return summaries(connection, window(connection, filter, after=after, most=limit).ids)


def summaries(connection: Connection, ids: Sequence[str]) -> tuple[SessionSummary, ...]:
    """What a list shows of these sessions, in that order; one that is gone or unreadable is left out."""
    page = list(ids)
    summaries_of = _SUMMARY.where(SESSIONS.c.id.in_(page))
    by_id = {row["id"]: row for row in connection.execute(summaries_of).mappings()}
    rows = [by_id[id] for id in page if id in by_id]
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
    newest = window(connection, most=limit).ids
    query = select(SESSIONS.c.id, SESSIONS.c.title, SESSIONS.c.state).where(SESSIONS.c.id.in_(newest))
    headings = {row.id: Heading(row.id, row.title, row.state) for row in connection.execute(query)}
    return tuple(headings[id] for id in newest)


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


def _texts_by(
    connection: Connection, owner: Column[str], text: Column[str], owners: Sequence[str]
) -> defaultdict[str | None, list[str]]:
    """The texts that belong to each of these owners, in alphabetical order."""
    texts: defaultdict[str | None, list[str]] = defaultdict(list)
    for name, value in connection.execute(select(owner, text).where(owner.in_(owners)).order_by(text)):
        texts[name].append(value)
    return texts
