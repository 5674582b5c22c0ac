"""The ledger: one row for each request that has ended, and sums over them by the quarter of an hour.

Functions of a connection inside a transaction. A row stays when its session is removed. The database adds
each row to its sum by a trigger, those of copied sessions apart. Every total is over these rows or sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    bindparam,
    exists,
    func,
    literal,
    select,
)

from conductor.runs.events import (
    AnswerKept,
    Event,
    PlanningFailed,
    PlanningRetried,
    PlanRejected,
    RunFinished,
    StepCancelled,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepInner,
    StepRetried,
    WorkflowPlanned,
)
from conductor.runs.request import NOBODY, Asker
from conductor.values.budget import Used
from conductor.values.charge import Charge
from conductor.values.output import OFFLINE_LABEL, SIMULATED_LABEL
from conductor.values.total import MOST_TOKENS, Sum, Total
from storage.api_token import Spent
from storage.database.compiled_statement import Statement
from storage.database.schema import CHARGES, EVALUATION_CELLS, RUNNING, RUNS, USAGE_SUMS

QUARTER = 900
"""Seconds over which sums are made: every time zone differs from the others by whole quarters of an hour."""

_RUN = bindparam("run", type_=Text)
_OWN = (
    *("at", "step", "worker", "kind", "purpose", "prompt", "completion", "cached", "reported_total"),
    *("cost", "least_cost", "reported_cost", "charged_tokens", "charged_cost", "copied"),
)
_OF_A_RUN = Statement(
    lambda _: (
        CHARGES.insert()
        .inline()
        .from_select(
            ["run", "session", "token", "person", *_OWN],
            select(
                _RUN,
                RUNS.c.session,
                RUNS.c.token,
                RUNS.c.person,
                *(bindparam(name, type_=CHARGES.c[name].type) for name in _OWN),
            ).where(RUNS.c.id == _RUN),
        )
    )
)


class Entry(NamedTuple):
    """A charge, when its request ended in Unix seconds, and its step; None if it is of no step."""

    charge: Charge
    at: float
    step: int | None = None


def entries_of(event: Event) -> Iterable[Entry]:
    """What an event of a run has of requests that have ended; one inside a step is that step's."""
    match event:
        case StepRetried() | StepFellBack() | StepFinished() | StepFailed() | StepCancelled():
            if event.charge is not None:
                yield Entry(event.charge, event.at, event.step)
        case StepInner():
            for entry in entries_of(event.event):
                nested = entry.charge.model_copy(update={"purpose": "nested"})
                yield Entry(nested, entry.at, event.step)
        case RunFinished():
            for step, charge in event.charges.items():
                yield Entry(charge, event.at, step)
        case PlanningRetried() | WorkflowPlanned() | AnswerKept() | PlanRejected() | PlanningFailed():
            if event.charge is not None:
                yield Entry(event.charge, event.at)


def add_of_runs(connection: Connection, events: Iterable[Event], *, copied: bool = False) -> None:
    """Add what events of runs have of requests that have ended; `copied`: they were made elsewhere."""
    rows = [
        {"run": event.run, **_row(entry, copied=copied)} for event in events for entry in entries_of(event)
    ]
    _OF_A_RUN.execute(connection, rows)


def add(
    connection: Connection,
    now: float,
    charges: Iterable[Charge],
    *,
    session: str | None = None,
    plan: str | None = None,
    by: Asker = NOBODY,
) -> None:
    """Add requests that ended now and belong to no run."""
    place = {"session": session, "plan": plan, "run": None, "token": by.token, "person": by.person}
    rows = [place | _row(Entry(charge, now), copied=False) for charge in charges]
    if rows:
        connection.execute(CHARGES.insert(), rows)


def add_copies(
    connection: Connection,
    entries: Iterable[Entry],
    *,
    session: str,
    plan: str | None = None,
    run: str | None = None,
) -> None:
    """Add requests that were made elsewhere, and that no event of a run has."""
    place = {"session": session, "plan": plan, "run": run}
    rows = [place | _row(entry, copied=True) for entry in entries]
    if rows:
        connection.execute(CHARGES.insert(), rows)


def copy_run(connection: Connection, run: str, *, to: str, session: str) -> None:
    """Add what a run took to its copy, the run `to` of `session`."""
    same = [column for column in CHARGES.c if column.name not in {"id", "run", "session", "copied"}]
    copy = select(literal(to), literal(session), literal(1), *same).where(CHARGES.c.run == run)
    names = ["run", "session", "copied", *(column.name for column in same)]
    connection.execute(CHARGES.insert().from_select(names, copy))


