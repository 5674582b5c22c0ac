"""Writes the events of runs, and in the same transaction the other rows that follow from them.

The fold of the events is authoritative; the other rows (a run's end, its steps' outputs) are for lists. Knows
how to write events, not how they are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    Connection,
    Integer,
    Text,
    bindparam,
    case,
    exists,
    select,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.dml import UpdateBase

from conductor.errors import StorageError
from conductor.runs.events import Event, RunFinished, StepFinished
from storage.database.compiled_statement import Statement, insert_into
from storage.database.schema import EVENTS, OUTPUTS, RUNNING, RUNS, SESSIONS
from storage.fragments import Fragments
from storage.session_entries import SessionState
from storage.tables import ledger

_RUN = bindparam("run", type_=Text)
_SESSION_OF_RUN = select(RUNS.c.session).where(RUNS.c.id == _RUN).scalar_subquery()
_NEWEST_RUN = (
    select(RUNS.c.id)
    .where(RUNS.c.session == SESSIONS.c.id, RUNS.c.experiment.is_(None))
    .order_by(RUNS.c.number.desc())
    .limit(1)
).scalar_subquery()


def _upsert_outputs(dialect: str) -> UpdateBase:
    insert = insert_into(OUTPUTS, dialect)
    own = ("fingerprint", "step", "output", "finished_at")
    values = {name: bindparam(name, type_=OUTPUTS.c[name].type) for name in own}
    return (
        insert.inline()
        .values(session=_SESSION_OF_RUN, run=_RUN, **values)
        .on_conflict_do_update(
            index_elements=list(OUTPUTS.primary_key),
            set_={name: insert.excluded[name] for name in ("output", "finished_at")},
        )
    )


_EVENT = select(_RUN, bindparam("seq", type_=Integer), bindparam("event", type_=Text))
_INSERT_EVENTS = Statement(
    lambda _: (
        EVENTS.insert()
        .inline()
        .from_select(["run", "seq", "event"], _EVENT.where(exists().where(RUNS.c.id == _RUN, RUNNING)))
    )
)
_UPSERT_OUTPUTS = Statement(_upsert_outputs)

_END: dict[str, Any] = {name: bindparam(name) for name in ("status", "finished_at", "answer")}
_END_RUNS = Statement(lambda _: RUNS.update().where(RUNS.c.id == _RUN).values(**_END))

_FOLLOWS = (_RUN == _NEWEST_RUN) & (SESSIONS.c.state == "running")
_STATE = case((_FOLLOWS, bindparam("outcome", type_=Text)), else_=SESSIONS.c.state)
_END_SESSIONS = Statement(
    lambda _: (
        SESSIONS.update()
        .where(SESSIONS.c.id == _SESSION_OF_RUN)
        .values(updated_at=bindparam("now"), state=_STATE)
    )
)


def keep(connection: Connection, events: Sequence[Event], *, now: float) -> None:
    """Insert events of runs without an end, and write the rows that follow from them. Raises `StorageError`
    where one is refused: then the transaction must be rolled back.
    """
    shared: defaultdict[str, Fragments] = defaultdict(Fragments)
    rows: list[Mapping[str, Any]] = []
    outputs: list[Mapping[str, Any]] = []
    for event in events:
        run = event.run
        if isinstance(event, StepFinished):
            stored, output = shared[run].finished(event)
            outputs.append(
                {
                    "run": run,
                    "step": event.step,
                    "fingerprint": event.output.fingerprint,
                    "output": output,
                    "finished_at": event.at,
                }
            )
        else:
            stored = shared[run].event(event)
        rows.append({"run": run, "seq": event.seq, "event": stored})
    try:
        inserted = _INSERT_EVENTS.execute(connection, rows)
    except IntegrityError as error:
        raise _unknown(events[0]) from error
    if inserted != len(rows):
        raise _refusal(connection, events)
    # Of two outputs of one call the later stays.
    _UPSERT_OUTPUTS.execute(connection, outputs)
    Fragments.keep_for_runs(connection, shared)
    ledger.add_of_runs(connection, events)
    _end(connection, [event for event in events if isinstance(event, RunFinished)], now=now)


def _unknown(event: Event) -> StorageError:
    """Of several events any may be at fault; the writer then writes each one alone."""
    return StorageError(
        f"Event {event.seq} of the run {event.run!r} was not kept: the run was never started, "
        "or already has an event of that number. Start the run first and number its events from 0."
    )


def _refusal(connection: Connection, events: Sequence[Event]) -> StorageError:
    """The error for events that were not all inserted.

    A process whose lock was free for too long, as when its machine slept, finds its runs ended by others:
    its further events come too late.
    """
    named = {event.run for event in events}
    statuses = {
        row.id: row.status
        for row in connection.execute(select(RUNS.c.id, RUNS.c.status).where(RUNS.c.id.in_(named)))
    }
    event = next(event for event in events if statuses.get(event.run) != "running")
    status = statuses.get(event.run)
    if status is None:
        return _unknown(event)
    return StorageError(
        f"Event {event.seq} of the run {event.run!r} was not kept: the run is over ({status}), "
        "because another process ended it after this one had not responded for too long. What was finished "
        "until then is kept; run the workflow again, which continues from there."
    )


def _end(connection: Connection, events: Sequence[RunFinished], *, now: float) -> None:
    """End the runs' rows; also change the state of each session whose newest activity is the run."""
    ends: list[Mapping[str, Any]] = []
    followed: list[Mapping[str, Any]] = []
    for event in events:
        run = event.run
        ends.append(
            {
                "run": run,
                "status": event.outcome,
                "finished_at": event.at,
                "answer": event.answer,
            }
        )
        declined = event.outcome == "finished" and not event.answered
        state: SessionState = "unanswered" if declined else event.outcome
        followed.append({"run": run, "outcome": state, "now": now})
    _END_RUNS.execute(connection, ends)
    _END_SESSIONS.execute(connection, followed)
