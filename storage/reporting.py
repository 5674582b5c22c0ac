"""Reports of kept runs: what the store knows of a run, as one HTML text."""

from __future__ import annotations

from conductor.errors import StorageError
from conductor.report import run_report
from storage.store import SessionStore


def report_of(store: SessionStore, run: str, *, now: float) -> str:
    """The report of a run as far as it is kept; `now` (Unix seconds) is when it is written.

    Raises `StorageError` for an unknown run and for one that has not begun.
    """
    record = store.run(run)
    state = store.run_state(run)
    if state.workflow is None:
        raise StorageError(f"The run {run!r} has not begun, so there is nothing to report; run it first.")
    return run_report(
        state,
        store.events(run),
        title=store.session(record.session).title,
        written_at=now,
        pool_label=record.pool_label,
    )


def newest_run(store: SessionStore, session: str) -> str:
    """The id of the session's newest run. Raises `StorageError` where it has none."""
    newest = store.latest_run(session)
    if newest is None:
        raise StorageError(f"The session {session!r} has no run to report; run its workflow first.")
    return newest.id
