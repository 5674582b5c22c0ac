"""The rows of wishes to change a session's workflow, and of what people took of the answers.

The id of a row is the `alternative` of the plan that answers it, which `plans` stores and refers to here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sqlalchemy import Connection, select

from conductor.errors import StorageError
from conductor.planner.corrections import Revised
from conductor.workflow.selection import with_own_settings
from storage.database.schema import CHANGE_REQUESTS, SESSIONS
from storage.database.unreadable_rows import readable
from storage.records import ChangeRecord
from storage.session_entries import Decision
from storage.tables import plans, revisions, sessions
from storage.tables.rows import Rows

_CHANGES = Rows(ChangeRecord, CHANGE_REQUESTS, "change request")

find = _CHANGES.find
named = _CHANGES.named


def add(
    connection: Connection, now: float, session: str, id: str, *, revision: str, wish: str, author: str | None
) -> ChangeRecord:
    """Store that a change of a revision is asked for, `now`. Raises `StorageError` for another session's."""
    sessions.find(connection, session)
    revisions.check_belongs(session, revision=revisions.find(connection, revision))
    row = {"id": id, "session": session, "revision": revision, "wish": wish, "author": author}
    connection.execute(CHANGE_REQUESTS.insert(), {**row, "created_at": now})
    return find(connection, id)


def of_session(connection: Connection, session: str) -> tuple[ChangeRecord, ...]:
    """The session's, oldest first."""
    own = CHANGE_REQUESTS.c.session == session
    return _CHANGES.select(connection, own, by=CHANGE_REQUESTS.c.created_at)


def decide(connection: Connection, id: str, decision: Decision, *, chosen: str | None = None) -> ChangeRecord:
    """Store what a person did with the answer. Raises `StorageError` where that was decided before."""
    change = find(connection, id)
    if change.decision is not None:
        raise StorageError("This change was decided already. Ask for another one.")
    own = CHANGE_REQUESTS.c.id == id
    connection.execute(CHANGE_REQUESTS.update().where(own).values(decision=decision, chosen=chosen))
    return find(connection, id)


def revised(connection: Connection) -> Iterator[Revised]:
    """What was decided, oldest first, in all sessions that are not deleted."""
    there = select(SESSIONS.c.id).where(SESSIONS.c.deleted_at.is_(None))
    records = _CHANGES.select(
        connection,
        CHANGE_REQUESTS.c.decision.is_not(None),
        CHANGE_REQUESTS.c.session.in_(there),
        by=CHANGE_REQUESTS.c.created_at,
    )
    every = readable(partial(_revised, connection), records, name=lambda each: f"Change request {each.id!r}")
    return (each for each in every if each is not None)


def _revised(connection: Connection, record: ChangeRecord) -> Revised | None:
    """None if the answer was no workflow."""
    assert record.plan is not None, "only an answer is decided on"
    assert record.decision is not None, "asked for"
    plan = plans.find(connection, record.plan)
    if plan.report is None or plan.report.workflow is None:
        return None
    session = sessions.find(connection, record.session)
    planned = revisions.find(connection, record.revision).workflow
    return Revised(
        session=session.id,
        query=session.query,
        pool_label=session.pool_label,
        change=record.id,
        wish=record.wish,
        decision=record.decision,
        plan=plan.id,
        planner=plan.planner,
        planner_kind=plan.planner_kind,
        dialect=plan.report.dialect,
        prompt=plan.report.prompt,
        planned=planned,
        proposed=with_own_settings(planned, plan.report.workflow),
        chosen=planned if record.chosen is None else revisions.find(connection, record.chosen).workflow,
        created_at=record.created_at,
    )
