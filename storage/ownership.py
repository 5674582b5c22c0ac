"""A run and its owner: only the owner tells its story, and only until it is over; others ask it to stop.

Functions of a connection inside a transaction.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, exists, select

from storage import processes, runs
from storage.schema import RUNNING, RUNS

_RUNNING = select(RUNS.c.id, RUNS.c.owner, RUNS.c.stop_asked_at).where(RUNNING)


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
    running = connection.execute(_RUNNING).all()
    own = [run for run in running if run.owner == owner]
    return Look(
        now=processes.clock(connection),
        running=frozenset(run.id for run in running),
        own=frozenset(run.id for run in own),
        asked=frozenset(run.id for run in own if run.stop_asked_at is not None),
    )


def ask_to_stop(connection: Connection, run: str, *, now: float) -> None:
    """Ask the run's owner to stop it; nothing happens to a run that is over."""
    if runs.find(connection, run).status == "running":
        connection.execute(RUNS.update().where(RUNS.c.id == run).values(stop_asked_at=now))


def ask_to_stop_experiment(connection: Connection, experiment: str, *, now: float) -> None:
    """Ask the experiment's owner to stop its trials and to begin no other; what is over stays as it is."""
    # Those that are over as well: they tell an owner that has none under way at this moment.
    connection.execute(RUNS.update().where(RUNS.c.experiment == experiment).values(stop_asked_at=now))


def is_asked_to_stop(connection: Connection, experiment: str) -> bool:
    """See `SessionStore.is_asked_to_stop`."""
    asked = exists().where(RUNS.c.experiment == experiment, RUNS.c.stop_asked_at.is_not(None))
    return bool(connection.scalar(select(asked)))
