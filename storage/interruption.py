"""The end of a run whose process died, as that process would have told it had it been able to."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from conductor.events import Event, RunFinished
from conductor.run_state import RunState, fold
from storage import runs
from storage.owner import is_gone
from storage.records import RunRecord


def abandoned(connection: Connection) -> tuple[RunRecord, ...]:
    """The runs without an end whose process is gone; those of other hosts cannot be judged from here."""
    return tuple(run for run in runs.running(connection) if is_gone(run.owner))


def interrupt(connection: Connection, run: str, *, now: float) -> bool:
    """End the run as interrupted; False where somebody else was quicker."""
    if runs.find(connection, run).status != "running":
        return False
    end = _end(run, runs.events_of(connection, run, after=-1), now=now)
    runs.keep_events(connection, [end], now=now)
    return True


def _end(run: str, events: Sequence[Event], *, now: float) -> RunFinished:
    state = _state(events)
    final = state.steps[-1] if state.steps else None
    answered = final is not None and final.status == "finished"
    return RunFinished(
        run=run,
        seq=events[-1].seq + 1 if events else 0,
        at=now,
        outcome="interrupted",
        answer=final.text if final is not None and answered else None,
        answer_step=len(state.steps) - 1 if answered else None,
    )


def _state(events: Sequence[Event]) -> RunState:
    """The state so far; a fresh one where the disk was full when the run's beginning was to be kept."""
    try:
        return fold(events)
    except ValueError:
        return RunState()
