"""The ledger: one row for each request that has ended, and sums over them by the quarter of an hour.

Functions of a connection inside a transaction. A row stays when its session is removed. The database adds
each row to its sum by a trigger, those of copied sessions apart. Every total is over these rows or sums.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    CTE,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Label,
    Row,
    Select,
    String,
    Table,
    Text,
    bindparam,
    case,
    column,
    exists,
    false,
    func,
    literal,
    literal_column,
    select,
    values,
)

from conductor.runs.events import Event, StepFinished, TextPiece
from conductor.runs.ledger_entry import LedgerEntry, entries_of
from conductor.runs.request import UNKNOWN_ASKER, Asker
from conductor.text.calendar_time import local_time
from conductor.values.budget import Used
from conductor.values.charge import Charge
from conductor.values.messages import NOTHING_USED, Usage
from conductor.values.output import EMBEDDED_LABEL, OFFLINE_LABEL, SIMULATED_LABEL, SMALL_CONDUCTOR
from conductor.values.total import MOST_TOKENS, NOTHING, UNDER_WAY, BoundedSum, Total
from storage.database.compiled_statement import Statement
from storage.database.schema import (
    CHARGES,
    EVALUATION_CELLS,
    RUNNING,
    RUNS,
    SESSION_SUMS,
    SESSIONS,
    USAGE_SUMS,
)
from storage.limits import Spent

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


def add_of_runs(connection: Connection, events: Iterable[Event], *, copied: bool = False) -> None:
    """Add what events of runs have of requests that have ended; `copied`: they were made elsewhere."""
    rows: list[dict[str, Any]] = []
    for event in events:
        if isinstance(event, StepFinished):
            # As `entries_of`, for the most of all.
            if event.charge is not None:
                entry = LedgerEntry(event.charge, event.at, event.step)
                rows.append(_row(entry, run=event.run, copied=copied))
        elif not isinstance(event, TextPiece):
            rows += (_row(entry, run=event.run, copied=copied) for entry in entries_of(event))
    _OF_A_RUN.execute(connection, rows)


def add(
    connection: Connection,
    now: float,
    charges: Iterable[Charge],
    *,
    session: str | None = None,
    plan: str | None = None,
    by: Asker = UNKNOWN_ASKER,
) -> None:
    """Add requests that ended now and belong to no run."""
    place = {"session": session, "plan": plan, "token": by.token, "person": by.person}
    rows = [place | _row(LedgerEntry(charge, now), copied=False) for charge in charges]
    if rows:
        connection.execute(CHARGES.insert(), rows)


def add_copies(
    connection: Connection,
    entries: Iterable[LedgerEntry],
    *,
    session: str,
    plan: str | None = None,
    run: str | None = None,
) -> None:
    """Add requests that were made elsewhere, and that no event of a run has."""
    place = {"session": session, "plan": plan}
    rows = [place | _row(entry, run=run, copied=True) for entry in entries]
    if rows:
        connection.execute(CHARGES.insert(), rows)


def of_plan(connection: Connection, session: str, plan: str) -> tuple[Charge, ...]:
    """What the requests for a plan took, oldest first."""
    rows = connection.execute(
        select(CHARGES).where(CHARGES.c.session == session, CHARGES.c.plan == plan).order_by(CHARGES.c.id)
    )
    return tuple(
        Charge(
            worker=row.worker,
            kind=row.kind,
            purpose=row.purpose,
            usage=Usage(
                prompt_tokens=row.prompt,
                completion_tokens=row.completion,
                cost=row.cost,
                cached_tokens=row.cached,
                least_cost=row.least_cost,
                reported_total=row.reported_total,
                reported_cost=row.reported_cost,
            ),
        )
        for row in rows
    )


def copy_run(connection: Connection, run: str, *, to: str, session: str) -> None:
    """Add what a run took to its copy, the run `to` of `session`."""
    same = [column for column in CHARGES.c if column.name not in {"id", "run", "session", "copied"}]
    copy = select(literal(to), literal(session), literal(1), *same).where(CHARGES.c.run == run)
    names = ["run", "session", "copied", *(column.name for column in same)]
    connection.execute(CHARGES.insert().from_select(names, copy))


def _row(entry: LedgerEntry, *, copied: bool, run: str | None = None) -> dict[str, Any]:
    """The row of an entry; what cannot be is unknown."""
    charge = entry.charge
    # A request that was refused took nothing.
    usage = charge.usage if charge.counts else NOTHING_USED
    return {
        "run": run,
        "at": entry.at,
        "step": entry.step,
        "worker": charge.worker,
        "kind": charge.kind,
        "purpose": charge.purpose,
        "prompt": _number(usage.prompt_tokens),
        "completion": _number(usage.completion_tokens),
        "cached": usage.cached_tokens and _number(usage.cached_tokens),
        "reported_total": usage.reported_total and _number(usage.reported_total),
        "cost": usage.cost,
        "least_cost": usage.least_cost,
        "reported_cost": usage.reported_cost,
        "charged_tokens": _number(charge.charged_tokens) or 0,
        "charged_cost": charge.charged_cost,
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


def _bounds(least: float, most: float, *, unknown: int) -> BoundedSum:
    return BoundedSum(least=least, most=None if unknown else most)


_NO_REQUEST = Total(may_call=True)

MAY_CALL = func.coalesce(RUNS.c.pool_label, "") != OFFLINE_LABEL
"""Of a run that may have called a model."""


def totals(connection: Connection, sessions: Sequence[str] | Select[str]) -> Mapping[str, Total]:
    """What each of these sessions has used, trials included; one that could make no request is left out."""
    rows = connection.execute(select(SESSION_SUMS).where(SESSION_SUMS.c.session.in_(sessions)))
    return _with_runs(connection, {row.session: _total(row) for row in rows}, RUNS.c.session, sessions)


def _with_runs(
    connection: Connection, used: dict[str, Total], key: Column[str], names: Sequence[str] | Select[str]
) -> Mapping[str, Total]:
    """What was used by session or run, with that of runs which needed no request, or have some under way."""
    runs = select(key, RUNS.c.status).distinct().where(key.in_(names), MAY_CALL)
    for name, status in connection.execute(runs).all():
        used[name] = used.get(name, NOTHING) + (UNDER_WAY if status == "running" else _NO_REQUEST)
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
    """What each run of the session has used, trials included; one that could make no request is left out."""
    of_runs = (CHARGES.c.session == session) & CHARGES.c.run.is_not(None)
    used = {row.run: _total(row) for row in connection.execute(_sums(CHARGES.c.run).where(of_runs))}
    runs = connection.scalars(select(RUNS.c.id).where(RUNS.c.session == session)).all()
    return _with_runs(connection, used, RUNS.c.id, runs)


UsageKey = Literal["worker", "person", "token", "session", "day"]

Reality = Literal["real", "embedded", "simulated", "earlier"]
"""`embedded` requests went to a model of this machine and cost nothing; `simulated` requests used
nothing; what is `earlier` a token spent before there was a ledger, which has the same requests without their
token."""

_NOT_REAL: Mapping[str, Reality] = {"embedded": "embedded", "simulated": "simulated", "": "earlier"}
"""By the kind of a worker."""


def since(connection: Connection, moment: float, reality: Reality = "real") -> Total:
    """What the requests of this reality have used that ended since `moment` (Unix seconds). What sessions
    used that were removed counts as well.
    """
    first = _quarter(moment) + (moment % QUARTER > 0)
    sums = (USAGE_SUMS.c.quarter >= first, _reality(USAGE_SUMS) == reality)
    used = _total(connection.execute(_over_sums().where(*sums)).one())
    if moment % QUARTER > 0:
        own = (CHARGES.c.at >= moment, CHARGES.c.at < first * QUARTER, CHARGES.c.copied == 0)
        rest = _sums().where(*own, _reality(CHARGES) == reality)
        used += _total(connection.execute(rest).one())
    if connection.scalar(select(exists().where(RUNNING, MAY_CALL, _pool_is(reality)))):
        used += UNDER_WAY
    return used


def _pool_is(reality: Reality) -> ColumnElement[bool]:
    """Whether the run's pool calls models of this reality; one of several kinds is real."""
    label = func.coalesce(RUNS.c.pool_label, "")
    embedded = (label == EMBEDDED_LABEL) | label.endswith(SMALL_CONDUCTOR)
    simulated = label == SIMULATED_LABEL
    unpaid = {"embedded": embedded, "simulated": simulated, "real": ~(embedded | simulated)}
    return unpaid.get(reality, false())


