"""Runs as rows, and the experiments whose trials are runs; reads their events and their steps' outputs.

`events` writes the events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NotRequired, TypedDict, Unpack

from sqlalchemy import ColumnElement, Connection, exists, func, or_, select

from conductor.engine.experiments import Experiment
from conductor.engine.known_outputs import EarlierRun
from conductor.errors import SessionBusy, StorageError
from conductor.runs.events import (
    EVENT,
    Event,
    RunFinished,
    RunStarted,
    StepFinished,
    StepKept,
    StepReused,
    StepToolsCalled,
    StepToolsContinued,
    StepToolsHeld,
    StepToolsOffered,
    StepToolsReturned,
)
from conductor.runs.request import UNKNOWN_ASKER, Asker
from conductor.runs.state import RunState, advance, joined, lost_requests
from conductor.runs.step_state import StepState, advance_step
from conductor.values.message_parts.tool_use import ToolTurn
from conductor.values.output import Output
from conductor.workflow.model import Workflow
from storage import fragments
from storage.database.schema import (
    EVENTS,
    EXPERIMENTS,
    OF_PEOPLE,
    OUTPUT,
    OUTPUTS,
    REVISIONS,
    RUNNING,
    RUNS,
    SESSIONS,
)
from storage.database.unreadable_rows import readable
from storage.fragments import Fragments
from storage.records import ExperimentRecord, RunRecord
from storage.tables import events as journal
from storage.tables import plans, revisions, sessions, text_pieces
from storage.tables.revisions import check_belongs
from storage.tables.rows import Rows, new_id, next_number

_RUNS = Rows(RunRecord, RUNS, "run")
_EXPERIMENTS = Rows(ExperimentRecord, EXPERIMENTS, "experiment")

find, named = _RUNS.find, _RUNS.named
find_experiment = _EXPERIMENTS.find

_ORDINARY = RUNS.c.experiment.is_(None)

_GIVING = ("run_started", "step_finished", "step_reused", "step_kept")
"""The types of the events that name what a run was of, and what it gave."""

_TURNING = (StepToolsOffered, StepToolsCalled, StepToolsReturned, StepToolsHeld, StepToolsContinued)
_TURNS = [kind.model_fields["type"].default for kind in _TURNING]
"""The types of the events that name where an answer stands that calls tools."""

IMPORTED = "imported"
"""The owner of runs that no process of this store began."""

_LOOKED_BACK = 50
"""Runs whose steps may be those of a later workflow; of older ones the outputs are known, not the steps."""

NOTHING = RunState()
"""The state of a run before its first event."""


class NewRun(TypedDict):
    """What a run is started with; see `RunRecord`. `round` is 1 where it is left out. A run `resumes` one
    that is the session's newest, and was interrupted.
    """

    run: str
    session: str
    revision: str
    parent: NotRequired[str | None]
    pool_label: NotRequired[str | None]
    round: NotRequired[int]
    experiment: NotRequired[str | None]
    trial: NotRequired[int | None]
    by: NotRequired[Asker]
    resumes: NotRequired[str | None]


def check_idle(connection: Connection, session: str) -> None:
    """Raise `SessionBusy` where a run of the session has no end; trials do not count."""
    if connection.scalar(select(exists().where(RUNS.c.session == session, RUNNING, _ORDINARY))):
        raise SessionBusy("This session is running already; stop that run first.")


def check_resumable(connection: Connection, session: str, run: str) -> None:
    """Raise `SessionBusy` unless that run of the session may still go on by itself: of several processes that
    resume it one does, or no one if a person was faster.
    """
    if [one.session for one in broken_off(connection, 0.0, [run])] != [session]:
        raise SessionBusy("This session went on since; look at its newest run.")


def start(connection: Connection, now: float, owner: str, **new: Unpack[NewRun]) -> RunRecord:
    """Insert a run that begins now; see `Runs.start`."""
    run, session, experiment = new["run"], new["session"], new.get("experiment")
    if (resumed := new.get("resumes")) is not None:
        check_resumable(connection, session, resumed)
    # First of all that is written, because it locks the row: of two that start a run, the later sees the
    # earlier's, and two trials that start at once do not get one number.
    changes = {"state": "running"} if experiment is None else {}
    sessions.change(connection, session, updated_at=now, **changes)
    if experiment is None:
        check_idle(connection, session)
    check_belongs(session, revision=revisions.find(connection, new["revision"]))
    parent = new.get("parent")
    if parent is not None:
        find(connection, parent)
    if connection.scalar(select(exists().where(RUNS.c.id == run))):
        raise StorageError(f"The run {run!r} has been started before; give the new run its own id.")
    # A request to stop an experiment also stops a trial that is about to begin.
    newest_stop = select(func.max(RUNS.c.stop_asked_at)).where(RUNS.c.experiment == experiment)
    stopped = None if experiment is None else connection.scalar(newest_stop)
    number = next_number(connection, RUNS, session)
    insert(connection, now, owner, number=number, stop_asked_at=stopped, **new)
    return find(connection, run)


def insert(
    connection: Connection,
    now: float,
    owner: str,
    *,
    number: int,
    stop_asked_at: float | None = None,
    **new: Unpack[NewRun],
) -> None:
    """Insert a run that begins now. Nothing is read, and its session stays as it is."""
    first = {
        "number": number,
        "status": "running",
        "started_at": now,
        "owner": owner,
        "round": 1,
    }
    by = new.get("by", UNKNOWN_ASKER)
    own = {name: value for name, value in new.items() if name not in ("by", "resumes")}
    columns = {"id" if name == "run" else name: value for name, value in own.items()}
    columns |= {"token": by.token, "person": by.person}
    connection.execute(RUNS.insert(), {**first, "stop_asked_at": stop_asked_at, **columns})


def of_session(connection: Connection, session: str) -> tuple[RunRecord, ...]:
    """The session's runs, newest first; those of experiments left out."""
    sessions.find(connection, session)
    return _RUNS.select(connection, RUNS.c.session == session, _ORDINARY, by=RUNS.c.number.desc())


