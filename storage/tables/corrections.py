"""Corrections as rows: which of a person's revisions change which Conductor's plan, and the ratings of the
answers.

A row is written with its revision and holds only references; `plan_changes` joins workflows and answers when
corrections are read. Undo deletes nothing.
"""

from __future__ import annotations

from sqlalchemy import Connection, exists, select

from conductor.errors import StorageError
from conductor.planner.corrections import Thumbs
from storage.database.schema import CORRECTIONS, RATINGS, RUNS
from storage.records import Revision


def keep(connection: Connection, *, revision: str, session: str, edited: Revision, now: float) -> None:
    """Record that the new `revision` changes the plan that `edited` is or descends from, if there is one."""
    planned = origin_of(connection, edited)
    if planned is not None:
        plan, holder = planned
        row = {
            "revision": revision,
            "session": session,
            "plan": plan,
            "planned": holder,
            "created_at": now,
        }
        connection.execute(CORRECTIONS.insert(), row)


def origin_of(connection: Connection, revision: Revision) -> tuple[str, str] | None:
    """The plan that a revision holds or descends from, and the revision that holds it; None without one."""
    if revision.plan is not None:
        return revision.plan, revision.id
    found = connection.execute(
        select(CORRECTIONS.c.plan, CORRECTIONS.c.planned).where(CORRECTIONS.c.revision == revision.id)
    ).first()
    return None if found is None else (found.plan, found.planned)


# -- thumbs ----------------------------------------------------------------------------------------


def rate(connection: Connection, now: float, run: str, thumbs: Thumbs | None) -> None:
    """Store a person's rating of a run's answer; None removes it."""
    if not connection.scalar(select(exists().where(RUNS.c.id == run))):
        raise StorageError(f"There is no run {run!r} in this store; choose one of the session's runs.")
    connection.execute(RATINGS.delete().where(RATINGS.c.run == run))
    if thumbs is not None:
        connection.execute(RATINGS.insert(), {"run": run, "thumbs": thumbs, "rated_at": now})


def rating(connection: Connection, run: str) -> Thumbs | None:
    """A person's rating of a run's answer, None without one."""
    found: Thumbs | None = connection.scalar(select(RATINGS.c.thumbs).where(RATINGS.c.run == run))
    return found
