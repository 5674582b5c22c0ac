"""Sessions as JSON values, for the commands and the API: in a list, and one with all its parts.

Times are Unix seconds, what is unknown is null. Knows the store; changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conductor.errors import StorageError
from conductor.values.total import Total
from storage.records import Plan, Revision, RunRecord, Session, SessionSummary
from storage.search.terms import Snippet
from storage.store import SessionStore

Shape = dict[str, Any]


def listed_shape(summary: SessionSummary, places: Mapping[str, Snippet] | None) -> Shape:
    """A session as a list shows it.

    Of a search (`places` is not None) also the `snippet` that was found: `{"kind", "parts"}`, what text of
    the session it is, and its stretches, each with whether it matches. It is null where only the title
    matches.
    """
    shape = summary.model_dump(mode="json")
    if places is not None:
        place = places.get(summary.id)
        shape["snippet"] = None if place is None else {"kind": place.kind, "parts": place.parts}
    return shape


def session_shape(store: SessionStore, session: Session, summary: SessionSummary) -> Shape:
    """`{"session", "answer", "no_plan", "plans", "revisions", "runs", "notes"}`.

    `no_plan` is why the last planning gave no workflow. `used` is what planning and all runs, or a run, have
    used: tokens and US dollars, each with whether it is a lower bound. A run's own `tokens` are null where
    one of its calls is unknown.
    """
    runs, revisions = store.runs.of_session(session.id), store.revisions.of_session(session.id)
    used = store.runs.totals(session.id)
    return {
        "session": {
            **summary.model_dump(mode="json"),
            **session.model_dump(mode="json"),
            "used": store.sessions.total(session.id).model_dump(),
        },
        "answer": newest_answer(runs),
        "no_plan": no_plan(store.plans.latest(session.id), revisions),
        "plans": [plan.model_dump(mode="json") for plan in store.plans.of_session(session.id)],
        "revisions": [
            {**revision.model_dump(mode="json"), "current": revision.id == session.head}
            for revision in revisions
        ],
        "runs": [
            {**run.model_dump(mode="json"), "used": used.get(run.id, Total()).model_dump()} for run in runs
        ],
        "notes": [note.model_dump(mode="json") for note in store.notes.of_session(session.id)],
    }


def with_summary(store: SessionStore, id: str) -> tuple[Session, SessionSummary]:
    """The session of that id, and what a list has of it. Raises `UnknownId`, and `StorageError` where a list
    cannot read it.
    """
    session = store.sessions.find(id)
    for summary in store.sessions.summaries([id]):
        return session, summary
    raise StorageError(f"The session {id!r} cannot be read, or was removed this moment.")


def newest_answer(newest_first: Sequence[RunRecord]) -> str | None:
    """The newest run's that has one."""
    return next((run.answer for run in newest_first if run.answer is not None), None)


def no_plan(plan: Plan | None, revisions: Sequence[Revision]) -> str | None:
    """Why the newest plan is none; None if it is one, before the first, and after a later workflow."""
    if plan is None or (plan.report is not None and plan.report.ok):
        return None
    if any(revision.created_at >= plan.created_at for revision in revisions):
        return None
    if plan.report is None:
        return plan.failure or f"{plan.planner} gave no completion."
    return " ".join(problem.message for problem in plan.report.problems)
