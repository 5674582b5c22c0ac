"""Experiments as rows, and the runs that are their trials. Functions of a connection inside a transaction."""

from __future__ import annotations

from sqlalchemy import Connection, select

from conductor.engine.experiments import EdgeTest, Swap
from conductor.errors import StorageError
from storage.database.schema import EXPERIMENTS, RUNNING, RUNS
from storage.records import ExperimentRecord, RunRecord
from storage.tables import runs, sessions
from storage.tables.revisions import next_number

_EXPERIMENT = select(*(EXPERIMENTS.c[name] for name in ExperimentRecord.model_fields))
_TRIAL = select(*(RUNS.c[name] for name in RunRecord.model_fields))


def add(
    connection: Connection, session: str, experiment: Swap | EdgeTest, *, base: str, now: float
) -> ExperimentRecord:
    """See `store.experiments.add`."""
    if runs.find(connection, base).session != session:
        raise StorageError(f"The run {base!r} is another session's; choose one of this session's own.")
    sessions.change(connection, session, updated_at=now)
    row = {
        "id": sessions.new_id(),
        "session": session,
        "number": next_number(connection, EXPERIMENTS, session),
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
    """See `store.experiments.running`."""
    trials = select(RUNS.c.experiment).where(RUNNING, RUNS.c.session == session)
    return frozenset(connection.scalars(trials.where(RUNS.c.experiment.is_not(None))))
