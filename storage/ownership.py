"""A run and its owner: only the owner tells its story, and only until it is over; others ask it to stop.

Functions of a connection inside a transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from conductor.errors import StorageError
from conductor.events import Event
from storage import processes, runs
from storage.schema import RUNS


@dataclass(frozen=True, slots=True)
class Look:
    """What a process sees `now`, by the database's clock: runs without an end, which of them are its `own`,
    and which of these it is `asked` to stop.
    """

    now: float
    running: frozenset[str]
    own: frozenset[str]
    asked: frozenset[str]


def look(connection: Connection, *, owner: str) -> Look:
    """What the process `owner` sees."""
    running = runs.running(connection)
    own = frozenset(run.id for run in running if run.owner == owner)
    asked: frozenset[str] = frozenset()
    if own:
        asked = frozenset(
            connection.scalars(select(RUNS.c.id).where(RUNS.c.id.in_(own), RUNS.c.stop_asked_at.is_not(None)))
        )
    ids = frozenset(run.id for run in running)
    return Look(now=processes.clock(connection), running=ids, own=own, asked=asked)


def ask_to_stop(connection: Connection, run: str, *, now: float) -> None:
    """Ask the run's owner to stop it; nothing happens to a run that is over."""
    if runs.find(connection, run).status == "running":
        connection.execute(RUNS.update().where(RUNS.c.id == run).values(stop_asked_at=now))


def append(connection: Connection, events: Sequence[Event], *, now: float) -> None:
    """Keep events of runs that have no end yet. Raises `StorageError` where one is refused.

    A process that was taken for dead while it was suspended finds its runs ended by others: whatever it still
    has to say of them comes too late.
    """
    told = {event.run for event in events}
    ended = select(RUNS.c.id, RUNS.c.status).where(RUNS.c.id.in_(told), RUNS.c.status != "running")
    late = {row.id: row.status for row in connection.execute(ended)}
    if late:
        event = next(event for event in events if event.run in late)
        raise StorageError(
            f"Event {event.seq} of the run {event.run!r} was not kept: the run is over ({late[event.run]}), "
            "as another process told when nothing was heard of this one for too long. What was finished "
            "until then is kept; run the workflow again, which goes on from there."
        )
    runs.keep_events(connection, events, now=now)
