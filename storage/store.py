"""The store of sessions: what the application asks, and nothing of how it is kept.

Any thread may use it. Writes go to the one writer thread and are durable when a method returns (or
its future resolves): they outlive the process; a power cut may take the last moments. Every method
raises `StorageError`, also for an unknown id and for a closed store, and no other error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import Connection

from conductor.corrections import Correction, Thumbs
from conductor.engine.trials import EdgeTest, Swap
from conductor.errors import StorageError
from conductor.events import Event, RunFinished
from conductor.messages import Usage
from conductor.modes import Settings
from conductor.output import Output, WorkerKind
from conductor.plan import PlanReport
from conductor.plan_file import Origin
from conductor.run_state import RunState
from conductor.workflow import Workflow
from storage import corrections, experiments, interruption, revisions, runs, sessions
from storage.database import Database
from storage.memory import ReadMemory
from storage.migrations import bring_up_to_date
from storage.records import ExperimentRecord, Plan, Revision, RunRecord, Session, SessionSummary
from storage.writer import Writer, closed

P = ParamSpec("P")
T = TypeVar("T")

Clock = Callable[[], float]


def default_url() -> str:
    """`CONDUCTOR_DATABASE_URL`, else a SQLite file under `data/` of the current folder."""
    return os.environ.get("CONDUCTOR_DATABASE_URL") or "sqlite:///data/conductor.db"


class SessionStore:
    """Sessions with their plans, revisions, runs, events and outputs. Made by `SessionStore.open`."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._closed = False
        self._memory = ReadMemory(database.version)
        self._lost_ends: dict[str, RunFinished] = {}
        self._writer = Writer(database, keep_events=self._keep_events, events_lost=self._remember_ends)

    @classmethod
    def open(cls, url: str, *, clock: Clock = time.time) -> Self:
        """Open or create the store at `url` and end the runs whose process died.

        An older store is copied aside and brought up to date; a newer one is refused unchanged.
        """
        database = Database(url)
        store = cls(database, clock=clock)
        try:
            database.create_folder()
            bring_up_to_date(database, now=clock())
            store.mark_interrupted()
        except StorageError:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Write what is queued and close every connection. May be called twice."""
        if not self._closed:
            self._retry_ends()
        self._closed = True
        self._writer.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def size(self) -> int:
        """Bytes the store takes."""
        return self._database.size

    # -- sessions --------------------------------------------------------------------------------

    def create_session(
        self, query: str, *, title: str | None = None, pool_label: str | None = None
    ) -> Session:
        """A new session; without a title it is called after its query."""
        return self._write(sessions.create, query, title=title, pool_label=pool_label, now=self._clock())

    def session(self, session: str) -> Session:
        """The session of that id, deleted or not."""
        return self._remember(sessions.find, session)

    def sessions(self, *, search: str = "", limit: int = 50, offset: int = 0) -> tuple[SessionSummary, ...]:
        """Sessions that are not deleted, last updated first.

        `search` keeps those whose title, query or any answer holds the text, whatever its case (of
        letters beyond ASCII, SQLite tells the cases apart).
        """
        return self._read(sessions.listed, search=search, limit=limit, offset=offset)

    def count_sessions(self, *, search: str = "") -> int:
        """How many sessions `sessions` would list without a limit."""
        return self._read(sessions.count, search=search)

    def rename_session(self, session: str, title: str) -> Session:
        """Give the session another title; an empty one calls it after its query."""
        return self._write(sessions.rename, session, title)

    def delete_session(self, session: str) -> Session:
        """Take the session out of the list; everything of it is kept and can be restored."""
        return self._write(sessions.set_deleted, session, at=self._clock())

    def restore_session(self, session: str) -> Session:
        """Put a deleted session back where it was."""
        return self._write(sessions.set_deleted, session, at=None)

    def set_settings(self, session: str, settings: Settings) -> Session:
        """Keep what the session asks of its Conductor from now on."""
        return self._write(sessions.set_settings, session, settings)

    # -- plans -----------------------------------------------------------------------------------

    def add_plan(
        self,
        session: str,
        *,
        planner: str,
        planner_kind: WorkerKind,
        report: PlanReport | None,
        failure: str | None = None,
        usage: Usage,
        seconds: float | None = None,
        round: int = 1,
        attempt: int = 1,
        looks_back: str | None = None,
        alternative: str | None = None,
    ) -> Plan:
        """Keep what a Conductor answered, valid or not; `failure` says why there is no report.

        From round 2 on it `looks_back` on the run before, as do the revisions made of it. An `alternative`
        (an id that those asked for together share) is to be chosen from: the session's state stays.
        """
        return self._write(
            revisions.add_plan,
            session,
            planner=planner,
            planner_kind=planner_kind,
            report=report,
            failure=failure,
            usage=usage,
            seconds=seconds,
            round=round,
            attempt=attempt,
            looks_back=looks_back,
            alternative=alternative,
            now=self._clock(),
        )

    def plan(self, plan: str) -> Plan:
        """The plan of that id."""
        return self._remember(revisions.find_plan, plan)

    def plans(self, session: str) -> tuple[Plan, ...]:
        """The session's plans, oldest first, without alternatives."""
        return self._remember(revisions.plans_of, session)

    def alternatives(self, session: str) -> tuple[Plan, ...]:
        """The plans that were last asked for together, by attempt; those that have ended so far."""
        return self._remember(revisions.alternatives_of, session)

    def latest_plan(self, session: str) -> Plan | None:
        """The session's newest plan that is no alternative, None before the first."""
        return self._remember(revisions.latest_plan, session)

    # -- revisions -------------------------------------------------------------------------------

    def add_revision(
        self,
        session: str,
        workflow: Workflow,
        *,
        origin: Origin,
        note: str = "",
        parent: str | None = None,
        plan: str | None = None,
        expected: str | None = None,
    ) -> Revision:
        """Keep a workflow as the session's new head, under `parent` (the current head when None).

        `expected` is the head that was edited (None: any). Raises `EditConflict`, a `StorageError`, where
        another revision is the head by now.
        """
        return self._write(
            revisions.add_revision,
            session,
            workflow,
            origin=origin,
            note=note,
            parent=parent,
            plan=plan,
            expected=expected,
            now=self._clock(),
        )

    def revision(self, revision: str) -> Revision:
        """The revision of that id."""
        return self._remember(revisions.find_revision, revision)

    def revisions(self, session: str) -> tuple[Revision, ...]:
        """The session's revisions, oldest first."""
        return self._remember(revisions.revisions_of, session)

    def head(self, session: str) -> Revision | None:
        """The session's current revision, None before the first."""
        return self._remember(revisions.head, session)

    def planned(self, revision: str) -> Revision | None:
        """The revision with the Conductor's plan that a person's edits led from to this one, or itself.

        None where no plan was edited, as after an import.
        """
        return self._remember(revisions.planned, revision)

    def neighbours(self, session: str) -> tuple[Revision | None, Revision | None]:
        """Where `undo` and `redo` would lead; None where they lead nowhere."""
        return self._remember(revisions.neighbours, session)

    def undo(self, session: str) -> Revision | None:
        """Move the head to its parent; None, and no change, where it has none."""
        return self._write(revisions.undo, session, now=self._clock())

    def redo(self, session: str) -> Revision | None:
        """Move the head to its newest child; None, and no change, where it has none."""
        return self._write(revisions.redo, session, now=self._clock())

    # -- runs ------------------------------------------------------------------------------------

    def start_run(
        self,
        *,
        run: str,
        session: str,
        revision: str,
        parent: str | None = None,
        pool_label: str | None = None,
        round: int = 1,
        experiment: str | None = None,
        trial: int | None = None,
    ) -> RunRecord:
        """Say that this process now runs `revision` under the id `run`; `append` its events next.

        A session runs once at a time: refused while it has a run without an end, unless that run's process
        died, which is then told as `mark_interrupted` tells it. Trials of an `experiment` run beside it and
        beside one another, and leave the session's state and its known outputs as they are.
        """
        now = self._clock()

        def start(connection: Connection) -> RunRecord:
            self._keep_lost_ends(connection)
            if experiment is None:
                interruption.make_way(connection, session, now=now)
            return runs.start(
                connection,
                run=run,
                session=session,
                revision=revision,
                parent=parent,
                pool_label=pool_label,
                round=round,
                experiment=experiment,
                trial=trial,
                now=now,
            )

        return self._write(start)

    def append(self, event: Event) -> Future[None]:
        """Queue an event of a started run and return at once; the future resolves when it is durable.

        A `StepFinished` also keeps its output for the session, a `RunFinished` ends the run's record, in
        the event's own transaction. Neighbouring events share a future, which fails when any of them was
        not kept. Its callbacks run in the writer thread: they must be quick and must not call the store.

        The end of a run that met trouble with the store (locked, full) is tried again, though its future
        failed: by `start_run`, `mark_interrupted` and `close`. This process lives, so nobody else may end it.
        """
        # Somebody waits for the end of a run; its other events are written behind it.
        return self._writer.append(event, urgent=isinstance(event, RunFinished))

    def events(self, run: str, *, after: int = -1) -> tuple[Event, ...]:
        """The run's durable events whose `seq` is greater than `after`, in order."""
        return self._read(runs.events_of, run, after=after)

    def run_state(self, run: str) -> RunState:
        """The run as its durable events tell it.

        Where one is missing that the next builds on (the store was full or locked), the run reads
        interrupted at that place; `run` still tells its outcome.
        """
        return runs.state_of(self._read(runs.events_of, run, after=-1))

    def run(self, run: str) -> RunRecord:
        """The run of that id."""
        return self._remember(runs.find, run)

    def runs(self, session: str) -> tuple[RunRecord, ...]:
        """The session's runs, newest first."""
        return self._remember(runs.runs_of, session)

    def latest_run(self, session: str) -> RunRecord | None:
        """The session's newest run, None before the first."""
        return self._remember(runs.latest, session)

    def outputs(self, session: str) -> Mapping[str, Output]:
        """The outputs of the session's finished steps by fingerprint; of equal ones the latest."""
        return self._remember(runs.outputs_of, session)

    def mark_interrupted(self) -> tuple[str, ...]:
        """End, as interrupted, the runs of this host whose process died; their ids.

        Costs one indexed query where no run is open. Ends that met trouble before are written behind it.
        """
        self._retry_ends()
        now = self._clock()
        gone = self._read(interruption.abandoned)
        return tuple(run.id for run in gone if self._write(interruption.interrupt, run.id, now=now))

    # -- experiments -----------------------------------------------------------------------------

    def add_experiment(self, session: str, experiment: Swap | EdgeTest, *, base: str) -> ExperimentRecord:
        """Keep an experiment that is about to be made on the run `base`."""
        return self._write(experiments.add, session, experiment, base=base, now=self._clock())

    def experiment(self, experiment: str) -> ExperimentRecord:
        """The experiment of that id."""
        return self._remember(experiments.find, experiment)

    def experiments(self, session: str) -> tuple[ExperimentRecord, ...]:
        """The session's experiments, newest first."""
        return self._remember(experiments.of_session, session)

    def trials(self, experiment: str) -> tuple[RunRecord, ...]:
        """The runs that an experiment has so far, by trial."""
        return self._remember(experiments.trials_of, experiment)

    # -- corrections -----------------------------------------------------------------------------

    def corrections(self, *, every: bool = False) -> Iterator[Correction]:
        """What people made of Conductors' plans, oldest first, in all sessions that are not deleted.

        Of each plan the final change: the one that was made, or finished a run, last; with `every`, all of
        them. Read as they are asked for, all from one state of the store.
        """
        if self._closed:
            raise closed(self._database)
        with self._database.transaction(to="read") as connection:
            yield from corrections.read(connection, every=every)

    def rate(self, run: str, thumbs: Thumbs | None) -> None:
        """Keep what a person thinks of a run's answer; None takes it back."""
        self._write(corrections.rate, run, thumbs, now=self._clock())

    def rating(self, run: str) -> Thumbs | None:
        """What a person thinks of a run's answer, None where nobody said."""
        return self._remember(corrections.rating, run)

    # -- how -------------------------------------------------------------------------------------

    def _remember(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As `_read`, for frozen values of a moderate size that a page asks for again and again."""
        if self._closed:
            raise closed(self._database)
        question = (query, args, tuple(kwargs.items()))
        return self._memory.answer(question, lambda: self._read(query, *args, **kwargs))

    def _read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._closed:
            raise closed(self._database)
        with self._database.transaction(to="read") as connection:
            return query(connection, *args, **kwargs)

    def _write(self, job: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        def run(connection: Connection) -> T:
            return job(connection, *args, **kwargs)

        return self._writer.submit(run).result()

    # `_lost_ends` is changed by the writer thread alone, in whose transactions the ends are kept.

    def _remember_ends(self, events: Sequence[Event]) -> None:
        self._lost_ends |= {event.run: event for event in events if isinstance(event, RunFinished)}

    def _retry_ends(self) -> None:
        """Queue another try; nobody waits for it, because a trouble that lasts is told where it matters."""
        if self._lost_ends:
            self._writer.submit(self._keep_lost_ends)

    def _keep_lost_ends(self, connection: Connection) -> None:
        """Those of an earlier try that was committed are forgotten here: only now is it known."""
        if not self._lost_ends:
            return
        running = {run.id for run in runs.running(connection)}
        self._lost_ends = {run: end for run, end in self._lost_ends.items() if run in running}
        if self._lost_ends:
            self._keep_events(connection, list(self._lost_ends.values()))

    def _keep_events(self, connection: Connection, events: Sequence[Event]) -> None:
        runs.keep_events(connection, events, now=self._clock())