def latest(connection: Connection, session: str) -> RunRecord | None:
    """The session's newest run that is no experiment's, None before the first."""
    sessions.find(connection, session)
    return _RUNS.first(connection, RUNS.c.session == session, _ORDINARY, by=RUNS.c.number.desc())


def running(connection: Connection) -> tuple[RunRecord, ...]:
    """Every run that has no end yet."""
    return _RUNS.select(connection, RUNNING)


def broken_off(connection: Connection, since: float, runs: Collection[str] | None) -> tuple[RunRecord, ...]:
    """Of these runs (None: of all since then, in Unix seconds) the ones that were interrupted, are the newest
    of their session, and may go on by themselves: no trial, none that was asked to stop, and none of a
    session that was changed since or deleted, is planned, or that a command of its own goes on with.
    """
    planned = {entry.session for entry in plans.underway(connection).values()}
    later = RUNS.alias()
    newer = exists().where(
        later.c.session == RUNS.c.session, later.c.experiment.is_(None), later.c.number > RUNS.c.number
    )
    conditions = [
        SESSIONS.c.deleted_at.is_(None),
        SESSIONS.c.state == "interrupted",
        OF_PEOPLE,
        func.coalesce(SESSIONS.c.origin, "") != "terminal",
        SESSIONS.c.updated_at <= RUNS.c.finished_at,
        SESSIONS.c.id.not_in(planned),
        RUNS.c.status == "interrupted",
        RUNS.c.stop_asked_at.is_(None),
        RUNS.c.owner != IMPORTED,
        _ORDINARY,
        ~newer,
        SESSIONS.c.updated_at >= since if runs is None else RUNS.c.id.in_(runs),
    ]
    query = select(RUNS.c.id).join(SESSIONS, SESSIONS.c.id == RUNS.c.session).where(*conditions)
    return _RUNS.select(connection, RUNS.c.id.in_(query))


def events_of(connection: Connection, run: str, *, after: int = -1) -> tuple[Event, ...]:
    """The run's durable events whose `seq` is greater than `after`, in order."""
    stored = _stored_events(connection, run, after)
    if not stored:
        find(connection, run)
    return tuple(fragments.read(connection, session_of(run), EVENT, stored))


