"""Plannings under way, as rows of `meta`: which open store calls a Conductor, and for which session.

Such a row exists from before the Conductor is called until its answer is stored. Where its process dies, the
row becomes a plan marked as interrupted. Functions of a connection inside a transaction; whether a process
died is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, select

from conductor.errors import UnknownId
from conductor.planner.planner import INTERRUPTED
from conductor.values.messages import Usage, Value
from conductor.values.output import WorkerKind
from storage.database.schema import META
from storage.tables import revisions, sessions

_PREFIX = "planning/"


class Underway(Value):
    """One attempt at a plan, and its `owner`, the open store that calls; for the rest see `Plan`."""

    session: str
    owner: str
    planner: str
    planner_kind: WorkerKind
    round: int
    attempt: int
    looks_back: str | None = None
    alternative: str | None = None


_UNDERWAY = TypeAdapter(Underway)


def begin(connection: Connection, planning: str, underway: Underway) -> None:
    """Store that the planning of that id begins.

    A store requests one plan at a time in a session, or alternatives at once. An earlier row of it, whose
    answer could not be stored, is removed.
    """
    for other, one in all_of(connection).items():
        same = (one.session, one.owner) == (underway.session, underway.owner)
        if same and (one.alternative is None or one.alternative != underway.alternative):
            end(connection, other)
    value = _UNDERWAY.dump_json(underway).decode()
    connection.execute(META.insert().values(key=f"{_PREFIX}{planning}", value=value))


def end(connection: Connection, planning: str) -> bool:
    """The planning is over; False where it was not under way, as one that another process ended."""
    own = META.c.key == f"{_PREFIX}{planning}"
    return connection.execute(META.delete().where(own)).rowcount > 0


def all_of(connection: Connection) -> Mapping[str, Underway]:
    """All plannings under way, by their ids; one that a later version wrote otherwise is left out."""
    found: dict[str, Underway] = {}
    rows = connection.execute(select(META.c.key, META.c.value).where(META.c.key.startswith(_PREFIX)))
    for row in rows:
        with suppress(ValidationError):
            found[row.key.removeprefix(_PREFIX)] = _UNDERWAY.validate_json(row.value)
    return found


def interrupt(connection: Connection, planning: str, underway: Underway, *, now: float) -> bool:
    """End it as interrupted; False where it has ended meanwhile."""
    if not end(connection, planning):
        return False
    try:
        sessions.find(connection, underway.session)
    except UnknownId:
        # The session was removed for good: there is nothing to attach a plan to.
        return True
    revisions.add_plan(
        connection,
        underway.session,
        planner=underway.planner,
        planner_kind=underway.planner_kind,
        report=None,
        failure=f"{INTERRUPTED}: the process that asked the Conductor ended before it answered.",
        usage=Usage(),
        seconds=None,
        round=underway.round,
        attempt=underway.attempt,
        looks_back=underway.looks_back,
        alternative=underway.alternative,
        interrupted=True,
        now=now,
    )
    return True
