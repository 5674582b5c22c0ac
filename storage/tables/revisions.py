"""Revisions as rows, and the head that moves among a session's revisions.

A session's revisions form a tree: an edit hangs a child under the head and becomes the head. Undo
moves the head to its parent, redo to the child that was left last, so nothing that was undone is ever lost.
An edit that is kept as a branch hangs under what was edited, and leaves the head where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from sqlalchemy import Connection, RowMapping, case, or_, select

from conductor.errors import EditConflict, StorageError
from conductor.workflow.file import Origin
from conductor.workflow.model import Workflow
from storage import fragments
from storage.database.schema import CORRECTIONS, REVISION_WORKERS, REVISIONS, SESSIONS, WORKFLOW
from storage.records import Plan, Revision, RevisionSummary, Session
from storage.tables import plans, sessions
from storage.tables.rows import Rows, new_id, next_number, record

_REVISION = select(*(REVISIONS.c[name] for name in Revision.model_fields))
_ENTRIES = Rows(RevisionSummary, REVISIONS, "revision")


def add(
    connection: Connection,
    now: float,
    session: str,
    workflow: Workflow,
    *,
    origin: Origin,
    note: str = "",
    author: str | None = None,
    parent: str | None = None,
    plan: str | None = None,
    restores: str | None = None,
    expected: str | None = None,
    moves_head: bool = True,
    id: str | None = None,
) -> Revision:
    """Store a workflow as the session's new head, under `parent` (the current head when None).

    `expected` is the head that was edited (None: any). Raises `EditConflict`, a `StorageError`, where another
    revision is the head by now. `restores` is an earlier revision whose workflow this is again. The head that
    there is stays the head unless `moves_head`. It gets a new id unless one is given.
    """
    # First of all, because it locks the row: the head that is read next stays the head.
    before = or_(SESSIONS.c.state.in_(("new", "rejected", "unplanned")), SESSIONS.c.head.is_(None))
    planned = case((before, "planned"), else_=SESSIONS.c.state)
    sessions.change(connection, session, updated_at=now, state=planned)
    missed = "your edit was not applied. Look at the new state and edit again."
    current = _expected_head(connection, session, expected, missed)
    under = parent or (None if current is None else current.id)
    looks_back = edited = None
    if under is not None:
        edited = find(connection, under)
        check_belongs(session, revision=edited)
        looks_back = edited.looks_back
    if restores is not None:
        # It is run as it was: in its round, and as an edit of the plan that it was made of.
        edited = find(connection, restores)
        check_belongs(session, revision=edited)
        looks_back = edited.looks_back
    if plan is not None:
        written = plans.find(connection, plan)
        check_belongs(session, plan=written)
        looks_back = written.looks_back
    revision = id or new_id()
    insert(
        connection,
        now,
        session,
        workflow,
        id=revision,
        number=next_number(connection, REVISIONS, session),
        parent=under,
        origin=origin,
        note=note,
        plan=plan,
        looks_back=looks_back,
        author=author,
    )
    changed = _origin_of(connection, edited) if origin == "human" and edited is not None else None
    if changed is not None:
        row = {"revision": revision, "session": session, "created_at": now}
        connection.execute(CORRECTIONS.insert(), row | changed)
    if moves_head or current is None:
        sessions.change(connection, session, head=revision)
    return find(connection, revision)


def insert(
    connection: Connection, now: float, session: str, workflow: Workflow, *, number: int, **columns: Any
) -> None:
    """Insert a revision with these columns: its id, origin and note at least. Nothing is read, and the head
    stays as it is.
    """
    shared = fragments.Fragments()
    row = {
        "session": session,
        "number": number,
        "created_at": now,
        "workflow": shared.workflow(workflow),
        "topology": workflow.topology,
        "steps": len(workflow),
    }
    connection.execute(REVISIONS.insert(), row | columns)
    shared.keep(connection, session=session)
    if workflow.fallbacks:
        # The trigger adds the steps' own workers.
        rows = [{"revision": columns["id"], "worker": name} for name in sorted(workflow.fallbacks)]
        connection.execute(REVISION_WORKERS.insert(), rows)


def add_planned(
    connection: Connection,
    now: float,
    session: str,
    *,
    workflow: Workflow | None = None,
    revision: str | None = None,
    note: str = "",
    planning: str | None = None,
    stopped: bool = False,
    **answer: Unpack[plans.Answer],
) -> Plan:
    """Store a Conductor's answer; `failure` is why there is no report, `stopped` that it was stopped.

    From round 2 on it `looks_back` on the run before, as do the revisions made of it. An `alternative` (an id
    shared by plans that were requested together) leaves the session's state as it is.

    The `workflow` made of it becomes the session's head with that `note`, as a revision of the id `revision`
    (None: a new id): both are stored, or neither. The `planning` of that id ends with it, where there is one.
    """
    if planning is not None:
        plans.end(connection, planning)
    plan = plans.add(connection, now, session, stopped=stopped, **answer)
    if workflow is not None:
        add(connection, now, session, workflow, origin="conductor", note=note, plan=plan.id, id=revision)
    return plan


def import_workflow(
    connection: Connection,
    now: float,
    query: str,
    workflow: Workflow,
    *,
    pool_label: str | None = None,
    note: str = "Imported",
) -> Session:
    """A new session whose first revision is an imported workflow: both of them, or neither."""
    session = sessions.create(connection, now, query, pool_label=pool_label, origin="import").id
    add(connection, now, session, workflow, origin="import", note=note)
    return sessions.find(connection, session)


def planned(connection: Connection, revision: str) -> Revision | None:
    """The revision with the Conductor's plan that a person's edits led from to this one, or itself.

    None if no plan was edited, as after an import.
    """
    origin = _origin_of(connection, find(connection, revision))
    return None if origin is None else find(connection, origin["planned"])


def _origin_of(connection: Connection, revision: Revision) -> dict[str, str] | None:
    """The `plan` that a revision holds or descends from, and the revision `planned` that holds it."""
    if revision.plan is not None:
        return {"plan": revision.plan, "planned": revision.id}
    own = select(CORRECTIONS.c.plan, CORRECTIONS.c.planned).where(CORRECTIONS.c.revision == revision.id)
    row = connection.execute(own).mappings().first()
    return None if row is None else dict(row)


def _expected_head(
    connection: Connection, session: str, expected: str | None, missed: str
) -> Revision | None:
    """The head. Raises `EditConflict`, which states what was `missed`, where it is not the one that was
    `expected` (None: any may be); a head never goes away, so without one nothing was edited meanwhile.
    """
    current = head(connection, session)
    if current is not None and expected not in (None, current.id):
        by = f" by {current.author}" if current.author else ""
        note = f": {current.note}" if current.note else ""
        raise EditConflict(
            f"The workflow was changed in the meantime (revision {current.number}{by}{note}); {missed}"
        )
    return current


def check_belongs(session: str, **rows: Plan | Revision) -> None:
    """Raise `StorageError` for a row that is another session's."""
    for kind, row in rows.items():
        if row.session != session:
            raise StorageError(
                f"The {kind} {row.id!r} belongs to the session {row.session!r}, not to {session!r}; "
                f"choose one of the session's own."
            )