def _stored_events(connection: Connection, run: str, after: int) -> list[str]:
    query = select(EVENTS.c.event).where(EVENTS.c.run == run, EVENTS.c.seq > after).order_by(EVENTS.c.seq)
    return text_pieces.unpacked(connection.scalars(query), after=after)


def readable_events_of(connection: Connection, run: str, *, after: int = -1) -> tuple[Event, ...]:
    """As `events_of`, without those that cannot be read, which are named."""
    try:
        return events_of(connection, run, after=after)
    except StorageError:
        find(connection, run)
    stored = _stored_events(connection, run, after)
    return tuple(readable(partial(_event, connection, session_of(run)), stored))


def session_of(run: str) -> ColumnElement[str]:
    """A query for the run's session."""
    return select(RUNS.c.session).where(RUNS.c.id == run).scalar_subquery()


def state_of(events: Iterable[Event], before: RunState = NOTHING) -> RunState:
    """The fold of a run's stored events, from the state `before` on; the run ends where an event is missing
    that the next one needs.

    Such a run is interrupted, with what could be folded and no answer: the answer's step may be missing.
    """
    state = before
    for event in joined(events):
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


def ask_to_stop(connection: Connection, now: float, run: str) -> None:
    """Request that the run's process stops it, which it does within a second; one that is over stays so."""
    if find(connection, run).status == "running":
        connection.execute(RUNS.update().where(RUNS.c.id == run).values(stop_asked_at=now))


def interrupt(connection: Connection, now: float, run: str) -> None:
    """End a run that has no end yet as interrupted."""
    try:
        state = state_of(events_of(connection, run))
    except StorageError:
        # One damaged run may not keep the whole store from being opened.
        state = RunState()
    highest = connection.scalar(select(func.max(EVENTS.c.seq)).where(EVENTS.c.run == run))
    end = interrupted_end(state, run=run, seq=0 if highest is None else highest + 1, at=now)
    journal.keep(connection, [end], now=now)


def interrupted_end(state: RunState, *, run: str, seq: int, at: float) -> RunFinished:
    """The end of a run whose process died in that state."""
    answered = bool(state.steps) and state.steps[-1].status in ("finished", "refused")
    return RunFinished(
        run=run,
        seq=seq,
        at=at,
        outcome="interrupted",
        answer=state.steps[-1].text if answered else None,
        answer_step=len(state.steps) - 1 if answered else None,
        charges=lost_requests(state),
    )


def stop_waiting(connection: Connection, now: float, run: str) -> None:
    """End a run that waits at a gate as stopped; any other stays as it is."""
    record = find(connection, run)
    if record.status != "paused":
        return
    state = state_of(events_of(connection, run))
    # Events are added to runs without an end only.
    connection.execute(RUNS.update().where(RUNS.c.id == run).values(status="running"))
    waits = (SESSIONS.c.id == record.session) & (SESSIONS.c.state == "paused")
    connection.execute(SESSIONS.update().where(waits).values(state="running"))
    end = RunFinished(
        run=run,
        seq=state.seq + 1,
        at=now,
        outcome="cancelled",
        answer=state.answer,
        answer_step=state.answer_step,
        warning=state.warning,
    )
    journal.keep(connection, [end], now=now)


def event_numbers(connection: Connection, run: str, *, seq: int) -> frozenset[int]:
    """The numbers of the run's stored events, from `seq` on."""
    query = select(EVENTS.c.seq).where(EVENTS.c.run == run, EVENTS.c.seq >= seq)
    return frozenset(connection.scalars(query))


def outputs_of(connection: Connection, session: str) -> tuple[Output, ...]:
    """The outputs that the session's steps gave, those of the newest run first and in a run by step; those of
    trials come last.
    """
    sessions.find(connection, session)
    of_trial = exists().where(RUNS.c.id == OUTPUTS.c.run, ~_ORDINARY)
    query = select(OUTPUTS.c.run, OUTPUTS.c.step, OUTPUTS.c.output).where(OUTPUTS.c.session == session)
    rows = connection.execute(query.order_by(of_trial, OUTPUTS.c.finished_at.desc())).all()
    runs = {run: place for place, run in enumerate(dict.fromkeys(row.run for row in rows))}
    rows = sorted(rows, key=lambda row: (runs[row.run], row.step))
    stored = [row.output for row in rows]
    try:
        return tuple(fragments.read(connection, session, OUTPUT, stored))
    except StorageError:
        # One damaged output may not keep a session from being run.
        each = readable(lambda text: fragments.read(connection, session, OUTPUT, [text]), stored)
        return tuple(output for (output,) in each)


