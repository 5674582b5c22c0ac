"""Plans and revisions as rows, and the head that moves among a session's revisions.

A session's revisions form a tree: an edit hangs a child under the head and becomes the head. Undo
moves the head to its parent, redo to its newest child, so nothing that was undone is ever lost. An edit that
is kept as a branch hangs under what was edited, and leaves the head where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Table, and_, case, func, or_, select

from conductor.errors import EditConflict, StorageError, UnknownId
from conductor.values.messages import Usage
from conductor.values.output import WorkerKind
from conductor.workflow.file import Origin
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport
from storage import fragments
from storage.database.schema import PLANS, REVISIONS, SESSIONS, WORKFLOW
from storage.records import Plan, Revision, RevisionEntry
from storage.tables import corrections, sessions

_PLAN = select(*(PLANS.c[name] for name in Plan.model_fields))
_REVISION = select(*(REVISIONS.c[name] for name in Revision.model_fields))
_ENTRY = select(*(REVISIONS.c[name] for name in RevisionEntry.model_fields))


def next_number(connection: Connection, table: Table, session: str) -> int:
    """The number of the session's next row in `table`, from 1."""
    highest = connection.scalar(select(func.max(table.c.number)).where(table.c.session == session))
    return (highest or 0) + 1


# -- plans ---------------------------------------------------------------------------------------


def add_plan(
    connection: Connection,
    session: str,
    *,
    planner: str,
    planner_kind: WorkerKind,
    report: PlanReport | None,
    failure: str | None,
    usage: Usage,
    seconds: float | None,
    round: int,
    attempt: int,
    looks_back: str | None,
    alternative: str | None,
    interrupted: bool = False,
    now: float,
) -> Plan:
    """See `store.plans.add`. One that was `interrupted` leaves a session with a workflow as it is."""
    # A later round without a new workflow leaves the session with the answer that it has.
    if alternative is not None:
        sessions.change(connection, session, updated_at=now)
    elif report is not None and report.ok and not report.return_previous:
        sessions.change(connection, session, updated_at=now, state="planned")
    elif interrupted:
        interruption = case((SESSIONS.c.head.is_(None), "interrupted"), else_=SESSIONS.c.state)
        sessions.change(connection, session, updated_at=now, state=interruption)
    elif round == 1:
        state = "unplanned" if report is None else "rejected"
        sessions.change(connection, session, updated_at=now, state=state)
    else:
        sessions.change(connection, session, updated_at=now)
    plan = sessions.new_id()
    connection.execute(
        PLANS.insert(),
        {
            "id": plan,
            "session": session,
            "number": next_number(connection, PLANS, session),
            "created_at": now,
            "planner": planner,
            "planner_kind": planner_kind,
            "report": report,
            "failure": failure,
            "usage": usage,
            "seconds": seconds,
            "round": round,
            "attempt": attempt,
            "looks_back": looks_back,
            "alternative": alternative,
        },
    )
    return find_plan(connection, plan)


def find_plan(connection: Connection, plan: str) -> Plan:
    """The plan of that id. Raises `UnknownId` when there is none."""
    row = connection.execute(_PLAN.where(PLANS.c.id == plan)).mappings().first()
    if row is None:
        raise UnknownId(f"There is no plan {plan!r} in this store; choose one of the session's plans.")
    return sessions.record(Plan, row)


def plans_of(connection: Connection, session: str) -> tuple[Plan, ...]:
    """The session's plans, oldest first, without alternatives."""
    sessions.find(connection, session)
    rows = connection.execute(_PLAN.where(_own(session)).order_by(PLANS.c.number))
    return tuple(sessions.record(Plan, row) for row in rows.mappings())


def _own(session: str) -> ColumnElement[bool]:
    return and_(PLANS.c.session == session, PLANS.c.alternative.is_(None))


def alternatives_of(connection: Connection, session: str) -> tuple[Plan, ...]:
    """See `store.plans.alternatives`."""
    sessions.find(connection, session)
    asked = and_(PLANS.c.session == session, PLANS.c.alternative.is_not(None))
    newest = (
        select(PLANS.c.alternative).where(asked).order_by(PLANS.c.number.desc()).limit(1).scalar_subquery()
    )
    rows = connection.execute(_PLAN.where(asked, PLANS.c.alternative == newest).order_by(PLANS.c.attempt))
    return tuple(sessions.record(Plan, row) for row in rows.mappings())


def latest_plan(connection: Connection, session: str) -> Plan | None:
    """The session's newest plan that is no alternative, None before the first."""
    sessions.find(connection, session)
    newest = _PLAN.where(_own(session)).order_by(PLANS.c.number.desc()).limit(1)
    row = connection.execute(newest).mappings().first()
    return None if row is None else sessions.record(Plan, row)


# -- revisions -----------------------------------------------------------------------------------


