"""The store's methods for runs, their events and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

from sqlalchemy import Connection

from conductor.runs.events import Event, RunFinished
from conductor.runs.state import RunState
from conductor.values.output import Output
from conductor.values.total import Total
from storage.ownership import interruption
from storage.records import RunRecord
from storage.store.processes import Processes
from storage.store.transactions import Part, Transactions
from storage.tables import runs, spending


class Runs(Part):
    """Runs, their events, and the outputs of their steps."""

    def __init__(self, transactions: Transactions, processes: Processes) -> None:
        super().__init__(transactions)
        self._processes = processes

    def start(
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
        """Record that this process now runs `revision` under the id `run`; `append` its events next.

        A session runs once at a time: raises `StorageError` while it has a run without an end, unless that
        run's process died; then that run is marked as interrupted. Trials of an `experiment` run beside it
        and beside one another, and leave the session's state and its known outputs as they are.
        """
        now = self._clock()
        owner = self._processes.hold()
        if experiment is None and self._read(runs.running, session=session):
            self._processes.mark_interrupted()

        def start(connection: Connection) -> RunRecord:
            self._transactions.keep_lost(connection)
            if experiment is None:
                interruption.require_rest(connection, session, now=now)
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
                owner=owner,
                now=now,
            )

        record = self._write(start)
        self._processes.started.add(run)
        return record

    def append(self, event: Event) -> Future[None]:
        """Queue an event of a started run and return at once; the future resolves when it is durable.

        A `StepFinished` also stores its output for the session, a `RunFinished` ends the run's record, in
        the event's own transaction. Neighbouring events share a future, which fails when any of them was
        not stored. Its callbacks run in the writer thread: they must be quick and must not call the store.

        An event after the run's end is refused: another process may have ended the run, because this one lost
        its lock for too long.

        An event that the store could not take (locked, full) is retried, though its future failed with
        `NotKeptYet`: before the run's next event, and by `start`, `mark_interrupted` and `close`. This
        process lives, so no other may end its run.
        """
        # A caller waits for the end of a run; its other events are written in the background.
        return self._transactions.writer.append(event, urgent=isinstance(event, RunFinished))

    def events(self, run: str, *, after: int = -1) -> tuple[Event, ...]:
        """The run's durable events whose `seq` is greater than `after`, in order."""
        return self._read(runs.events_of, run, after=after)

    def state(self, run: str, *, known: RunState | None = None) -> RunState:
        """The fold of the run's durable events; with an earlier result `known`, only later ones are read.

        Where an event is missing that the next one needs (the store was full or locked), the state is
        interrupted at that place; `find` still returns the run's outcome.
        """
        if known is None:
            return runs.state_of(self._read(runs.events_of, run, after=-1))
        # Cached, because there is seldom a new event when a page reads again.
        return runs.state_of(self._remember(runs.events_of, run, after=known.seq), known)

    def find(self, run: str) -> RunRecord:
        """The run of that id."""
        return self._remember(runs.find, run)

    def named(self, prefix: str) -> tuple[str, ...]:
        """The ids, experiments' trials too, that begin with `prefix`."""
        return self._read(runs.named, prefix)

    def of_session(self, session: str) -> tuple[RunRecord, ...]:
        """The session's runs, newest first."""
        return self._remember(runs.runs_of, session)

    def latest(self, session: str) -> RunRecord | None:
        """The session's newest run, None before the first."""
        return self._remember(runs.latest, session)

    def outputs(self, session: str) -> Mapping[str, Output]:
        """The outputs of the session's finished steps by fingerprint; of equal ones the latest."""
        return self._remember(runs.outputs_of, session)

    def totals(self, session: str) -> Mapping[str, Total]:
        """What each run of the session has used, trials included; runs without a model call are left out."""
        return self._read(spending.run_totals, session)
