"""The charges of plans and runs that are copied into a session, for its totals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from sqlalchemy import Connection

from conductor.runs.events import Event, StepCancelled, StepFailed, StepFinished, StepStarted
from conductor.runs.ledger_entry import LedgerEntry, entries_of
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.values.output import WorkerKind
from storage.session_entries import ChargedPlanEntry
from storage.tables import ledger

Insertion = Callable[[Connection], None]


class CopiedCharges:
    """The charges of a session's plans and events, which come in their order, run by run.

    Events of an earlier version have no charge of a request: those of a run have one for each step.
    """

    def __init__(self, session: str) -> None:
        self._session = session
        self._run = ""
        self._has_charges = False
        self._former: list[LedgerEntry] = []
        self._kinds: dict[int, tuple[str, WorkerKind]] = {}

    def of(self, entries: Sequence[ChargedPlanEntry | Event]) -> Insertion:
        """What inserts the charges of these, and of the run before that is over by now."""
        plans = [(each.id, self._of_plan(each)) for each in entries if isinstance(each, ChargedPlanEntry)]
        events = [each for each in entries if not isinstance(each, ChargedPlanEntry)]
        before = [self._next(event) for event in events]

        def insert(connection: Connection) -> None:
            for plan, charges in plans:
                ledger.add_copies(connection, charges, session=self._session, plan=plan)
            ledger.add_of_runs(connection, events, copied=True)
            for former in before:
                former(connection)

        return insert

    def finish(self) -> Insertion:
        """What inserts those of the last run, where its events are of an earlier version."""
        former, self._former = self._former, []
        if not former or self._has_charges:
            return _nothing
        return partial(ledger.add_copies, entries=former, session=self._session, run=self._run)

    @staticmethod
    def _of_plan(plan: ChargedPlanEntry) -> list[LedgerEntry]:
        kind, charges = plan.planner_kind, plan.charges
        if charges is None and kind != "offline":
            # In a file of an earlier version each plan was one request.
            charges = (Charge(worker=plan.planner, kind=kind, purpose="earlier", usage=plan.usage),)
        return [LedgerEntry(charge, plan.created_at) for charge in charges or ()]

    def _next(self, event: Event) -> Insertion:
        """Note the event; what inserts the charges of the run before, where this is the first of another."""
        before: Insertion = _nothing
        if event.run != self._run:
            before = self.finish()
            self._run, self._has_charges = event.run, False
        self._has_charges = self._has_charges or any(True for _ in entries_of(event))
        self._former += [] if self._has_charges else self._former_entries(event)
        return before

    def _former_entries(self, event: Event) -> Iterator[LedgerEntry]:
        match event:
            case StepStarted():
                self._kinds[event.step] = (event.worker, event.worker_kind)
                return
            case StepFinished(output=output):
                (worker, kind), usage = (output.worker, output.worker_kind), output.usage
            case StepFailed(usage=Usage() as usage) | StepCancelled(usage=Usage() as usage):
                worker, kind = self._kinds.get(event.step, ("unknown", "model"))
            case _:
                return
        if kind != "offline":
            charge = Charge(worker=worker, kind=kind, purpose="earlier", usage=usage)
            yield LedgerEntry(charge, event.at, event.step)


def _nothing(_connection: Connection) -> None:
    """What inserts nothing."""
