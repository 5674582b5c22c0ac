"""Version 19: a ledger of requests. What is stored of plans and steps becomes one entry each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

from storage.migrations import execute_script

revision = "19"
down_revision = "18"

_MOST = 1_000_000_000
_ENDS = ("step_finished", "step_failed", "step_cancelled")


def upgrade() -> None:
    """Add the ledger, fill it, and remove the sums that it replaces."""
    connection = op.get_bind()
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "charges",
        sa.Column("id", number, sa.Identity(), primary_key=True),
        sa.Column("at", sa.Double(), nullable=False),
        *(sa.Column(name, sa.Text()) for name in ("session", "run", "plan", "token", "person")),
        sa.Column("step", sa.Integer()),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("worker", "kind", "purpose")),
        *(sa.Column(name, sa.BigInteger()) for name in ("prompt", "completion", "cached", "reported_total")),
        *(sa.Column(name, sa.Double()) for name in ("cost", "least_cost", "reported_cost")),
        sa.Column("charged_tokens", sa.BigInteger(), nullable=False),
        sa.Column("charged_cost", sa.Double(), nullable=False),
        sa.Column("copied", sa.Integer(), nullable=False),
    )
    summed = ("calls", "prompt", "completion", "tokens_unknown", "costs_unknown", "charged_tokens")
    op.create_table(
        "usage_sums",
        sa.Column("quarter", sa.BigInteger(), primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.Text(), primary_key=True) for name in ("worker", "kind", "token", "person")),
        # Which the script below fills; stores that had version 19 before get it from version 22.
        sa.Column("part", sa.Integer(), primary_key=True, autoincrement=False, server_default=sa.text("0")),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in summed),
        *(sa.Column(name, sa.Double(), nullable=False) for name in ("cost", "least_cost", "charged_cost")),
        sqlite_with_rowid=False,
    )
    op.create_index("charges_by_session", "charges", ["session", "run"])
    op.create_index("charges_by_time", "charges", ["at"])
    op.create_index("usage_sums_by_token", "usage_sums", ["token", "quarter"])
    execute_script(connection, f"ledger_{connection.dialect.name}")
    for rows in (_plans(connection), _steps(connection), _verdicts(connection)):
        for row in rows:
            connection.execute(_INSERT, row)
    _spending(connection)
    op.drop_index("runs_by_session", "runs")
    op.drop_column("runs", "tokens")
    op.create_index("runs_by_session", "runs", ["session", "experiment"])
    op.add_column("runs", sa.Column("token", sa.Text()))
    op.add_column("runs", sa.Column("person", sa.Text()))
    for name in ("tokens", "cost", "unknown_tokens", "unknown_costs"):
        op.drop_column("api_spending", name)


_INSERT = sa.text(
    "INSERT INTO charges (at, session, run, plan, step, worker, kind, purpose, prompt, completion, cached,"
    " cost, charged_tokens, charged_cost, copied) VALUES (:at, :session, :run, :plan, :step, :worker, :kind,"
    " 'earlier', :prompt, :completion, :cached, :cost, :charged_tokens, :charged_cost, :copied)"
)
_SPENT = (
    "INSERT INTO usage_sums (quarter, worker, kind, token, person, calls, prompt, completion, tokens_unknown,"
    " cost, least_cost, costs_unknown, charged_tokens, charged_cost) SELECT {quarter}, '', '', token, '',"
    " requests, tokens, 0, unknown_tokens, cost, cost, unknown_costs, tokens, cost FROM api_spending"
)
_QUARTERS = {
    "sqlite": "CAST(strftime('%s', day) AS INTEGER) / 900",
    "postgresql": "(EXTRACT(EPOCH FROM day::DATE) / 900)::BIGINT",
}


def _plans(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    """The requests for each plan of a Conductor; those of an imported session were made elsewhere."""
    query = sa.text(
        "SELECT plans.*, sessions.origin FROM plans JOIN sessions ON sessions.id = plans.session"
        " WHERE planner_kind <> 'offline'"
    )
    for row in connection.execute(query).all():
        yield {
            "at": row.created_at,
            "session": row.session,
            "run": None,
            "plan": row.id,
            "step": None,
            "worker": row.planner,
            "kind": row.planner_kind,
            "copied": int(row.origin == "import"),
            **_used(_object(row.usage)),
        }


def _steps(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    """The requests of each step that has ended, and what was under way in an interrupted run."""
    runs = sa.text(
        "SELECT runs.id, runs.session, runs.owner, runs.status, runs.started_at, runs.finished_at,"
        " sessions.created_at FROM runs JOIN sessions ON sessions.id = runs.session"
        " WHERE COALESCE(runs.pool_label, '') <> 'offline, no model is called'"
    )
    events = sa.text("SELECT event FROM events WHERE run = :run ORDER BY seq")
    for run in connection.execute(runs).all():
        copied = run.owner == "imported" or run.started_at < run.created_at
        place = {"session": run.session, "run": run.id, "plan": None, "copied": int(copied)}
        under_way: dict[int, Mapping[str, Any]] = {}
        for text in connection.scalars(events, {"run": run.id}).all():
            event = _object(text)
            if event.get("type") == "step_started":
                under_way[event["step"]] = event
            if event.get("type") not in _ENDS:
                continue
            begin = under_way.pop(event["step"], {})
            output = event.get("output") or {}
            worker = output.get("worker") or begin.get("worker") or "unknown"
            kind = output.get("worker_kind") or begin.get("worker_kind") or "model"
            if kind != "offline":
                used = _used(_mapping(output.get("usage") if output else event.get("usage")))
                yield {
                    **place,
                    "at": event["at"],
                    "step": event["step"],
                    "worker": worker,
                    "kind": kind,
                    **used,
                }
        for step, begin in under_way.items() if run.status == "interrupted" else ():
            if begin.get("worker_kind") != "offline":
                worker, kind = begin.get("worker", "unknown"), begin.get("worker_kind", "model")
                at = run.finished_at or run.started_at
                yield {**place, "at": at, "step": step, "worker": worker, "kind": kind, **_used({})}


def _verdicts(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    """The requests to the judges of evaluations, which the cells' results have; no time is stored of them."""
    query = sa.text(
        "SELECT answered_in, result, spec, created_at FROM evaluation_cells"
        " JOIN evaluations ON evaluations.id = evaluation_cells.evaluation WHERE result IS NOT NULL"
    )
    for row in connection.execute(query).all():
        judge = _mapping(_object(row.spec).get("judge")).get("worker", "unknown")
        for usage in _object(row.result).get("judging") or ():
            yield {
                "at": row.created_at,
                "session": row.answered_in,
                "run": None,
                "plan": None,
                "step": None,
                "worker": judge,
                "kind": "model",
                "copied": 0,
                **_used(_mapping(usage)),
            }


def _spending(connection: sa.Connection) -> None:
    """What tokens spent, as sums without a worker: it is not known which runs were whose."""
    connection.execute(sa.text(_SPENT.format(quarter=_QUARTERS[connection.dialect.name])))


def _used(usage: Mapping[str, Any]) -> dict[str, Any]:
    prompt, completion = _tokens(usage.get("prompt_tokens")), _tokens(usage.get("completion_tokens"))
    cost = usage.get("cost")
    cost = cost if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    return {
        "prompt": prompt,
        "completion": completion,
        "cached": _tokens(usage.get("cached_tokens")),
        "cost": cost,
        "charged_tokens": (prompt or 0) + (completion or 0),
        "charged_cost": cost or 0.0,
    }


def _tokens(number: object) -> int | None:
    is_count = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MOST
    return number if is_count and isinstance(number, int) else None


def _object(text: str) -> Mapping[str, Any]:
    """The object that JSON holds; an empty one where it cannot be read."""
    try:
        return _mapping(json.loads(text, strict=False))
    except ValueError:
        return {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