class Use(NamedTuple):
    """What requests took that have these `names` in common, in the order of the keys that were asked for: a
    worker, a person, the id of a token or a session, a day as 2026-11-01. None is unknown, or none at all.
    """

    names: tuple[str | None, ...]
    reality: Reality
    total: Total


def used(connection: Connection, *by: UsageKey, since: float = 0.0) -> tuple[Use, ...]:
    """What the requests have used that ended since the quarter of an hour in which `since` (Unix seconds)
    lies, by these keys; "session" goes with no "day". Copies are left out. Days are this machine's; a request
    counts for the day in which its quarter begins.
    """
    first = _quarter(since)
    if "session" in by:
        query = _sums(*(CHARGES.c[key] for key in by), _reality(CHARGES))
        query = query.where(CHARGES.c.copied == 0, CHARGES.c.at >= first * QUARTER)
    else:
        days = _days(connection, first) if "day" in by else None
        columns = [days.c.day if days is not None and key == "day" else USAGE_SUMS.c[key] for key in by]
        query = _over_sums(*columns, _reality(USAGE_SUMS)).where(USAGE_SUMS.c.quarter >= first)
        if days is not None:
            query = query.where(USAGE_SUMS.c.quarter.between(days.c.begin, days.c.end))
        if "token" not in by:
            query = query.where(_reality(USAGE_SUMS) != "earlier")
    return tuple(
        Use(tuple(name or None for name in row[: len(by)]), row.reality, _total(row))
        for row in connection.execute(query)
    )


