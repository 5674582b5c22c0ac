"""The rest of a minute's requests and tokens of each token and person, for all processes of a store.

Functions of a connection inside a transaction. A bucket fills evenly and is full a minute after it was empty;
more tokens may be taken than there are, and the debt is waited for. One statement reads, fills and takes, so
that two processes never take the same. On PostgreSQL its time is the server's, since clocks of machines need
not agree; on SQLite it is that of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    Executable,
    bindparam,
    case,
    cast,
    extract,
    func,
    select,
)

from conductor.runs.request import Asker
from storage.database.compiled_statement import insert_into
from storage.database.schema import RATES
from storage.limits import MINUTE, Levels, Limits


def take(connection: Connection, now: float, by: Asker, limits: Limits) -> Levels:
    """Take a request, where one is left and a token: `spend` takes those that the request used."""
    statement = _statements(connection.dialect.name).take
    left = connection.execute(statement, _parameters(now, by, limits)).first()
    return Levels(False, *_fill(connection, now, by, limits)) if left is None else Levels(True, *left)


def look(connection: Connection, now: float, by: Asker, limits: Limits) -> Levels:
    """What is left, and whether a request would pass; takes nothing."""
    statement = _statements(connection.dialect.name).look
    left = connection.execute(statement, _parameters(now, by, limits)).first()
    levels = (None, None) if left is None else left
    return Levels(all(level is None or level >= 1 for level in levels), *levels)


def spend(connection: Connection, now: float, by: Asker, limits: Limits, *, tokens: int) -> None:
    """Take the tokens that a request used."""
    _fill(connection, now, by, limits, used=tokens)


def _fill(
    connection: Connection, now: float, by: Asker, limits: Limits, *, used: int = 0
) -> Sequence[float | None]:
    """The levels of now, from which so many tokens are taken."""
    statement = _statements(connection.dialect.name).fill
    row = connection.execute(statement, {**_parameters(now, by, limits), "used": used}).first()
    return (None, None) if row is None else tuple(row)


def _parameters(now: float, by: Asker, limits: Limits) -> dict[str, object]:
    return {
        "now": now,
        "own_token": by.token or "",
        "own_person": by.person or "",
        "most_requests": limits.requests_per_minute,
        "most_tokens": limits.tokens_per_minute,
    }


class _Statements(NamedTuple):
    take: Executable
    look: Executable
    fill: Executable


@cache
def _statements(dialect: str) -> _Statements:
    """Made once. A level and its limit are NULL where that rate is open."""
    server = dialect == "postgresql"
    least, most = (func.least, func.greatest) if server else (func.min, func.max)
    now: ColumnElement[Any] = bindparam("now", type_=Double)
    if server:
        now = cast(extract("epoch", func.statement_timestamp()), Double)
    row = RATES.c
    limits = {name: cast(bindparam(f"most_{name}"), Double) for name in ("requests", "tokens")}
    levels = {
        name: least(limit, func.coalesce(row[name], limit) + most(0, now - row.at) * limit / MINUTE)
        for name, limit in limits.items()
    }
    # Who waited for the lock comes with an earlier time, and fills no time twice; a clock that was set back
    # by more than a minute goes on from there.
    at = case((row.at.between(now, now + MINUTE), row.at), else_=now)
    filled = {**levels, "at": at}
    own = {name: bindparam(f"own_{name}", type_=row[name].type) for name in ("token", "person")}
    is_own = [row[name] == value for name, value in own.items()]
    first = {**own, **limits, "requests": limits["requests"] - 1, "at": now}
    take = (
        insert_into(RATES, dialect)
        .values(first)
        .on_conflict_do_update(
            index_elements=[row.token, row.person],
            set_={**filled, "requests": levels["requests"] - 1},
            where=(func.coalesce(levels["requests"], 1) >= 1) & (func.coalesce(levels["tokens"], 1) >= 1),
        )
        .returning(row.requests, row.tokens)
    )
    used = bindparam("used", type_=Double)
    fill = RATES.update().where(*is_own).values({**filled, "tokens": levels["tokens"] - used})
    return _Statements(
        take, select(*levels.values()).where(*is_own), fill.returning(row.requests, row.tokens)
    )
