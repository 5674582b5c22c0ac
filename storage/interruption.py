"""The end of a run whose process died, as that process would have told it had it been able to."""

from __future__ import annotations

from sqlalchemy import Connection

from conductor.errors import StorageError
from conductor.events import RunFinished
from conductor.run_state import RunState
from storage import runs, sessions
from storage.owner import is_gone
from storage.records import RunRecord


def abandoned(connection: Connection) -> tuple[RunRecord, ...]:
    """The runs without an end whose process is gone; those of other hosts cannot be judged from here."""
    return tuple(run for run in runs.running(connection) if is_gone(run.owner))


def make_way(connection: Connection, session: str, *, now: float) -> None:
    """End the session's runs whose process is gone. Raises `StorageError` where one may still run."""
    # First of all, because it locks the row: of two that start a run, the later sees the earlier's.
    sessions.change(connection, session, updated_at=now)
    for run in runs.running(connection):
        if run.session == session and run.experiment is None:
            if not is_gone(run.owner):
                raise StorageError("This session is running already; stop that run first.")
            interrupt(connection, run.id, now=now)


def interrupt(connection: Connection, run: str, *, now: float) -> bool:
    """End the run as interrupted; False where somebody else was quicker."""
    if runs.find(connection, run).status != "running":
        return False
    state = _state(connection, run)
    answered = bool(state.steps) and state.steps[-1].status == "finished"
    end = RunFinished(
        run=run,
        seq=runs.next_seq(connection, run),
        at=now,
        outcome="interrupted",
        answer=state.steps[-1].text if answered else None,
        answer_step=len(state.steps) - 1 if answered else None,
    )
    runs.keep_events(connection, [end], now=now)
    return True


def _state(connection: Connection, run: str) -> RunState:
    """The run so far; a fresh state where an event is damaged.

    Such a run must still end: one bad run may not keep the whole store from being opened.
    """
    try:
        return runs.state_of(runs.events_of(connection, run, after=-1))
    except StorageError:
        return RunState()
