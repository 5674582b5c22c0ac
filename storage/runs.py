"""Runs as rows, their events, and the outputs that their steps left.

What an event means for other rows (a finished step's output, a finished run's status) is written in
the event's own transaction. The fold of the events stays the truth; these rows are for lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from sqlalchemy import Connection, Text, bindparam, case, exists, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.dml import UpdateBase

from conductor.errors import StorageError
from conductor.events import EVENT, Event, RunFinished, RunStarted, StepCancelled, StepFailed, StepFinished
from conductor.output import Output
from conductor.run_state import RunState, advance
from storage import sessions
from storage.owner import this_process
from storage.records import RunRecord
from storage.revisions import check_belongs, find_revision, next_number
from storage.schema import EVENTS, OUTPUT, OUTPUTS, RUNS, SESSIONS
from storage.statement import Statement
from storage.text import plain, to_json

_RUN = select(*(RUNS.c[name] for name in RunRecord.model_fields))

_SESSION_OF_RUN = select(RUNS.c.session).where(RUNS.c.id == bindparam("run")).scalar_subquery()
_ORDINARY = RUNS.c.experiment.is_(None)
_NEWEST_RUN = (
    select(RUNS.c.id)
    .where(RUNS.c.session == SESSIONS.c.id, _ORDINARY)
    .order_by(RUNS.c.number.desc())
    .limit(1)
).scalar_subquery()
_OF_EXPERIMENT = select(RUNS.c.experiment.is_not(None)).where(RUNS.c.id == bindparam("run")).scalar_subquery()


def _upsert_outputs(dialect: str) -> UpdateBase:
    insert = postgresql.insert(OUTPUTS) if dialect == "postgresql" else sqlite.insert(OUTPUTS)
    values = insert.inline().values(
        session=_SESSION_OF_RUN, fingerprint=bindparam("fingerprint"), output=bindparam("output")
    )
    # A trial adds to what is known; what the session's own runs said stays as it is.
    return values.on_conflict_do_update(
        index_elements=[OUTPUTS.c.session, OUTPUTS.c.fingerprint],
        set_={"output": insert.excluded.output},
        where=~_OF_EXPERIMENT,
    )


def _end_sessions(_dialect: str) -> UpdateBase:
    follows = (bindparam("run") == _NEWEST_RUN) & (SESSIONS.c.state == "running")
    return (
        SESSIONS.update()
        .where(SESSIONS.c.id == _SESSION_OF_RUN)
        .values(
            updated_at=bindparam("now"),
            state=case((follows, bindparam("outcome", type_=Text)), else_=SESSIONS.c.state),
        )
    )


NOTHING = RunState()
"""What is known of a run before its first event."""

_INSERT_EVENTS = Statement(lambda _: EVENTS.insert())
_UPSERT_OUTPUTS = Statement(_upsert_outputs)
_END_RUNS = Statement(
    lambda _: (
        RUNS.update()
        .where(RUNS.c.id == bindparam("run"))
        .values({name: bindparam(name) for name in ("status", "finished_at", "answer")})
    )
)
_END_SESSIONS = Statement(_end_sessions)
_FORGET_TOKENS = Statement(
    lambda _: RUNS.update().where(RUNS.c.id == bindparam("run")).values(tokens=bindparam("tokens"))
)
_ADD_TOKENS = Statement(
    lambda _: (
        RUNS.update().where(RUNS.c.id == bindparam("run")).values(tokens=RUNS.c.tokens + bindparam("used"))
    )
)


def start(
    connection: Connection,
    *,
    run: str,
    session: str,
    revision: str,
    parent: str | None,
    pool_label: str | None,
    round: int,
    experiment: str | None,
    trial: int | None,
    now: float,
) -> RunRecord:
    """See `SessionStore.start_run`."""
    check_belongs(session, revision=find_revision(connection, revision))
    if parent is not None:
        find(connection, parent)
    if connection.scalar(select(exists().where(RUNS.c.id == run))):
        raise StorageError(f"The run {run!r} has been started before; give the new run its own id.")
    if experiment is None:
        sessions.change(connection, session, updated_at=now, state="running")
    else:
        # Also locks the row: two trials that start at once do not get one number.
        sessions.change(connection, session, updated_at=now)
    connection.execute(
        RUNS.insert(),
        {
            "id": run,
            "session": session,
            "number": next_number(connection, RUNS, session),
            "revision": revision,
            "parent": parent,
            "status": "running",
            "started_at": now,
            "owner": this_process(),
            "pool_label": pool_label,
            "round": round,
            "experiment": experiment,
            "trial": trial,
            "tokens": 0,
        },
    )
    return find(connection, run)


def find(connection: Connection, run: str) -> RunRecord:
    """The run of that id. Raises `StorageError` when there is none."""
    row = connection.execute(_RUN.where(RUNS.c.id == run)).mappings().first()
    if row is None:
        raise StorageError(f"There is no run {run!r} in this store; choose one of the session's runs.")
    return sessions.record(RunRecord, row)


def runs_of(connection: Connection, session: str) -> tuple[RunRecord, ...]:
    """The session's runs, newest first; those of experiments left out."""
    sessions.find(connection, session)
    of_session = _RUN.where(RUNS.c.session == session, _ORDINARY)
    rows = connection.execute(of_session.order_by(RUNS.c.number.desc()))
    return tuple(sessions.record(RunRecord, row) for row in rows.mappings())


