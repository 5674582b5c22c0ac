"""The runs and plannings of open stores: who has some, and the end that they get when their process died.

Functions of a connection inside a transaction. Whether a process died is `owner_lock`'s matter.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, exists, select

from conductor.errors import StorageError
from conductor.runs.events import RunFinished
from conductor.runs.state import RunState
from storage.database.schema import RUNNING, RUNS
from storage.ownership import plannings
from storage.tables import events, runs, sessions

_RUNNING = select(RUNS.c.id, RUNS.c.owner, RUNS.c.stop_asked_at).where(RUNNING)


@dataclass(frozen=True, slots=True)
class Look:
    """What an open store reads: the ids of all runs without an end, those of its own runs that must stop, and
    the owners of all other runs and plannings.
    """

    running: frozenset[str]
    asked: frozenset[str]
    others: frozenset[str]


def look(connection: Connection, *, owner: str) -> Look:
    """What the store of that owner reads."""
    running = connection.execute(_RUNNING).all()
    planning = {one.owner for one in plannings.all_of(connection).values()}
    return Look(
        running=frozenset(run.id for run in running),
        asked=frozenset(run.id for run in running if run.owner == owner and run.stop_asked_at is not None),
        others=frozenset(({run.owner for run in running} | planning) - {owner}),
    )


def ask_to_stop(connection: Connection, run: str, *, now: float) -> None:
    """Ask the run's owner to stop it; nothing happens to a run that is over."""
    if runs.find(connection, run).status == "running":
        connection.execute(RUNS.update().where(RUNS.c.id == run).values(stop_asked_at=now))


def ask_to_stop_experiment(connection: Connection, experiment: str, *, now: float) -> None:
    """Ask the experiment's owner to stop its trials and to begin no other; what is over stays as it is."""
    # Also those that are over: they show it to an owner that has none under way at this moment.
    connection.execute(RUNS.update().where(RUNS.c.experiment == experiment).values(stop_asked_at=now))


def is_asked_to_stop(connection: Connection, experiment: str) -> bool:
    """See `Experiments.is_asked_to_stop`."""
    asked = exists().where(RUNS.c.experiment == experiment, RUNS.c.stop_asked_at.is_not(None))
    return bool(connection.scalar(select(asked)))


def require_rest(connection: Connection, session: str, *, now: float) -> None:
    """Raise `StorageError` where the session has a run without an end, other than an experiment's."""
    # First of all, because it locks the row: of two that start a run, the later sees the earlier's.
    sessions.change(connection, session, updated_at=now)
    if any(run.experiment is None for run in runs.running(connection, session=session)):
        raise StorageError("This session is running already; stop that run first.")


def interrupt_all_of(connection: Connection, owner: str, *, now: float) -> tuple[str, ...]:
    """End the runs and plannings of an owner whose process died; the runs' ids."""
    for planning, underway in plannings.all_of(connection).items():
        if underway.owner == owner:
            plannings.interrupt(connection, planning, underway, now=now)
    ended = tuple(run.id for run in runs.running(connection) if run.owner == owner)
    for run in ended:
        interrupt(connection, run, now=now)
    return ended


def interrupt(connection: Connection, run: str, *, now: float) -> None:
    """End a run that has no end yet as interrupted."""
    state = _state(connection, run)
    answered = bool(state.steps) and state.steps[-1].status in ("finished", "refused")
    end = RunFinished(
        run=run,
        seq=runs.next_seq(connection, run),
        at=now,
        outcome="interrupted",
        answer=state.steps[-1].text if answered else None,
        answer_step=len(state.steps) - 1 if answered else None,
    )
    events.keep(connection, [end], now=now)


def _state(connection: Connection, run: str) -> RunState:
    """The run so far; an empty state where an event is damaged.

    Such a run must still end: one damaged run may not keep the whole store from being opened.
    """
    try:
        return runs.state_of(runs.events_of(connection, run, after=-1))
    except StorageError:
        return RunState()
