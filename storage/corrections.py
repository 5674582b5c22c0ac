"""Corrections as rows: which of a person's revisions change which Conductor's plan, and what was thought of
the answers.

A row is written with the revision it is about, and only points; workflows and answers are joined when
somebody reads. Of a plan that was edited in several steps the final one counts: the revision that was made,
or finished a run, last. Undo deletes nothing; a row says whether its revision is what the session shows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, case, exists, func, select

from conductor.corrections import Correction, Judged, Thumbs
from conductor.errors import StorageError
from storage.records import Revision
from storage.schema import CORRECTIONS, EVENTS, PLANS, RATINGS, REVISIONS, RUNS, SESSIONS

_BATCH = 100
"""Corrections that are read together; more are never held at once."""


def keep(connection: Connection, *, revision: str, session: str, edited: Revision, now: float) -> None:
    """Keep that the new `revision` changes the plan that `edited` is or descends from, where it is one."""
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


def rate(connection: Connection, run: str, thumbs: Thumbs | None, *, now: float) -> None:
    """See `SessionStore.rate`."""
    if not connection.scalar(select(exists().where(RUNS.c.id == run))):
        raise StorageError(f"There is no run {run!r} in this store; choose one of the session's runs.")
    connection.execute(RATINGS.delete().where(RATINGS.c.run == run))
    if thumbs is not None:
        connection.execute(RATINGS.insert(), {"run": run, "thumbs": thumbs, "rated_at": now})


def rating(connection: Connection, run: str) -> Thumbs | None:
    """See `SessionStore.rating`."""
    found: Thumbs | None = connection.scalar(select(RATINGS.c.thumbs).where(RATINGS.c.run == run))
    return found


# -- reading ---------------------------------------------------------------------------------------


def read(connection: Connection, *, every: bool) -> Iterator[Correction]:
    """See `SessionStore.corrections`."""
    ids = connection.scalars(_every() if every else _final()).all()
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]
        rows = {
            row.revision: row for row in connection.execute(_ROWS.where(CORRECTIONS.c.revision.in_(some)))
        }
        judged = _judged(connection, {*some, *(row.planned for row in rows.values())})
        for revision in some:
            yield _correction(rows[revision], judged)


_PLANNED = REVISIONS.alias("planned")
_EDITED = REVISIONS.alias("edited")

_KEPT = (
    CORRECTIONS.join(SESSIONS, SESSIONS.c.id == CORRECTIONS.c.session)
    .join(PLANS, PLANS.c.id == CORRECTIONS.c.plan)
    .join(_PLANNED, _PLANNED.c.id == CORRECTIONS.c.planned)
    .join(_EDITED, _EDITED.c.id == CORRECTIONS.c.revision)
)

_ROWS = select(
    CORRECTIONS,
    SESSIONS.c.query,
    SESSIONS.c.pool_label,
    SESSIONS.c.head,
    PLANS.c.planner,
    PLANS.c.planner_kind,
    PLANS.c.report,
    _PLANNED.c.workflow.label("planned_workflow"),
    _EDITED.c.workflow.label("edited_workflow"),
    _EDITED.c.note,
).select_from(_KEPT)


def _every() -> Select[str]:
    return (
        select(CORRECTIONS.c.revision)
        .select_from(_KEPT)
        .where(SESSIONS.c.deleted_at.is_(None))
        .order_by(CORRECTIONS.c.created_at, CORRECTIONS.c.revision)
    )


def _final() -> Select[str]:
    """Of the revisions that change one plan, the one that was made, or finished a run, last."""
    ran = (
        select(func.max(RUNS.c.started_at))
        .where(RUNS.c.revision == CORRECTIONS.c.revision, *_ordinary())
        .scalar_subquery()
    )
    touched = case((ran > CORRECTIONS.c.created_at, ran), else_=CORRECTIONS.c.created_at)
    order = func.row_number().over(
        partition_by=CORRECTIONS.c.planned, order_by=(touched.desc(), _EDITED.c.number.desc())
    )
    ranked = (
        select(CORRECTIONS.c.revision, CORRECTIONS.c.created_at, order.label("place"))
        .select_from(_KEPT)
        .where(SESSIONS.c.deleted_at.is_(None))
        .subquery()
    )
    return (
        select(ranked.c.revision).where(ranked.c.place == 1).order_by(ranked.c.created_at, ranked.c.revision)
    )


def _ordinary() -> tuple[Any, ...]:
    """Runs that people meant to have an answer from, and that came to an end."""
    return (RUNS.c.status == "finished", RUNS.c.experiment.is_(None))


def _correction(row: Row[Any], judged: Mapping[str, Judged]) -> Correction:
    report = row.report
    return Correction(
        session=row.session,
        query=row.query,
        pool_label=row.pool_label,
        plan=row.plan,
        planner=row.planner,
        planner_kind=row.planner_kind,
        dialect=report.dialect,
        reasoning=report.reasoning,
        prompt=report.prompt,
        planned_revision=row.planned,
        planned=row.planned_workflow,
        planned_run=judged.get(row.planned),
        revision=row.revision,
        edited=row.edited_workflow,
        edited_run=judged.get(row.revision),
        created_at=row.created_at,
        note=row.note,
        current=row.head == row.revision,
    )


_MEANT = REVISIONS.alias("meant")
_SAME = REVISIONS.alias("same")

# An edit back to a workflow is a revision of its own; its runs tell of that workflow all the same. Those that
# somebody has judged come first, then the newest.
_JUDGED = (
    select(
        _MEANT.c.id.label("revision"),
        RUNS.c.id,
        RUNS.c.answer,
        RUNS.c.pool_label,
        RATINGS.c.thumbs,
        EVENTS.c.event,
    )
    .select_from(
        _MEANT.join(
            _SAME,
            and_(
                _SAME.c.session == _MEANT.c.session,
                _SAME.c.workflow == _MEANT.c.workflow,
                func.coalesce(_SAME.c.looks_back, "") == func.coalesce(_MEANT.c.looks_back, ""),
            ),
        )
        .join(RUNS, RUNS.c.revision == _SAME.c.id)
        .join(EVENTS, and_(EVENTS.c.run == RUNS.c.id, EVENTS.c.seq == 0))
        .outerjoin(RATINGS, RATINGS.c.run == RUNS.c.id)
    )
    .where(*_ordinary())
    .order_by(_MEANT.c.id, case((RATINGS.c.thumbs.is_(None), 1), else_=0), RUNS.c.number.desc())
)


def _judged(connection: Connection, revisions: Collection[str]) -> dict[str, Judged]:
    """What the workflows of these revisions answered, where a whole run of one was finished."""
    found: dict[str, Judged] = {}
    for run in connection.execute(_JUDGED.where(_MEANT.c.id.in_(revisions))):
        if run.event.covers is None and run.revision not in found:
            found[run.revision] = Judged(
                run=run.id, answer=run.answer, thumbs=run.thumbs, pool_label=run.pool_label
            )
    return found