def _row(entry: Entry, *, copied: bool) -> dict[str, Any]:
    """The row of an entry; what cannot be is unknown."""
    charge = entry.charge
    usage, charged = charge.usage, charge.charged
    if not charge.counts:
        # A request that was refused took nothing.
        usage = charged
    return {
        "at": entry.at,
        "step": entry.step,
        "worker": charge.worker,
        "kind": charge.kind,
        "purpose": charge.purpose,
        "prompt": _number(usage.prompt_tokens),
        "completion": _number(usage.completion_tokens),
        "cached": _number(usage.cached_tokens),
        "reported_total": _number(usage.reported_total),
        "cost": usage.cost,
        "least_cost": usage.least_cost,
        "reported_cost": usage.reported_cost,
        "charged_tokens": _number(charged.total) or 0,
        "charged_cost": charged.cost or 0.0,
        "copied": int(copied),
    }


def _number(tokens: int | None) -> int | None:
    return None if tokens is None or tokens > MOST_TOKENS else tokens


# -- totals ----------------------------------------------------------------------------------------


def _sums(*keys: ColumnElement[Any]) -> Select[Any]:
    """The sums over charges by these columns."""
    row = CHARGES.c
    return select(
        *keys,
        func.count().label("calls"),
        func.coalesce(func.sum(row.prompt), 0).label("prompt"),
        func.coalesce(func.sum(row.completion), 0).label("completion"),
        (func.count() - func.count(row.prompt + row.completion)).label("tokens_unknown"),
        func.coalesce(func.sum(row.cost), 0.0).label("cost"),
        func.coalesce(func.sum(func.coalesce(row.least_cost, row.cost)), 0.0).label("least_cost"),
        (func.count() - func.count(row.cost)).label("costs_unknown"),
    ).group_by(*keys)


def _total(row: Row[Any]) -> Total:
    """The total of a row of sums; PostgreSQL's sums of whole numbers are decimal ones."""
    return Total(
        prompt=_bounds(int(row.prompt), int(row.prompt), unknown=row.tokens_unknown),
        completion=_bounds(int(row.completion), int(row.completion), unknown=row.tokens_unknown),
        dollars=_bounds(float(row.least_cost), float(row.cost), unknown=row.costs_unknown),
        calls=int(row.calls),
    )


def _bounds(least: float, most: float, *, unknown: int) -> Sum:
    return Sum(least=least, most=None if unknown else most)


_UNDER_WAY = Total(prompt=Sum(most=None), completion=Sum(most=None), dollars=Sum(most=None))
"""What a run took whose requests under way have no charge yet."""

_MAY_CALL = RUNNING & (func.coalesce(RUNS.c.pool_label, "") != OFFLINE_LABEL)
_CALLS_MODELS = _MAY_CALL & (func.coalesce(RUNS.c.pool_label, "") != SIMULATED_LABEL)


def totals(connection: Connection, sessions: Sequence[str] | Select[str]) -> Mapping[str, Total]:
    """What each of these sessions has used, trials included; one without any request is left out."""
    rows = connection.execute(_sums(CHARGES.c.session).where(CHARGES.c.session.in_(sessions)))
    used = {row.session: _total(row) for row in rows}
    under_way = select(RUNS.c.session).where(_MAY_CALL, RUNS.c.session.in_(sessions))
    for session in connection.scalars(under_way).all():
        used[session] = used.get(session, Total()) + _UNDER_WAY
    return used


def total(connection: Connection, session: str) -> Total:
    """What the session has used, trials included."""
    return totals(connection, [session]).get(session, Total())


def totals_of_evaluation(connection: Connection, evaluation: str) -> Mapping[str, Total]:
    """What each session of an evaluation has used, as `totals`."""
    return totals(connection, _sessions_of(evaluation))


def _sessions_of(evaluation: str) -> Select[str]:
    return select(EVALUATION_CELLS.c.answered_in).where(EVALUATION_CELLS.c.evaluation == evaluation)


