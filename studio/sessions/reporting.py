"""Reports of kept runs: what the store knows of a run, as one HTML text, and its planning."""

from __future__ import annotations

from conductor.errors import StorageError
from conductor.report import Planning, run_report
from conductor.values.note import Note
from conductor.workflow.model import Workflow
from storage.records import Plan, Revision
from storage.store import SessionStore
from studio.sessions.notes import Notes


def report_of(store: SessionStore, run: str, *, now: float) -> str:
    """The report of a run as far as it is kept; `now` (Unix seconds) is when it is written.

    Raises `StorageError` for an unknown run and for one that has not begun.
    """
    record = store.runs.find(run)
    state = store.runs.state(run)
    if state.workflow is None:
        raise StorageError(f"The run {run!r} has not begun, so there is nothing to report; run it first.")
    return run_report(
        state,
        store.runs.events(run),
        title=store.sessions.find(record.session).title,
        written_at=now,
        pool_label=record.pool_label,
        used=store.sessions.total(record.session),
        planning=_planning(store, record.revision),
        notes=_notes(store, record.session, state.workflow),
    )


def _notes(store: SessionStore, session: str, workflow: Workflow) -> list[Note]:
    """The session's notes at the steps of the workflow that was run; those on other steps are left out."""
    return [
        note.model_copy(update={"step": step})
        for step, notes in Notes(store).by_step(session, workflow).items()
        for note in notes
        if step is not None or note.part == "question"
    ]


def planned_by(store: SessionStore, revision: Revision) -> tuple[Revision, Plan] | None:
    """The planned revision that a revision goes back to, with its plan; None where it was imported."""
    while revision.plan is None:
        if revision.parent is None:
            return None
        revision = store.revisions.find(revision.parent)
    return revision, store.plans.find(revision.plan)


def _planning(store: SessionStore, revision: str) -> Planning | None:
    ran = store.revisions.find(revision)
    found = planned_by(store, ran)
    if found is None:
        return None
    planned, plan = found
    parts = () if plan.report is None else (plan.report.thinking, plan.report.reasoning)
    return Planning(
        planner=plan.planner,
        reasoning="\n\n".join(part for part in parts if part),
        edited=ran.workflow.unpinned != planned.workflow.unpinned,
    )


def newest_run(store: SessionStore, session: str) -> str:
    """The id of the session's newest run. Raises `StorageError` where it has none."""
    newest = store.runs.latest(session)
    if newest is None:
        raise StorageError(f"The session {session!r} has no run to report; run its workflow first.")
    return newest.id
