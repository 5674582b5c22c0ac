"""Runs as rows, their events as they are read, and the outputs that their steps left.

How events are kept is `journal`'s matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from sqlalchemy import Connection, exists, func, select

from conductor.errors import StorageError
from conductor.events import Event, RunFinished, RunStarted
from conductor.output import Output
from conductor.run_state import RunState, advance
from storage import sessions
from storage.owner import this_process
from storage.records import RunRecord
from storage.revisions import check_belongs, find_revision, next_number
from storage.schema import EVENTS, OUTPUTS, RUNNING, RUNS

_RUN = select(*(RUNS.c[name] for name in RunRecord.model_fields))

_ORDINARY = RUNS.c.experiment.is_(None)

NOTHING = RunState()
"""What is known of a run before its first event."""


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
            "stop_asked_at": None if experiment is None else _stop_asked_at(connection, experiment),
        },
    )
    return find(connection, run)


def _stop_asked_at(connection: Connection, experiment: str) -> float | None:
    """Whoever asked an experiment to stop while a trial of it was about to begin meant that one, too."""
    asked = select(func.max(RUNS.c.stop_asked_at)).where(RUNS.c.experiment == experiment)
    at: float | None = connection.scalar(asked)
    return at


def find(connection: Connection, run: str) -> RunRecord:
    """The run of that id. Raises `StorageError` when there is none."""
    row = connection.execute(_RUN.where(RUNS.c.id == run)).mappings().first()
    if row is None:
        raise StorageError(f"There is no run {run!r} in this store; choose one of the session's runs.")
    return sessions.record(RunRecord, row)


def named(connection: Connection, prefix: str) -> tuple[str, ...]:
    """See `SessionStore.runs_named`."""
    begins = RUNS.c.id.startswith(prefix, autoescape=True)
    return tuple(connection.scalars(select(RUNS.c.id).where(begins).order_by(RUNS.c.id)))


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
    found = _RUN.where(RUNNING)
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
