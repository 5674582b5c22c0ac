"""Plans as rows, and the plannings under way: which open store calls a Conductor, and for which session.

A planning is a row of `meta` from before the Conductor is called until its answer is stored. Where its
process dies, it becomes a plan marked as interrupted. Functions of a connection inside a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NotRequired, TypedDict, Unpack, cast

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, Connection, and_, case, select

from conductor.errors import UnknownId
from conductor.runs.request import UNKNOWN_ASKER, Asker
from conductor.values.charge import Charge
from conductor.values.messages import Usage, Value
from conductor.values.output import WorkerKind
from conductor.workflow.plan_report import INTERRUPTED, PlanReport
from storage.database.schema import CHANGE_REQUESTS, META, PLANS, SESSIONS
from storage.records import Plan
from storage.session_entries import SessionState
from storage.tables import ledger, sessions
from storage.tables.rows import Rows, new_id, next_number

_PLANS = Rows(Plan, PLANS, "plan")

find = _PLANS.find

_PREFIX = "planning/"


class Attempt(TypedDict):
    """Who is called for a plan, and what for; see `Plan`. `round` and `attempt` are 1 where left out."""

    planner: str
    planner_kind: WorkerKind
    round: NotRequired[int]
    attempt: NotRequired[int]
    looks_back: NotRequired[str | None]
    alternative: NotRequired[str | None]
    by: NotRequired[Asker]


class Answer(Attempt):
    """A Conductor's answer to an attempt, valid or not; `failure` is why there is no report. `charges` are
    those of the requests for it: where they are left out, one that took its `usage`.
    """

    report: PlanReport | None
    failure: NotRequired[str | None]
    usage: Usage
    seconds: NotRequired[float | None]
    charges: NotRequired[Sequence[Charge]]


class Underway(Value):
    """One attempt at a plan, and its `owner`, the open store that calls, which `stop_asked` asks to stop; for
    the rest see `Plan`.
    """

    session: str
    owner: str
    planner: str
    planner_kind: WorkerKind
    round: int = 1
    attempt: int = 1
    looks_back: str | None = None
    alternative: str | None = None
    by: Asker = UNKNOWN_ASKER
    stop_asked: bool = False


_UNDERWAY = TypeAdapter(Underway)


def add(
    connection: Connection, now: float, session: str, *, stopped: bool = False, **answer: Unpack[Answer]
) -> Plan:
    """Store an answer. That of an `alternative` leaves the session's state as it is, and so does a later
    round without a new workflow: the session has the answer of the round before. Where planning was
    `stopped`, a session with a workflow keeps its state, too.
    """
    state: ColumnElement[str] | str | None = None
    if answer.get("alternative") is None:
        report = answer["report"]
        if report is not None and report.ok and not report.return_previous:
            state = "planned"
        elif answer.get("round", 1) == 1 and stopped:
            state = _unless_planned("cancelled")
        elif answer.get("round", 1) == 1:
            state = "unplanned" if report is None else "rejected"
    return _insert(connection, now, session, answer, state=state)


def _unless_planned(state: SessionState) -> ColumnElement[str]:
    """That state for a session without a workflow; one that has a workflow keeps its own."""
    return case((SESSIONS.c.head.is_(None), state), else_=SESSIONS.c.state)


def _insert(
    connection: Connection,
    now: float,
    session: str,
    answer: Answer,
    *,
    state: ColumnElement[str] | str | None,
) -> Plan:
    changes = {} if state is None else {"state": state}
    sessions.change(connection, session, updated_at=now, **changes)
    plan = new_id()
    row = {
        "id": plan,
        "session": session,
        "number": next_number(connection, PLANS, session),
        "created_at": now,
        "failure": None,
        "seconds": None,
        "round": 1,
        "attempt": 1,
        **answer,
    }
    connection.execute(PLANS.insert(), {name: row[name] for name in row.keys() - {"charges", "by"}})
    charges, by = answer.get("charges"), answer.get("by", UNKNOWN_ASKER)
    if charges is None and row["planner_kind"] != "offline":
        charges = [_of_one(answer)]
    ledger.add(connection, now, charges or (), session=session, plan=plan, by=by)
    if answer.get("alternative") is not None:
        own = CHANGE_REQUESTS.c.id == answer["alternative"]
        connection.execute(CHANGE_REQUESTS.update().where(own).values(plan=plan))
    return find(connection, plan)


def _of_one(answer: Answer) -> Charge:
    """The charge of a plan for which one request was made."""
    name, kind = answer["planner"], answer["planner_kind"]
    return Charge(worker=name, kind=kind, purpose="plan", usage=answer["usage"])


def of_session(connection: Connection, session: str) -> tuple[Plan, ...]:
    """The session's plans, oldest first, without alternatives."""
    sessions.find(connection, session)
    return _PLANS.select(connection, _own(session), by=PLANS.c.number)