def latest(connection: Connection, session: str) -> RunRecord | None:
    """The session's newest run that is no experiment's, None before the first."""
    sessions.find(connection, session)
    newest = _RUN.where(RUNS.c.session == session, _ORDINARY).order_by(RUNS.c.number.desc()).limit(1)
    row = connection.execute(newest).mappings().first()
    return None if row is None else sessions.record(RunRecord, row)


def running(connection: Connection, *, session: str | None = None) -> tuple[RunRecord, ...]:
    """Every run that has no end yet, in any session or in one."""
    # The status is written out, so that the partial index over running runs is used.
    literal = bindparam("status", "running", type_=Text, literal_execute=True)
    found = _RUN.where(RUNS.c.status == literal)
    if session is not None:
        found = found.where(RUNS.c.session == session)
    return tuple(sessions.record(RunRecord, row) for row in connection.execute(found).mappings())


def events_of(connection: Connection, run: str, *, after: int) -> tuple[Event, ...]:
    """See `SessionStore.events`."""
    query = select(EVENTS.c.event).where(EVENTS.c.run == run, EVENTS.c.seq > after).order_by(EVENTS.c.seq)
    events = tuple(connection.scalars(query))
    if not events:
        find(connection, run)
    return events


def state_of(events: Iterable[Event], known: RunState = NOTHING) -> RunState:
    """The fold of a run's kept events after those that `known` tells of; where one is missing that the next
    builds on, the run ends there.

    Such a run reads interrupted, with what could be folded and no answer: the answer's step may be missing.
    """
    state = known
    for event in events:
        if state.workflow is None and not isinstance(event, RunStarted):
            return _broken_off(state, event)
        try:
            state = advance(state, event)
        except ValueError:
            return _broken_off(state, event)
    return state


def _broken_off(state: RunState, event: Event) -> RunState:
    end = RunFinished(
        run=event.run, seq=event.seq, at=event.at, outcome="interrupted", answer=None, answer_step=None
    )
    return advance(state, end)


def next_seq(connection: Connection, run: str) -> int:
    """The number of the run's next event, from 0."""
    highest = connection.scalar(select(func.max(EVENTS.c.seq)).where(EVENTS.c.run == run))
    return 0 if highest is None else highest + 1


def kept_from(connection: Connection, run: str, *, seq: int) -> frozenset[int]:
    """The numbers of the run's kept events, from `seq` on."""
    query = select(EVENTS.c.seq).where(EVENTS.c.run == run, EVENTS.c.seq >= seq)
    return frozenset(connection.scalars(query))


def outputs_of(connection: Connection, session: str) -> Mapping[str, Output]:
    """The session's outputs by fingerprint."""
    sessions.find(connection, session)
    query = select(OUTPUTS.c.fingerprint, OUTPUTS.c.output).where(OUTPUTS.c.session == session)
    return MappingProxyType({row.fingerprint: row.output for row in connection.execute(query)})


def keep_events(connection: Connection, events: Sequence[Event], *, now: float) -> None:
    """Insert events and write what they mean for other rows. Raises `StorageError` where one is refused."""
    rows = [{"run": plain(event.run), "seq": event.seq, "event": to_json(EVENT, event)} for event in events]
    try:
        _INSERT_EVENTS.execute(connection, rows)
    except IntegrityError as error:
        # Of several events any may be at fault; the writer then comes back with each one alone.
        raise StorageError(
            f"Event {events[0].seq} of the run {events[0].run!r} was not kept: the run was never started, "
            "or already has an event of that number. Start the run first and number its events from 0."
        ) from error
    _keep_outputs(connection, [event for event in events if isinstance(event, StepFinished)])
    _count_tokens(
        connection,
        [event for event in events if isinstance(event, StepFinished | StepFailed | StepCancelled)],
    )
    _end_runs(connection, [event for event in events if isinstance(event, RunFinished)], now=now)


def _keep_outputs(connection: Connection, events: Sequence[StepFinished]) -> None:
    """Upsert: of two outputs under one fingerprint the later stays."""
    rows = [
        {
            "run": plain(event.run),
            "fingerprint": plain(event.output.fingerprint),
            "output": to_json(OUTPUT, event.output),
        }
        for event in events
    ]
    _UPSERT_OUTPUTS.execute(connection, rows)


def _count_tokens(connection: Connection, ends: Sequence[StepFinished | StepFailed | StepCancelled]) -> None:
    """Add what calls took to their runs' sums; the sum is unknown as soon as one of them is."""
    rows = [
        {
            "run": plain(event.run),
            "used": event.output.usage.total if isinstance(event, StepFinished) else event.usage.total,
        }
        for event in ends
    ]
    _ADD_TOKENS.execute(connection, rows)


def _end_runs(connection: Connection, events: Sequence[RunFinished], *, now: float) -> None:
    """End the runs' rows; a session follows where the run is what it was last doing."""
    ends = [
        {
            "run": plain(event.run),
            "status": event.outcome,
            "finished_at": event.at,
            "answer": None if event.answer is None else plain(event.answer),
        }
        for event in events
    ]
    _END_RUNS.execute(connection, ends)
    # What the calls took that were under way when the process died, nobody knows.
    _FORGET_TOKENS.execute(
        connection,
        [{"run": end["run"], "tokens": None} for end in ends if end["status"] == "interrupted"],
    )
    followed = [{"run": end["run"], "outcome": end["status"], "now": now} for end in ends]
    _END_SESSIONS.execute(connection, followed)
