"""People's changes of Conductors' plans, one for each plan that they made of another, and their ratings.

A correction's row is written with its revision, see `revisions`, and holds only references; workflows and
answers are joined when it is read. Revisions that are equal as plans are one change, whatever is pinned,
sampled or written by hand in them. An answer is a plan's only where no output in its run was written by hand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, and_, case, select

from conductor.planner.corrections import Correction, Judged, JudgedPlan, Thumbs, as_plan
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport
from storage.database.encoding import JsonMembers, from_json, read_members
from storage.database.schema import CORRECTIONS, EVENTS, PLANS, RATINGS, RUNS, SESSIONS
from storage.database.unreadable_rows import readable
from storage.records import Revision
from storage.tables import revisions as revision_rows
from storage.tables import runs
from storage.tables.rows import as_text

_BATCH = 100
"""Changes whose workflows and answers are in memory at once."""

_Plan = tuple[str | None, Workflow]
"""A revision's workflow as a plan, and the run that it looks back on."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A change, represented by one `revision`; `touched_at` is when it was made or last finished a run.

    `planned` is the revision that holds the Conductor's plan; the answers of the runs count.
    """

    session: str
    planned: str
    revision: str
    created_at: float
    touched_at: float
    current: bool
    planned_run: str | None
    edited_run: str | None


def read(connection: Connection, *, every: bool = False) -> Iterator[Correction]:
    """People's changes of Conductors' plans, oldest first, in all sessions that are not deleted.

    Of each plan the final change: the one that was made, or finished a run, last; with `every`, all of them.
    Revisions that are equal as plans are one change.
    """

    def changes_of(session: _Session) -> list[_Change]:
        return list(_changes_of(connection, session.id, head=session.head, every=every))

    sessions = readable(changes_of, _sessions(connection), name=_name)
    changes = [change for own in sessions for change in own]
    changes.sort(key=attrgetter("created_at", "revision"))
    for start in range(0, len(changes), _BATCH):
        some = changes[start : start + _BATCH]
        rows = {
            row.revision: row
            for row in connection.execute(
                _ROWS.where(CORRECTIONS.c.revision.in_([change.revision for change in some]))
            )
        }
        of_rows = partial(_correction, connection, rows, _answers(connection, some))
        yield from readable(of_rows, some, name=lambda each: f"Correction {each.revision!r}")


class _Session(NamedTuple):
    id: str
    head: str | None = None
    query: str = ""


def _name(session: _Session) -> str:
    return f"Session {session.id!r}"


def _sessions(connection: Connection) -> Sequence[_Session]:
    """The sessions in which a plan was changed, each with its current revision."""
    corrected = select(CORRECTIONS.c.session).distinct()
    query = select(SESSIONS.c.id, SESSIONS.c.head).where(
        SESSIONS.c.id.in_(corrected), SESSIONS.c.deleted_at.is_(None)
    )
    return [_Session(row.id, row.head) for row in connection.execute(query)]


# -- the changes of one session --------------------------------------------------------------------


def _changes_of(connection: Connection, session: str, *, head: str | None, every: bool) -> Iterator[_Change]:
    """The session's changes; of each plan only the final one, unless `every` is set."""
    revisions = {revision.id: revision for revision in revision_rows.of_session(connection, session)}
    plans = {revision.id: _plan(revision) for revision in revisions.values()}
    runs: defaultdict[_Plan, list[_Run]] = defaultdict(list)
    for run in _whole_runs(connection, session):
        pins = revisions[run.revision].workflow.pins.values()
        if all(pin.hand is None for pin in pins):
            runs[plans[run.revision]].append(run)
    groups: defaultdict[tuple[str, _Plan], list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(
        select(CORRECTIONS).where(CORRECTIONS.c.session == session).order_by(CORRECTIONS.c.created_at)
    ):
        groups[row.planned, plans[row.revision]].append(row)
    final: dict[str, _Change] = {}
    for (planned, plan), rows in groups.items():
        # A revision that is equal to its parent as a plan does not change the plan.
        changing = [row for row in rows if plans.get(revisions[row.revision].parent or "") != plan]
        stands = max(changing or rows, key=lambda row: revisions[row.revision].number)
        touched = [row.created_at for row in changing]
        touched += [run.started_at for run in runs[plan]] if plan != plans[planned] else []
        change = _Change(
            session=session,
            planned=planned,
            revision=stands.revision,
            created_at=stands.created_at,
            touched_at=max(touched, default=0.0),
            current=head is not None and plans[head] == plan,
            planned_run=_best(runs[plans[planned]]),
            edited_run=_best(runs[plan]),
        )
        if every:
            yield change
        elif planned not in final or _later(change, final[planned], revisions):
            final[planned] = change
    yield from final.values()


def _later(change: _Change, other: _Change, revisions: Mapping[str, Revision]) -> bool:
    numbers = [revisions[one.revision].number for one in (change, other)]
    return (change.touched_at, numbers[0]) > (other.touched_at, numbers[1])


def _plan(revision: Revision) -> _Plan:
    first = revision.looks_back is None
    return revision.looks_back, as_plan(revision.workflow, first_round=first, tools=True)


class _Run(NamedTuple):
    id: str
    revision: str
    started_at: float


def _whole_runs(connection: Connection, session: str) -> Iterator[_Run]:
    """Finished runs of all steps, without trials: those that a person has rated first, then the newest."""
    joined = RUNS.join(EVENTS, and_(EVENTS.c.run == RUNS.c.id, EVENTS.c.seq == 0))
    query = (
        select(RUNS.c.id, RUNS.c.revision, RUNS.c.started_at)
        .select_from(joined.outerjoin(RATINGS, RATINGS.c.run == RUNS.c.id))
        .where(RUNS.c.session == session, RUNS.c.status == "finished", RUNS.c.experiment.is_(None))
        .order_by(case((RATINGS.c.thumbs.is_(None), 1), else_=0), RUNS.c.number.desc())
    )

    def whole(events: JsonMembers) -> Sequence[Row[str, str, float]]:
        of_all_steps = events.text("type") == "run_started", events.text("covers").is_(None)
        return connection.execute(query.where(*of_all_steps)).all()

    own = EVENTS.c.run.in_(select(RUNS.c.id).where(RUNS.c.session == session)), EVENTS.c.seq == 0
    for run in read_members(connection, EVENTS.c.event, whole, *own):
        yield _Run(run.id, run.revision, run.started_at)


def _best(runs: Sequence[_Run]) -> str | None:
    """The run whose answer counts: a rated one before the newest."""
    return runs[0].id if runs else None


# -- rows ------------------------------------------------------------------------------------------

_ROWS = select(
    CORRECTIONS,
    SESSIONS.c.query,
    SESSIONS.c.pool_label,
    PLANS.c.planner,
    PLANS.c.planner_kind,
    as_text(PLANS.c.report),
).select_from(
    CORRECTIONS.join(SESSIONS, SESSIONS.c.id == CORRECTIONS.c.session).join(
        PLANS, PLANS.c.id == CORRECTIONS.c.plan
    )
)


def _answers(connection: Connection, changes: Sequence[_Change]) -> Mapping[str, Judged]:
    """What the runs of these changes answered, by run."""
    runs = {run for change in changes for run in (change.planned_run, change.edited_run) if run is not None}
    query = (
        select(RUNS.c.id, RUNS.c.answer, RUNS.c.pool_label, RATINGS.c.thumbs)
        .select_from(RUNS.outerjoin(RATINGS, RATINGS.c.run == RUNS.c.id))
        .where(RUNS.c.id.in_(runs))
    )
    return {
        run.id: Judged(run=run.id, answer=run.answer, thumbs=run.thumbs, pool_label=run.pool_label)
        for run in connection.execute(query)
    }


def _correction(
    connection: Connection, rows: Mapping[str, Row[Any]], answers: Mapping[str, Judged], change: _Change
) -> Correction:
    row = rows[change.revision]
    report = _report(row.report)
    edited = revision_rows.find(connection, change.revision)
    return Correction(
        session=change.session,
        query=row.query,
        pool_label=row.pool_label,
        plan=row.plan,
        planner=row.planner,
        planner_kind=row.planner_kind,
        dialect=report.dialect,
        reasoning=report.reasoning,
        prompt=report.prompt,
        planned_revision=change.planned,
        planned=revision_rows.find(connection, change.planned).workflow,
        planned_run=answers.get(change.planned_run or ""),
        revision=change.revision,
        edited=edited.workflow,
        edited_run=answers.get(change.edited_run or ""),
        created_at=change.created_at,
        note=edited.note,
        current=change.current,
    )


# -- judged plans ----------------------------------------------------------------------------------


def read_judged(connection: Connection) -> Iterator[JudgedPlan]:
    """The plans whose answers people judged, edited or not, in all sessions that are not deleted.

    Of each plan the newest judgement of a whole run counts.
    """
    rated = select(RUNS.c.session).join(RATINGS, RATINGS.c.run == RUNS.c.id).distinct()
    query = (
        select(SESSIONS.c.id, SESSIONS.c.query)
        .where(SESSIONS.c.id.in_(rated), SESSIONS.c.deleted_at.is_(None))
        .order_by(SESSIONS.c.created_at, SESSIONS.c.id)
    )
    sessions = [_Session(row.id, query=row.query) for row in connection.execute(query)]
    for judged in readable(partial(_judged, connection), sessions, name=_name):
        yield from judged


def _judged(connection: Connection, session: _Session) -> Collection[JudgedPlan]:
    query = select(CORRECTIONS.c.revision, CORRECTIONS.c.plan).where(CORRECTIONS.c.session == session.id)
    edits = {row.revision: row.plan for row in connection.execute(query)}
    judged: dict[tuple[str, _Plan], JudgedPlan] = {}
    for run in _whole_runs(connection, session.id):
        thumbs = rating(connection, run.id)
        if thumbs is None:
            break  # rated ones come first
        revision = revision_rows.find(connection, run.revision)
        plan = revision.plan or edits.get(revision.id)
        by_hand = any(pin.hand is not None for pin in revision.workflow.pins.values())
        if plan is None or by_hand or (plan, _plan(revision)) in judged:
            continue
        planned = connection.execute(_PLANNED.where(PLANS.c.id == plan)).one()
        report = _report(planned.report)
        answer = connection.execute(_ANSWER.where(RUNS.c.id == run.id)).one()
        judged[plan, _plan(revision)] = JudgedPlan(
            session=session.id,
            query=session.query,
            plan=plan,
            planner=planned.planner,
            planner_kind=planned.planner_kind,
            dialect=report.dialect,
            prompt=report.prompt,
            revision=revision.id,
            workflow=revision.workflow,
            edited=revision.plan is None,
            run=Judged(run=run.id, answer=answer.answer, thumbs=thumbs, pool_label=answer.pool_label),
        )
    return judged.values()


_PLANNED = select(PLANS.c.planner, PLANS.c.planner_kind, as_text(PLANS.c.report))
_REPORT: TypeAdapter[PlanReport] = TypeAdapter(PlanReport)
_report = partial(from_json, _REPORT)
_ANSWER = select(RUNS.c.answer, RUNS.c.pool_label)


# -- thumbs ----------------------------------------------------------------------------------------


def rate(
    connection: Connection, now: float, run: str, thumbs: Thumbs | None, *, author: str | None = None
) -> None:
    """Store the rating of a run's answer by `author`, None if unknown; no `thumbs` remove it."""
    runs.find(connection, run)
    connection.execute(RATINGS.delete().where(RATINGS.c.run == run))
    if thumbs is not None:
        row = {"run": run, "thumbs": thumbs, "rated_at": now, "author": author}
        connection.execute(RATINGS.insert(), row)


def rating(connection: Connection, run: str) -> Thumbs | None:
    """A person's rating of a run's answer, None without one."""
    thumbs: Thumbs | None = connection.scalar(select(RATINGS.c.thumbs).where(RATINGS.c.run == run))
    return thumbs


def rater(connection: Connection, run: str) -> str | None:
    """Who gave a run's rating, None if unknown or without one."""
    author: str | None = connection.scalar(select(RATINGS.c.author).where(RATINGS.c.run == run))
    return author