def earlier_runs(
    connection: Connection, session: str, memory: MutableMapping[str, EarlierRun]
) -> tuple[EarlierRun, ...]:
    """What the session's newest runs gave, newest first; behind them those that it was forked from, as long
    as they are there. The runs in `memory` are not read again; those that are over are added.
    """
    record = sessions.find(connection, session)
    runs = _earlier(connection, RUNS.c.session == session, session, memory)
    forked_from = record.forked_from
    while forked_from is not None:
        origin = connection.scalar(select(REVISIONS.c.session).where(REVISIONS.c.id == forked_from))
        if origin is None:
            break
        before = (RUNS.c.session == origin) & (RUNS.c.started_at <= record.created_at)
        runs += _earlier(connection, before, origin, memory)
        record = sessions.find(connection, origin)
        forked_from = record.forked_from
    return runs


def _earlier(
    connection: Connection,
    which: ColumnElement[bool],
    session: str,
    memory: MutableMapping[str, EarlierRun],
) -> tuple[EarlierRun, ...]:
    newest = select(RUNS.c.id, RUNS.c.status).where(which, _ORDINARY).order_by(RUNS.c.number.desc())
    statuses = {row.id: row.status for row in connection.execute(newest.limit(_LOOKED_BACK))}
    missing = [run for run in statuses if run not in memory]
    runs = {run: memory[run] for run in statuses if run not in missing}
    runs |= _read_runs(connection, session, missing) if missing else {}
    ended = [run for run in missing if run in runs and statuses[run] != "running"]
    broken = [run for run in ended if runs[run].open_steps]
    for run, turns in _read_turns(connection, session, broken).items():
        own = {step: turn for step, turn in turns.items() if step in runs[run].open_steps}
        runs[run] = replace(runs[run], turns=own)
    memory.update((run, runs[run]) for run in missing if run in runs and statuses[run] != "running")
    return tuple(runs[run] for run in statuses if run in runs)


def _read_runs(connection: Connection, session: str, ids: Sequence[str]) -> dict[str, EarlierRun]:
    """What these runs gave; a step whose event cannot be read has no output, and a run whose beginning
    cannot be is left out.
    """
    workflows: dict[str, Workflow] = {}
    replays: set[str] = set()
    outputs: dict[str, dict[int, Output]] = {run: {} for run in ids}
    for run, event in _events_of_types(connection, session, ids, _GIVING):
        if isinstance(event, RunStarted):
            workflows[run] = event.workflow
            if event.scope.recorded == "only":
                replays.add(run)
        elif isinstance(event, StepFinished | StepReused | StepKept):
            outputs[run][event.step] = event.output
    return {
        run: EarlierRun(workflow, outputs[run], replay=run in replays) for run, workflow in workflows.items()
    }


def _read_turns(connection: Connection, session: str, ids: Sequence[str]) -> dict[str, dict[int, ToolTurn]]:
    """Where the answers of these runs stand that called tools, by step."""
    steps: dict[str, dict[int, StepState]] = {}
    for run, event in _events_of_types(connection, session, ids, _TURNS) if ids else ():
        if isinstance(event, _TURNING):
            own = steps.setdefault(run, {})
            own[event.step] = advance_step(own.get(event.step, StepState()), event)
    return {
        run: {at: step.turn for at, step in own.items() if step.turn is not None}
        for run, own in steps.items()
    }