def latest(connection: Connection, session: str) -> Plan | None:
    """The session's newest plan that is no alternative, None before the first."""
    sessions.find(connection, session)
    return _PLANS.first(connection, _own(session), by=PLANS.c.number.desc())


def _own(session: str) -> ColumnElement[bool]:
    return and_(PLANS.c.session == session, PLANS.c.alternative.is_(None))


def alternatives_of(connection: Connection, session: str) -> tuple[Plan, ...]:
    """The plans that were last requested together, by attempt; those that have ended so far."""
    sessions.find(connection, session)
    changed = select(CHANGE_REQUESTS.c.plan).where(CHANGE_REQUESTS.c.session == session)
    alternatives = and_(
        PLANS.c.session == session,
        PLANS.c.alternative.is_not(None),
        PLANS.c.id.not_in(changed.where(CHANGE_REQUESTS.c.plan.is_not(None))),
    )
    newest = select(PLANS.c.alternative).where(alternatives).order_by(PLANS.c.number.desc()).limit(1)
    together = PLANS.c.alternative == newest.scalar_subquery()
    return _PLANS.select(connection, alternatives, together, by=PLANS.c.attempt)


# -- plannings under way ---------------------------------------------------------------------------


def begin(connection: Connection, planning: str, entry: Underway) -> None:
    """Store that the planning of that id begins.

    A store requests one plan at a time in a session, or alternatives at once. An earlier row of it, whose
    answer could not be stored, is removed.
    """
    for other, one in underway(connection).items():
        same = (one.session, one.owner) == (entry.session, entry.owner)
        if same and (one.alternative is None or one.alternative != entry.alternative):
            end(connection, other)
    value = _UNDERWAY.dump_json(entry).decode()
    connection.execute(META.insert().values(key=f"{_PREFIX}{planning}", value=value))


def end(connection: Connection, planning: str) -> bool:
    """The planning is over; False where it was not under way, as one that another process ended."""
    own = META.c.key == f"{_PREFIX}{planning}"
    return connection.execute(META.delete().where(own)).rowcount > 0


def underway(connection: Connection) -> Mapping[str, Underway]:
    """All plannings under way, by their ids; one that a later version wrote otherwise is left out."""
    entries: dict[str, Underway] = {}
    rows = connection.execute(select(META.c.key, META.c.value).where(META.c.key.startswith(_PREFIX)))
    for row in rows:
        with suppress(ValidationError):
            entries[row.key.removeprefix(_PREFIX)] = _UNDERWAY.validate_json(row.value)
    return entries


def is_underway(connection: Connection, session: str) -> bool:
    """Whether a Conductor is called for a plan of the session, by whichever process."""
    return any(entry.session == session for entry in underway(connection).values())


def ask_to_stop(connection: Connection, session: str) -> None:
    """Request that the process which plans in the session stops, which it does within a second."""
    for planning, entry in underway(connection).items():
        if entry.session == session and not entry.stop_asked:
            value = _UNDERWAY.dump_json(entry.model_copy(update={"stop_asked": True})).decode()
            own = META.c.key == f"{_PREFIX}{planning}"
            connection.execute(META.update().where(own).values(value=value))


def interrupt(connection: Connection, planning: str, entry: Underway, *, now: float) -> None:
    """End it as interrupted, unless it has ended meanwhile; a session with a workflow keeps its state."""
    if not end(connection, planning):
        return
    failure = f"{INTERRUPTED}: the process that asked the Conductor ended before it answered."
    attempt = {name: value for name, value in entry if name not in {"session", "owner", "stop_asked"}}
    lost = Charge(worker=entry.planner, kind=entry.planner_kind, purpose="plan", stopped=True)
    charges = () if entry.planner_kind == "offline" else (lost,)
    own = {"report": None, "failure": failure, "usage": Usage(), "charges": charges}
    answer = cast("Answer", attempt | own)
    state = _unless_planned("interrupted")
    # Where the session was removed for good, there is nothing to attach a plan to.
    with suppress(UnknownId):
        _insert(connection, now, entry.session, answer, state=None if entry.alternative else state)