def titles(connection: Connection, *, since: float) -> Mapping[str, str]:
    """The titles of the sessions in `used`, by id, without those that are removed or not stored."""
    own = exists().where(CHARGES.c.session == SESSIONS.c.id, CHARGES.c.at >= _quarter(since) * QUARTER)
    stored = select(SESSIONS.c.id, SESSIONS.c.title).where(own, SESSIONS.c.expires_at.is_(None))
    return {row.id: row.title for row in connection.execute(stored)}


def _reality(table: Table) -> Label[str]:
    """What a row of charges or of sums is; written out, since PostgreSQL groups by no parameter."""
    kinds = ((table.c.kind == literal_column(f"'{kind}'"), name) for kind, name in _NOT_REAL.items())
    names = ((is_it, literal_column(f"'{name}'", String)) for is_it, name in kinds)
    return case(*names, else_=literal_column("'real'", String)).label("reality")


def _days(connection: Connection, first: int) -> CTE:
    """The days of this machine that have sums since the quarter `first`, with their own quarters."""
    quarters = select(USAGE_SUMS.c.quarter).where(USAGE_SUMS.c.quarter >= first).distinct()
    by_day: defaultdict[str, list[int]] = defaultdict(list)
    for quarter in connection.scalars(quarters):
        by_day[f"{local_time(quarter * QUARTER):%Y-%m-%d}"].append(quarter)
    rows = [(day, min(own), max(own)) for day, own in by_day.items()] or [("", 0, -1)]
    names = column("day", String), column("begin", Integer), column("end", Integer)
    # A day in the text of the query: as parameters, all days would be more than SQLite takes.
    return values(*names, name="days", literal_binds=True).data(rows).cte("days")


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
        func.count(row.prompt + row.completion).label("reported"),
    )
    used = connection.execute(sums.where(which)).one()
    return (
        Used(tokens=int(used.tokens), cost=float(used.cost), calls=used.calls),
        used.reported < used.calls,
    )


def spent(connection: Connection, *, begin: float, **by: str) -> Spent:
    """What requests with this `token`, or of this `person`, took since `begin` (Unix seconds, the beginning
    of a day), by estimate what no endpoint reports.
    """
    own = (USAGE_SUMS.c[key] == name for key, name in by.items())
    query = _over_sums().where(*own, USAGE_SUMS.c.quarter >= _quarter(begin))
    return _spent(connection.execute(query).one())


def spent_by_person(connection: Connection, *, begin: float) -> Mapping[str, Spent]:
    """The same for each person by name."""
    query = _over_sums(USAGE_SUMS.c.person).where(
        USAGE_SUMS.c.person != "", USAGE_SUMS.c.quarter >= _quarter(begin)
    )
    return {row.person: _spent(row) for row in connection.execute(query)}


def _spent(row: Row[Any]) -> Spent:
    return Spent(
        tokens=int(row.charged_tokens),
        cost=float(row.charged_cost),
        unknown_tokens=int(row.tokens_unknown),
        unknown_costs=int(row.costs_unknown),
    )
