"""Experiments as rows, and the runs that are their trials. Functions of a connection inside a transaction."""

from __future__ import annotations

from sqlalchemy import Connection, exists, select

from conductor.engine.experiments import EdgeTest, Swap
from conductor.errors import StorageError
from storage.database.schema import EXPERIMENTS, RUNNING, RUNS
from storage.records import ExperimentRecord, RunRecord
from storage.tables import runs, sessions

_EXPERIMENT = select(*(EXPERIMENTS.c[name] for name in ExperimentRecord.model_fields))
_TRIAL = select(*(RUNS.c[name] for name in RunRecord.model_fields))


def add(
    connection: Connection, now: float, session: str, experiment: Swap | EdgeTest, *, base: str
) -> ExperimentRecord:
    """Store an experiment that is about to be made on the run `base`."""
    if runs.find(connection, base).session != session:
        raise StorageError(f"The run {base!r} is another session's; choose one of this session's own.")
    sessions.change(connection, session, updated_at=now)
    row = {
        "id": sessions.new_id(),
        "session": session,
        "number": sessions.next_number(connection, EXPERIMENTS, session),
        "created_at": now,
        "base": base,
        "experiment": experiment,
    }
    connection.execute(EXPERIMENTS.insert(), row)
    return find(connection, str(row["id"]))


def find(connection: Connection, experiment: str) -> ExperimentRecord:
    """The experiment of that id. Raises `StorageError` when there is none."""
    row = connection.execute(_EXPERIMENT.where(EXPERIMENTS.c.id == experiment)).mappings().first()
    if row is None:
        raise StorageError(
            f"There is no experiment {experiment!r} in this store; choose one of the session's."
        )
    return sessions.record(ExperimentRecord, row)


def of_session(connection: Connection, session: str) -> tuple[ExperimentRecord, ...]:
    """The session's experiments, newest first."""
    sessions.find(connection, session)
    rows = connection.execute(
        _EXPERIMENT.where(EXPERIMENTS.c.session == session).order_by(EXPERIMENTS.c.number.desc())
    )
    return tuple(sessions.record(ExperimentRecord, row) for row in rows.mappings())


def trials_of(connection: Connection, experiment: str) -> tuple[RunRecord, ...]:
    """The runs that an experiment has so far, by trial."""
    rows = connection.execute(_TRIAL.where(RUNS.c.experiment == experiment).order_by(RUNS.c.trial))
    return tuple(sessions.record(RunRecord, row) for row in rows.mappings())


def running(connection: Connection, session: str) -> frozenset[str]:
    """The session's experiments of which a trial has no end yet, whichever process makes them."""
    trials = select(RUNS.c.experiment).where(RUNNING, RUNS.c.session == session)
    return frozenset(connection.scalars(trials.where(RUNS.c.experiment.is_not(None))))


def ask_to_stop(connection: Connection, now: float, experiment: str) -> None:
    """Ask the process that makes it to stop its trials, which it does within a second, and to begin no other
    one; nothing happens to an experiment without a trial.
    """
    # Also those that are over: they show it to an owner that has none under way at this moment.
    connection.execute(RUNS.update().where(RUNS.c.experiment == experiment).values(stop_asked_at=now))


def is_asked_to_stop(connection: Connection, experiment: str) -> bool:
    """Whether another process requested that no further trial of it begins."""
    asked = exists().where(RUNS.c.experiment == experiment, RUNS.c.stop_asked_at.is_not(None))
    return bool(connection.scalar(select(asked)))
