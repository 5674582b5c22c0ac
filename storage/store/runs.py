"""What the application asks about runs, their events and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

from sqlalchemy import Connection

from conductor.events import Event, RunFinished
from conductor.output import Output
from conductor.run_state import RunState
from storage import interruption, processes, runs
from storage.records import RunRecord
from storage.store.processes import Processes


class Runs(Processes):
    """Runs, the events that tell their story, and what their steps gave."""

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
        trust = self._trust()

        def start(connection: Connection) -> RunRecord:
            self._keep_lost(connection)
            if experiment is None:
                interruption.make_way(connection, session, trust=trust, now=now)
            record = runs.start(
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
            processes.beat(connection, record.owner)
            return record

        record = self._write(start)
        self._started.add(run)
        return record

    def append(self, event: Event) -> Future[None]:
        """Queue an event of a started run and return at once; the future resolves when it is durable.

        A `StepFinished` also keeps its output for the session, a `RunFinished` ends the run's record, in
        the event's own transaction. Neighbouring events share a future, which fails when any of them was
        not kept. Its callbacks run in the writer thread: they must be quick and must not call the store.

        Refused is also what comes after a run's end: another process may have ended it, because nothing was
        heard of this one for too long.

        An event that met trouble with the store (locked, full) is tried again, though its future failed with
        `NotKeptYet`: before the run's next event, and by `start_run`, `mark_interrupted` and `close`. This
        process lives, so nobody else may end its run.
        """
        # Somebody waits for the end of a run; its other events are written behind it.
        return self._writer.append(event, urgent=isinstance(event, RunFinished))

    def events(self, run: str, *, after: int = -1) -> tuple[Event, ...]:
        """The run's durable events whose `seq` is greater than `after`, in order."""
        return self._read(runs.events_of, run, after=after)

    def run_state(self, run: str, *, known: RunState | None = None) -> RunState:
        """The run as its durable events tell it; of what an earlier answer, `known`, tells nothing is read.

        Where one is missing that the next builds on (the store was full or locked), the run reads
        interrupted at that place; `run` still tells its outcome.
        """
        if known is None:
            return runs.state_of(self._read(runs.events_of, run, after=-1))
        # Remembered, because there is seldom anything new when a page asks again.
        return runs.state_of(self._remember(runs.events_of, run, after=known.seq), known)

    def run(self, run: str) -> RunRecord:
        """The run of that id."""
        return self._remember(runs.find, run)

    def runs_named(self, prefix: str) -> tuple[str, ...]:
        """The ids, experiments' trials too, that begin with `prefix`."""
        return self._read(runs.named, prefix)

    def runs(self, session: str) -> tuple[RunRecord, ...]:
        """The session's runs, newest first."""
        return self._remember(runs.runs_of, session)

    def latest_run(self, session: str) -> RunRecord | None:
        """The session's newest run, None before the first."""
        return self._remember(runs.latest, session)

    def outputs(self, session: str) -> Mapping[str, Output]:
        """The outputs of the session's finished steps by fingerprint; of equal ones the latest."""
        return self._remember(runs.outputs_of, session)
