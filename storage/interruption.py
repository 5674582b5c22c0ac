"""Runs whose process is gone: who is gone, and the end that such a run gets, as its process would have told
it had it been able to.

A neighbour's death is seen at once; anybody else is gone when nothing was heard of it for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection

from conductor.errors import StorageError
from conductor.events import RunFinished
from conductor.run_state import RunState
from storage import journal, processes, runs, sessions
from storage.owner import is_gone, is_neighbour, this_process
from storage.records import RunRecord

SILENT_SECONDS = 7.0
"""A process that has runs and has not beaten for so long is gone; should it come back, its runs are over."""

Trust = Callable[[Connection], bool]
"""Whether silence may be taken for an end now."""


def abandoned(connection: Connection, *, trust: Trust) -> tuple[RunRecord, ...]:
    """The runs of others without an end whose process is gone."""
    others = [run for run in runs.running(connection) if run.owner != this_process()]
    silences = processes.silences(connection) if others and trust(connection) else None
    return tuple(run for run in others if _is_gone(run.owner, silences))


def _is_gone(owner: str, silences: Mapping[str, float] | None) -> bool:
    if is_gone(owner) or silences is None:
        return is_gone(owner)
    silence = silences.get(owner)
    # Earlier versions did not beat. Their containers had another name each time they were started.
    # A beat that is yet to come was made before the clock was set back: who lives has beaten since.
    return not is_neighbour(owner) if silence is None else abs(silence) > SILENT_SECONDS


def make_way(connection: Connection, session: str, *, trust: Trust, now: float) -> None:
    """End the session's runs whose process is gone. Raises `StorageError` where one may still run."""
    # First of all, because it locks the row: of two that start a run, the later sees the earlier's.
    sessions.change(connection, session, updated_at=now)
    running = [run for run in runs.running(connection, session=session) if run.experiment is None]
    if not running:
        return
    gone = {run.id for run in abandoned(connection, trust=trust)}
    for run in running:
        if run.id not in gone:
            raise StorageError("This session is running already; stop that run first.")
        interrupt(connection, run.id, now=now)


def interrupt_abandoned(connection: Connection, run: str, *, trust: Trust, now: float) -> bool:
    """End the run as interrupted if its process is still gone; False where it is not, or ended meanwhile."""
    if not any(gone.id == run for gone in abandoned(connection, trust=trust)):
        return False
    interrupt(connection, run, now=now)
    processes.leave(connection, runs.find(connection, run).owner)
    return True


def interrupt(connection: Connection, run: str, *, now: float) -> None:
    """End a run that has no end yet as interrupted."""
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
    journal.keep(connection, [end], now=now)


def _state(connection: Connection, run: str) -> RunState:
    """The run so far; a fresh state where an event is damaged.

    Such a run must still end: one bad run may not keep the whole store from being opened.
    """
    try:
        return runs.state_of(runs.events_of(connection, run, after=-1))
    except StorageError:
        return RunState()