def _events_of_types(
    connection: Connection, session: str, ids: Sequence[str], kinds: Iterable[str]
) -> list[tuple[str, Event]]:
    """The events of these types of runs, in order, each with its run; those that cannot be read are left
    out.
    """
    named = or_(*(EVENTS.c.event.contains(f'{kind}"') for kind in kinds))
    query = select(EVENTS.c.run, EVENTS.c.event).where(EVENTS.c.run.in_(ids), named).order_by(EVENTS.c.seq)
    rows = connection.execute(query).all()
    try:
        events = fragments.read(connection, session, EVENT, [row.event for row in rows])
    except StorageError:
        each = readable(lambda row: (row.run, _event(connection, session, row.event)), rows)
        return list(each)
    return [(row.run, event) for row, event in zip(rows, events, strict=True)]


def _event(connection: Connection, session: str | ColumnElement[str], stored: str) -> Event:
    (event,) = fragments.read(connection, session, EVENT, [stored])
    return event


def add_outputs(connection: Connection, now: float, session: str, outputs: Iterable[Output]) -> None:
    """Store outputs that the session has reused from another one, so that it can reuse them by itself."""
    fragments_of_session = Fragments()
    key = (OUTPUTS.c.fingerprint, OUTPUTS.c.run, OUTPUTS.c.step)
    stored = {tuple(row) for row in connection.execute(select(*key).where(OUTPUTS.c.session == session))}
    rows = [
        output_row(output, session=session, stored=fragments_of_session.output(output), at=now)
        for output in dict.fromkeys(outputs)
        if (output.fingerprint, output.run, output.step) not in stored
    ]
    if rows:
        connection.execute(OUTPUTS.insert(), rows)
        fragments_of_session.keep(connection, session=session)


def output_row(output: Output, *, session: str, stored: str, at: float) -> dict[str, Any]:
    """The row of an output, which as JSON is `stored`."""
    return {
        "session": session,
        "fingerprint": output.fingerprint,
        "run": output.run,
        "step": output.step,
        "output": stored,
        "finished_at": at,
    }


# -- experiments, whose trials are runs --------------------------------------------------------------


def add_experiment(
    connection: Connection, now: float, session: str, experiment: Experiment, *, base: str
) -> ExperimentRecord:
    """Store an experiment that is about to be made on the run `base`."""
    if find(connection, base).session != session:
        raise StorageError(f"The run {base!r} is another session's; choose one of this session's own.")
    sessions.change(connection, session, updated_at=now)
    row = {
        "id": new_id(),
        "session": session,
        "number": next_number(connection, EXPERIMENTS, session),
        "created_at": now,
        "base": base,
        "experiment": experiment,
    }
    connection.execute(EXPERIMENTS.insert(), row)
    return find_experiment(connection, str(row["id"]))


def experiments_of(connection: Connection, session: str) -> tuple[ExperimentRecord, ...]:
    """The session's experiments, newest first."""
    sessions.find(connection, session)
    own = EXPERIMENTS.c.session == session
    return _EXPERIMENTS.select(connection, own, by=EXPERIMENTS.c.number.desc())


def trials_of(connection: Connection, experiment: str) -> tuple[RunRecord, ...]:
    """The runs that an experiment has so far, by trial."""
    return _RUNS.select(connection, RUNS.c.experiment == experiment, by=RUNS.c.trial)


def running_experiments(connection: Connection, session: str) -> frozenset[str]:
    """The session's experiments with a trial under way, in any process."""
    trials = select(RUNS.c.experiment).where(RUNNING, RUNS.c.session == session)
    return frozenset(connection.scalars(trials.where(RUNS.c.experiment.is_not(None))))


def ask_experiment_to_stop(connection: Connection, now: float, experiment: str) -> None:
    """Ask the process that makes it to stop its trials, which it does within a second, and to begin no other
    one; nothing happens to an experiment without a trial.
    """
    # Also those that are over: they show it to an owner that has none under way at this moment.
    connection.execute(RUNS.update().where(RUNS.c.experiment == experiment).values(stop_asked_at=now))


def is_experiment_asked_to_stop(connection: Connection, experiment: str) -> bool:
    """Whether another process requested that no further trial of it begins."""
    request = exists().where(RUNS.c.experiment == experiment, RUNS.c.stop_asked_at.is_not(None))
    return bool(connection.scalar(select(request)))