def total_by(connection: Connection, session: str, by: Asker, *, since: float) -> Total:
    """What the session's requests for `by` took that ended since then (Unix seconds), trials apart."""
    row = CHARGES.c
    trial = exists().where(RUNS.c.id == row.run, RUNS.c.experiment.is_not(None))
    own = (row.session == session, row.at >= since, row.token.is_not_distinct_from(by.token), ~trial)
    return _total(connection.execute(_sums().where(*own)).one())


def run_totals(connection: Connection, session: str) -> Mapping[str, Total]:
    """What each run of the session has used, trials included; a run without any request is left out."""
    of_runs = (CHARGES.c.session == session) & CHARGES.c.run.is_not(None)
    used = {row.run: _total(row) for row in connection.execute(_sums(CHARGES.c.run).where(of_runs))}
    under_way = select(RUNS.c.id).where(_MAY_CALL, RUNS.c.session == session)
    for run in connection.scalars(under_way).all():
        used[run] = used.get(run, Total()) + _UNDER_WAY
    return used


def since(connection: Connection, moment: float) -> Total:
    """What the requests have used that ended since the quarter of an hour in which `moment` (Unix seconds)
    lies, those of simulated workers apart. What sessions used that were removed counts as well.
    """
    # What a token spent before there was a ledger has no worker: the runs of then are in the ledger, too.
    called = USAGE_SUMS.c.kind.not_in(("simulated", ""))
    row = connection.execute(_over_sums().where(USAGE_SUMS.c.quarter >= _quarter(moment), called)).one()
    used = _total(row)
    if connection.scalar(select(exists().where(_CALLS_MODELS))):
        used += _UNDER_WAY
    return used


def _quarter(moment: float) -> int:
    return int(moment // QUARTER)


def _over_sums(*keys: ColumnElement[Any]) -> Select[Any]:
    """The sums over the quarters by these columns."""
    names = (
        *("calls", "prompt", "completion", "tokens_unknown", "cost", "least_cost", "costs_unknown"),
        *("charged_tokens", "charged_cost"),
    )
    sums = (func.coalesce(func.sum(USAGE_SUMS.c[name]), 0).label(name) for name in names)
    return select(*keys, *sums).group_by(*keys)


def charged_for_plans(connection: Connection, plans: Sequence[str]) -> tuple[Used, bool]:
    """What a budget is charged for the requests of these plans, and whether a part of it is an estimate."""
    return _charged(connection, CHARGES.c.plan.in_(plans))


def charged_for_evaluation(connection: Connection, evaluation: str) -> tuple[Used, bool]:
    """The same for all requests of an evaluation's sessions, the judge's included."""
    return _charged(connection, CHARGES.c.session.in_(_sessions_of(evaluation)))


def _charged(connection: Connection, which: ColumnElement[bool]) -> tuple[Used, bool]:
    row = CHARGES.c
    sums = select(
        func.count().label("calls"),
        func.coalesce(func.sum(row.charged_tokens), 0).label("tokens"),
        func.coalesce(func.sum(row.charged_cost), 0.0).label("cost"),
        func.count(row.prompt + row.completion).label("known"),
    )
    used = connection.execute(sums.where(which)).one()
    return (
        Used(tokens=int(used.tokens), cost=float(used.cost), calls=used.calls),
        used.known < used.calls,
    )


def spent(connection: Connection, token: str, *, begin: float) -> Spent:
    """What requests with this token took since `begin` (Unix seconds, the beginning of a day), by estimate
    what no endpoint reports.
    """
    own = (USAGE_SUMS.c.token == token, USAGE_SUMS.c.quarter >= _quarter(begin))
    row = connection.execute(_over_sums().where(*own)).one()
    return Spent(
        tokens=int(row.charged_tokens),
        cost=float(row.charged_cost),
        unknown_tokens=int(row.tokens_unknown),
        unknown_costs=int(row.costs_unknown),
    )


# -- as a condition --------------------------------------------------------------------------------


def sessions_between(*, least: int | None, most: int | None) -> Select[str]:
    """The sessions whose known tokens are `least` or more, and at most `most` if no tokens are unknown."""
    row = CHARGES.c
    known = func.sum(func.coalesce(row.prompt, 0) + func.coalesce(row.completion, 0))
    sums = select(row.session).where(row.session.is_not(None)).group_by(row.session)
    if least is not None:
        sums = sums.having(known >= least)
    if most is not None:
        all_known = func.count() == func.count(row.prompt + row.completion)
        sums = sums.having(known <= most, all_known)
    return sums
