"""What sessions have used: planning and all runs, trials included. Functions of a connection.

A run's row has its tokens where every call reported them. For other runs the ends of their steps are read,
inside the database: a list of sessions must not read whole events. Built-in experts and the planning rules
take no tokens, and count as no call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    case,
    cast,
    func,
    literal,
    null,
    select,
    union_all,
)

from conductor.errors import StorageError
from conductor.text.formatting import quantity
from conductor.values.messages import Usage
from conductor.values.output import OFFLINE_LABEL, SIMULATED_LABEL, WorkerKind
from conductor.values.total import Total
from storage.database.encoding import JsonMembers, from_json, read_members
from storage.database.schema import EVENTS, PLANS, RUNS
from storage.database.unreadable_rows import leave_out
from storage.tables.events import MOST_TOKENS
from storage.tables.rows import as_text
from storage.tables.text_pieces import PACKED

_USAGE = TypeAdapter(Usage)
_PLANNED = select(PLANS.c.id, PLANS.c.session, as_text(PLANS.c.usage))

_CALLED = func.coalesce(RUNS.c.pool_label, "") != OFFLINE_LABEL
"""Of a run that may have called a model."""

_ENDS = ("step_finished", "step_failed", "step_cancelled")


_AT_ONCE = 1_000
"""Runs whose events are read by one statement, whose parameters are limited."""


class _Sum(NamedTuple):
    tokens: int = 0
    tokens_unknown: bool = False
    cost: float = 0.0
    cost_unknown: bool = False

    def __add__(self, other: _Sum) -> _Sum:  # type: ignore[override]
        return _Sum(
            self.tokens + other.tokens,
            self.tokens_unknown or other.tokens_unknown,
            self.cost + other.cost,
            self.cost_unknown or other.cost_unknown,
        )

    @property
    def total(self) -> Total:
        return Total.sum_of(**self._asdict())


def totals(connection: Connection, sessions: Sequence[str], *, costs: bool = False) -> Mapping[str, Total]:
    """What each of these sessions has used; one without any call is left out. Dollars only with `costs`."""
    sums: defaultdict[str, _Sum] = defaultdict(_Sum)
    own = PLANS.c.session.in_(sessions)
    for session, amount in _plans(connection, own, PLANS.c.planner_kind != "offline"):
        sums[session] += amount
    of_sessions = RUNS.c.session.in_(sessions)
    for session, _, amount in _runs(connection, of_sessions, costs=costs):
        sums[session] += amount
    return {session: amount.total for session, amount in sums.items()}


def total(connection: Connection, session: str) -> Total:
    """What planning and all runs of the session have used, trials included."""
    return totals(connection, [session], costs=True).get(session, Total())


def run_totals(connection: Connection, session: str) -> Mapping[str, Total]:
    """What each run of the session has used, trials included; runs of workers that compute are left out."""
    runs = _runs(connection, RUNS.c.session == session, costs=True)
    return {run: amount.total for _, run, amount in runs}


def since(connection: Connection, moment: float) -> Total:
    """What all sessions have used since `moment` (Unix seconds): planning, and the runs begun since then.

    What deleted sessions used counts as well, until they are removed. Simulated workers use nothing.
    """
    called = PLANS.c.planner_kind.not_in(("offline", "simulated"))
    amounts = [planned for _, planned in _plans(connection, PLANS.c.created_at >= moment, called)]
    began = RUNS.c.started_at >= moment
    real = func.coalesce(RUNS.c.pool_label, "") != SIMULATED_LABEL
    runs = _runs(connection, began & real, costs=True, without=("offline", "simulated"))
    amounts += [ran for _, _, ran in runs]
    return sum(amounts, _Sum()).total if amounts else Total()


def _plans(connection: Connection, *where: ColumnElement[bool]) -> Iterator[tuple[str, _Sum]]:
    """Session and what the planning took, of each plan for which all of this is true."""
    for row in connection.execute(_PLANNED.where(*where)):
        try:
            usage = from_json(_USAGE, row.usage)
        except StorageError as error:
            leave_out(f"Plan {row.id!r}: {error}")
            usage = Usage()
        tokens, cost = usage.total, usage.cost
        yield row.session, _Sum(tokens or 0, tokens is None, cost or 0.0, cost is None)


def _runs(
    connection: Connection,
    condition: ColumnElement[bool],
    *,
    costs: bool,
    without: Sequence[WorkerKind] = ("offline",),
) -> list[tuple[str, str, _Sum]]:
    """Session, run and what the run took."""
    runs = connection.execute(
        select(RUNS.c.session, RUNS.c.id, RUNS.c.tokens, RUNS.c.status).where(condition, _CALLED)
    ).all()
    read = [run.id for run in runs if costs or run.tokens is None]
    ended: dict[str, _Sum] = {}
    for at in range(0, len(read), _AT_ONCE):
        ended |= _ended(connection, read[at : at + _AT_ONCE], without)
    rows = []
    for run in runs:
        amount = ended.get(run.id, _Sum())
        # What was under way when the process died, or is under way now, is not counted.
        lost = run.status in ("interrupted", "running")
        tokens = _Sum(run.tokens) if run.tokens is not None and not costs else amount
        if not costs:
            tokens = tokens._replace(cost=0.0, cost_unknown=False)
        if lost:
            tokens = tokens._replace(tokens_unknown=True, cost_unknown=True)
        rows.append((run.session, run.id, tokens))
    return rows


def _ended(connection: Connection, runs: Sequence[str], without: Sequence[WorkerKind]) -> Mapping[str, _Sum]:
    """What the calls of these runs took that have ended, by run."""
    if not runs:
        return {}
    of_runs = EVENTS.c.run.in_(runs)

    def sums(events: JsonMembers) -> Sequence[Row[Any]]:
        type, kind = events.text("type"), func.coalesce(events.text("output", "worker_kind"), "")
        # An event that cannot be read may be an end, of unknown tokens.
        lost = type.is_(None) & ~EVENTS.c.event.startswith(PACKED)
        ended = (
            select(
                EVENTS.c.run,
                _tokens(events, "output", "usage").label("tokens"),
                events.number("output", "usage", "cost").label("cost"),
                case((lost, 1)).label("lost"),
            )
            .where(of_runs, lost | (type.in_(_ENDS) & kind.not_in(without)))
            .subquery()
        )
        query = select(
            ended.c.run,
            func.coalesce(func.sum(ended.c.tokens), 0).label("tokens"),
            (func.count() > func.count(ended.c.tokens)).label("tokens_unknown"),
            func.coalesce(func.sum(ended.c.cost), 0.0).label("cost"),
            (func.count() > func.count(ended.c.cost)).label("cost_unknown"),
            func.count(ended.c.lost).label("lost"),
        ).group_by(ended.c.run)
        return connection.execute(query).all()

    amounts = {}
    for row in read_members(connection, EVENTS.c.event, sums, of_runs):
        if row.lost:
            leave_out(f"Run {row.run!r}: {quantity(row.lost, 'event')} cannot be read.")
        amounts[row.run] = _Sum(
            int(row.tokens), bool(row.tokens_unknown), float(row.cost), bool(row.cost_unknown)
        )
    return amounts


def _tokens(json: JsonMembers, *path: str) -> ColumnElement[Any]:
    """Prompt and completion together; NULL where one is unknown, or they cannot be."""
    both = json.number(*path, "prompt_tokens") + json.number(*path, "completion_tokens")
    return case((both <= MOST_TOKENS, both), else_=null())


# -- as a condition --------------------------------------------------------------------------------


def sessions_between(connection: Connection, *, least: int | None, most: int | None) -> Select[str]:
    """The sessions whose known tokens are `least` or more, and at most `most` where no tokens are unknown.

    Read from the rows of runs and plans only: the finished steps of a run that was stopped are not counted.
    """
    called = PLANS.c.planner_kind != literal("offline")

    def plans(usage: JsonMembers) -> Select[Any]:
        planned = select(PLANS.c.session, cast(_tokens(usage), Integer).label("tokens")).where(called)
        if connection.dialect.name != "sqlite":
            # Only for `read_members` to find the plans that cannot be read.
            connection.execute(select(func.sum(planned.subquery().c.tokens)))
        return planned

    used = union_all(
        select(RUNS.c.session, RUNS.c.tokens.label("tokens")).where(_CALLED),
        read_members(connection, PLANS.c.usage, plans, called),
    ).subquery()
    token_sum = func.coalesce(func.sum(used.c.tokens), 0)
    sums = select(used.c.session).group_by(used.c.session)
    if least is not None:
        sums = sums.having(token_sum >= least)
    if most is not None:
        sums = sums.having(token_sum <= most, func.count() == func.count(used.c.tokens))
    return sums