def find(connection: Connection, revision: str) -> Revision:
    """The revision of that id. Raises `UnknownId` when there is none."""
    row = connection.execute(_REVISION.where(REVISIONS.c.id == revision)).mappings().first()
    if row is None:
        raise _ENTRIES.unknown(revision)
    return _read(connection, [row])[0]


def _read(connection: Connection, rows: Sequence[RowMapping]) -> tuple[Revision, ...]:
    """The rows of one session as records."""
    if not rows:
        return ()
    stored = [row["workflow"] for row in rows]
    workflows = fragments.read(connection, rows[0]["session"], WORKFLOW, stored)
    return tuple(
        record(Revision, {**row, "workflow": workflow}) for row, workflow in zip(rows, workflows, strict=True)
    )


def of_session(connection: Connection, session: str) -> tuple[Revision, ...]:
    """The session's revisions, oldest first."""
    sessions.find(connection, session)
    rows = connection.execute(_REVISION.where(REVISIONS.c.session == session).order_by(REVISIONS.c.number))
    return _read(connection, rows.mappings().all())


def history(connection: Connection, session: str) -> tuple[RevisionSummary, ...]:
    """The session's revisions without their workflows, oldest first."""
    sessions.find(connection, session)
    return _ENTRIES.select(connection, REVISIONS.c.session == session, by=REVISIONS.c.number)


def head(connection: Connection, session: str) -> Revision | None:
    """The session's current revision, None before the first."""
    current = sessions.find(connection, session).head
    return None if current is None else find(connection, current)


def neighbours(connection: Connection, session: str) -> tuple[Revision | None, Revision | None]:
    """Where `undo` and `redo` lead, or None: a redo goes where an undo came from, to no other branch."""
    current = head(connection, session)
    if current is None:
        return None, None
    parent = None if current.parent is None else find(connection, current.parent)
    left = connection.scalar(select(REVISIONS.c.redo).where(REVISIONS.c.id == current.id))
    return parent, None if left is None else find(connection, left)


def redo_targets(connection: Connection, session: str) -> Mapping[str, str]:
    """Where `redo` leads from each of the session's revisions from which it leads anywhere, by id."""
    query = select(REVISIONS.c.id, REVISIONS.c.redo).where(REVISIONS.c.session == session)
    return {row.id: row.redo for row in connection.execute(query.where(REVISIONS.c.redo.is_not(None)))}


def undo(connection: Connection, now: float, session: str, *, expected: str | None = None) -> Revision | None:
    """Move the head to its parent; None, and no change, where it has none.

    `expected` is the head that is left (None: any). Raises `EditConflict` where that is another by now.
    """
    missed = "nothing was undone. Look at the new state and undo again."
    _expected_head(connection, session, expected, missed)
    left, parent = head(connection, session), neighbours(connection, session)[0]
    if left is not None and parent is not None:
        connection.execute(REVISIONS.update().where(REVISIONS.c.id == parent.id).values(redo=left.id))
    return _move_head(connection, now, session, to=parent)


def redo(connection: Connection, now: float, session: str, *, expected: str | None = None) -> Revision | None:
    """Move the head to what was undone last from there; None, and no change, where nothing was. `expected` as
    in `undo`.
    """
    missed = "nothing was redone. Look at the new state and redo again."
    _expected_head(connection, session, expected, missed)
    return _move_head(connection, now, session, to=neighbours(connection, session)[1])


def _move_head(connection: Connection, now: float, session: str, *, to: Revision | None) -> Revision | None:
    if to is not None:
        sessions.change(connection, session, head=to.id, updated_at=now)
    return to