def add_revision(
    connection: Connection,
    session: str,
    workflow: Workflow,
    *,
    origin: Origin,
    note: str,
    author: str | None = None,
    parent: str | None = None,
    plan: str | None = None,
    restores: str | None = None,
    expected: str | None = None,
    moves_head: bool = True,
    id: str | None = None,
    now: float,
) -> Revision:
    """See `store.revisions.add`; its id is a fresh one, unless `id` is given."""
    # First of all, because it locks the row: the head that is read next stays the head.
    before = or_(SESSIONS.c.state.in_(("new", "rejected", "unplanned")), SESSIONS.c.head.is_(None))
    planned = case((before, "planned"), else_=SESSIONS.c.state)
    sessions.change(connection, session, updated_at=now, state=planned)
    current = head(connection, session)
    # A head never goes away: where there is none yet, nothing was edited meanwhile.
    if current is not None and expected not in (None, current.id):
        raise _conflict(current, "your edit was not applied. Look at the new state and edit again.")
    under = parent or (None if current is None else current.id)
    looks_back = edited = None
    if under is not None:
        edited = find_revision(connection, under)
        check_belongs(session, revision=edited)
        looks_back = edited.looks_back
    if restores is not None:
        # It is run as it was: in its round, and as an edit of the plan that it was made of.
        edited = find_revision(connection, restores)
        check_belongs(session, revision=edited)
        looks_back = edited.looks_back
    if plan is not None:
        written = find_plan(connection, plan)
        check_belongs(session, plan=written)
        looks_back = written.looks_back
    revision = id or sessions.new_id()
    shared = fragments.Fragments()
    connection.execute(
        REVISIONS.insert(),
        {
            "id": revision,
            "session": session,
            "number": next_number(connection, REVISIONS, session),
            "parent": under,
            "origin": origin,
            "note": note,
            "plan": plan,
            "created_at": now,
            "workflow": shared.workflow(workflow),
            "topology": workflow.topology,
            "steps": len(workflow),
            "looks_back": looks_back,
            "author": author,
        },
    )
    shared.keep(connection, session=session)
    if origin == "human" and edited is not None:
        corrections.keep(connection, revision=revision, session=session, edited=edited, now=now)
    if moves_head or current is None:
        sessions.change(connection, session, head=revision)
    return find_revision(connection, revision)


def planned(connection: Connection, revision: str) -> Revision | None:
    """See `store.revisions.planned`."""
    origin = corrections.origin_of(connection, find_revision(connection, revision))
    return None if origin is None else find_revision(connection, origin[1])


def _conflict(current: Revision, outcome: str) -> EditConflict:
    by = f" by {current.author}" if current.author else ""
    note = f": {current.note}" if current.note else ""
    return EditConflict(
        f"The workflow was changed meanwhile (revision {current.number}{by}{note}); {outcome}"
    )


def check_belongs(session: str, **rows: Plan | Revision) -> None:
    """Raise `StorageError` for a row that is another session's."""
    for kind, row in rows.items():
        if row.session != session:
            raise StorageError(
                f"The {kind} {row.id!r} belongs to the session {row.session!r}, not to {session!r}; "
                f"choose one of the session's own."
            )


def find_revision(connection: Connection, revision: str) -> Revision:
    """The revision of that id. Raises `UnknownId` when there is none."""
    row = connection.execute(_REVISION.where(REVISIONS.c.id == revision)).mappings().first()
    if row is None:
        raise UnknownId(
            f"There is no revision {revision!r} in this store; choose one of the session's revisions."
        )
    return _read(connection, [row])[0]


def _read(connection: Connection, rows: Sequence[RowMapping]) -> tuple[Revision, ...]:
    """The rows of one session as records."""
    if not rows:
        return ()
    stored = [row["workflow"] for row in rows]
    workflows = fragments.read(connection, rows[0]["session"], WORKFLOW, stored)
    return tuple(
        sessions.record(Revision, {**row, "workflow": workflow})
        for row, workflow in zip(rows, workflows, strict=True)
    )


def revisions_of(connection: Connection, session: str) -> tuple[Revision, ...]:
    """The session's revisions, oldest first."""
    sessions.find(connection, session)
    rows = connection.execute(_REVISION.where(REVISIONS.c.session == session).order_by(REVISIONS.c.number))
    return _read(connection, rows.mappings().all())


def history(connection: Connection, session: str) -> tuple[RevisionEntry, ...]:
    """See `store.revisions.history`."""
    sessions.find(connection, session)
    rows = connection.execute(_ENTRY.where(REVISIONS.c.session == session).order_by(REVISIONS.c.number))
    return tuple(sessions.record(RevisionEntry, row) for row in rows.mappings())


def head(connection: Connection, session: str) -> Revision | None:
    """The session's current revision, None before the first."""
    current = sessions.find(connection, session).head
    return None if current is None else find_revision(connection, current)


def neighbours(connection: Connection, session: str) -> tuple[Revision | None, Revision | None]:
    """Where undo and redo would lead; None where they lead nowhere."""
    current = head(connection, session)
    if current is None:
        return None, None
    parent = None if current.parent is None else find_revision(connection, current.parent)
    return parent, _newest_child(connection, current.id)


def _newest_child(connection: Connection, revision: str) -> Revision | None:
    newest = _REVISION.where(REVISIONS.c.parent == revision).order_by(REVISIONS.c.number.desc()).limit(1)
    row: Any = connection.execute(newest).mappings().first()
    return None if row is None else _read(connection, [row])[0]


def undo(connection: Connection, session: str, *, expected: str | None, now: float) -> Revision | None:
    """See `store.revisions.undo`."""
    _expect(connection, session, expected, "nothing was undone. Look at the new state and undo again.")
    return _move_head(connection, session, to=neighbours(connection, session)[0], now=now)


def redo(connection: Connection, session: str, *, expected: str | None, now: float) -> Revision | None:
    """See `store.revisions.redo`."""
    _expect(connection, session, expected, "nothing was redone. Look at the new state and redo again.")
    return _move_head(connection, session, to=neighbours(connection, session)[1], now=now)


def _expect(connection: Connection, session: str, expected: str | None, outcome: str) -> None:
    """Raise `EditConflict` where another revision than `expected` is the head (None: any may be)."""
    current = head(connection, session)
    if current is not None and expected not in (None, current.id):
        raise _conflict(current, outcome)


def _move_head(connection: Connection, session: str, *, to: Revision | None, now: float) -> Revision | None:
    if to is not None:
        sessions.change(connection, session, head=to.id, updated_at=now)
    return to
