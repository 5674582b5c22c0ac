"""A session's rows as entries, and entries as the rows of a new session, a few in memory at a time.

Functions of a connection inside a transaction. The entries that come in are checked already and have the ids
of the new rows; here they get their numbers.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from pydantic import BaseModel
from sqlalchemy import Connection, RowMapping, Select, Table, bindparam, exists, select

from conductor.runs import ledger_entry
from conductor.runs.events import EVENT, Event, StepCancelled, StepFailed, StepFinished, StepStarted
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.values.output import Output, WorkerKind
from storage import fragments
from storage.database.schema import (
    CHANGE_REQUESTS,
    CORRECTIONS,
    EVENTS,
    EXPERIMENTS,
    NOTES,
    OUTPUT,
    OUTPUTS,
    PLANS,
    RATINGS,
    REVISIONS,
    RUNS,
    SESSIONS,
    WORKFLOW,
)
from storage.fragments import Fragments
from storage.records import Session
from storage.session_entries import (
    ChangeEntry,
    ChargedPlanEntry,
    CorrectionEntry,
    Entry,
    ExperimentEntry,
    Kind,
    NoteEntry,
    NumberedEntry,
    RatingEntry,
    RevisionEntry,
    RunEntry,
    SessionEntry,
)
from storage.tables import ledger, runs, sessions, text_pieces
from storage.tables.rows import record

Entries = Iterable[tuple[Kind, Entry]]
"""Of one session or several, each beginning with its `SessionEntry`, all in the order of `ENTRIES`."""

_NUMBER = re.compile(r" \(\d{1,6}\)$")

_BATCH = 25
"""Entries that are read or written together: with their texts they are in memory at once."""

_TABLES: Mapping[Kind, Table] = {
    "plan": PLANS,
    "revision": REVISIONS,
    "run": RUNS,
    "experiment": EXPERIMENTS,
    "correction": CORRECTIONS,
    "rating": RATINGS,
    "note": NOTES,
    "change": CHANGE_REQUESTS,
    "output": OUTPUTS,
    "event": EVENTS,
}

_NUMBERED: Mapping[Kind, type[NumberedEntry]] = {
    "plan": ChargedPlanEntry,
    "revision": RevisionEntry,
    "run": RunEntry,
    "experiment": ExperimentEntry,
}

_LATER: Mapping[Kind, tuple[str, ...]] = {
    "plan": ("looks_back",),
    "revision": ("parent", "looks_back"),
    "run": ("parent", "experiment"),
    "experiment": (),
}
"""Columns that are set once all rows are there: they refer to rows that may come later."""


# -- out -------------------------------------------------------------------------------------------


def entries_of(connection: Connection, session: str) -> Iterator[tuple[Kind, Entry]]:
    """All entries of a session, in the order of `ENTRIES`.

    Raises `StorageError` for an unknown session, and at an entry that cannot be read.
    """
    session_record = sessions.find(connection, session)
    row = connection.execute(select(SESSIONS).where(SESSIONS.c.id == session)).mappings().one()
    own = {name: row[name] for name in SessionEntry.model_fields if name != "tags"}
    own["conversation"] = session_record.conversation
    yield "session", SessionEntry(**own, tags=sessions.tags_of(connection, session))
    forms: list[tuple[Kind, type[Any], Select[Any]]] = []
    for kind, numbered in _NUMBERED.items():
        table = _TABLES[kind]
        forms.append((kind, numbered, _columns(table, numbered, session).order_by(table.c.number)))
    edited = REVISIONS.c.id == CORRECTIONS.c.revision
    corrections = _columns(CORRECTIONS, CorrectionEntry, session).join(REVISIONS, edited)
    forms.append(("correction", CorrectionEntry, corrections.order_by(REVISIONS.c.number)))
    ratings = select(RATINGS).join(RUNS, RUNS.c.id == RATINGS.c.run).where(RUNS.c.session == session)
    forms.append(("rating", RatingEntry, ratings.order_by(RUNS.c.number)))
    notes = _columns(NOTES, NoteEntry, session).where(NOTES.c.deleted_at.is_(None))
    forms.append(("note", NoteEntry, notes.order_by(NOTES.c.created_at, NOTES.c.id)))
    changes = _columns(CHANGE_REQUESTS, ChangeEntry, session)
    forms.append(
        ("change", ChangeEntry, changes.order_by(CHANGE_REQUESTS.c.created_at, CHANGE_REQUESTS.c.id))
    )
    for kind, form, query in forms:
        for rows in _batches(connection, query):
            for row in rows:
                values = dict(row)
                if kind == "plan":
                    values["charges"] = ledger.of_plan(connection, session, str(row["id"]))
                if kind == "revision":
                    (values["workflow"],) = fragments.read(connection, session, WORKFLOW, [row["workflow"]])
                yield kind, cast("Entry", record(form, values))
    outputs = select(OUTPUTS.c.output).where(OUTPUTS.c.session == session)
    in_order = (OUTPUTS.c.finished_at, OUTPUTS.c.run, OUTPUTS.c.step, OUTPUTS.c.fingerprint)
    for rows in _batches(connection, outputs.order_by(*in_order)):
        for output in fragments.read(connection, session, OUTPUT, [row["output"] for row in rows]):
            yield "output", output
    events = select(EVENTS.c.event).join(RUNS, RUNS.c.id == EVENTS.c.run).where(RUNS.c.session == session)
    for rows in _batches(connection, events.order_by(RUNS.c.number, EVENTS.c.seq)):
        stored = text_pieces.unpacked(row["event"] for row in rows)
        for event in fragments.read(connection, session, EVENT, stored):
            yield "event", event


def _columns(table: Table, form: type[BaseModel], session: str) -> Select[Any]:
    columns = (table.c[name] for name in form.model_fields if name in table.c)
    return select(*columns).where(table.c.session == session)


def _batches(connection: Connection, query: Select[Any]) -> Iterator[Sequence[RowMapping]]:
    """The query's rows, fetched as they are consumed, from PostgreSQL as well."""
    with connection.execute(query.execution_options(yield_per=_BATCH)) as result:
        yield from result.mappings().partitions()


# -- in --------------------------------------------------------------------------------------------


def insert_all(connection: Connection, now: float, entries: Callable[[], Entries]) -> tuple[Session, ...]:
    """Make a session of each, last updated `now`; a run without an end becomes interrupted.

    A session whose title another one has gets a number behind it. `entries` is called once for each try of
    the transaction.
    """
    titles = FreeTitles(is_taken=partial(is_taken, connection))
    copies: list[Session] = []
    session: _NewSession | None = None
    for kind, entry in entries():
        if isinstance(entry, SessionEntry):
            copies += [] if session is None else [session.finish(now=now)]
            title = titles.give(entry.title)
            session = _NewSession(connection, entry, title=title, now=now)
        else:
            assert session is not None
            session.add(kind, entry)
    copies += [] if session is None else [session.finish(now=now)]
    return tuple(copies)


class _NewSession:
    """A session whose rows are being inserted, in batches of one kind."""

    def __init__(self, connection: Connection, entry: SessionEntry, *, title: str, now: float) -> None:
        self._connection = connection
        self.id = sessions.create(
            connection, now, entry.query, title=title, pool_label=entry.pool_label, origin="import"
        ).id
        sessions.change(
            connection,
            self.id,
            created_at=entry.created_at,
            head=entry.head,
            state="interrupted" if entry.state == "running" else entry.state,
            settings=entry.settings,
            conversation=entry.conversation,
        )
        for tag in entry.tags:
            sessions.add_tag(connection, self.id, tag)
        self._kind: Kind = "session"
        self._waiting: list[Any] = []
        self._numbers: Counter[Kind] = Counter()
        # What is set once all rows are there: columns by kind and row.
        self._later: defaultdict[Kind, list[dict[str, Any]]] = defaultdict(list)
        self._running: list[str] = []
        self._outputs = 0
        self._charges = _Charges(connection, self.id)

    def add(self, kind: Kind, entry: Entry) -> None:
        """Insert the entry, with those before it, once there are enough of them."""
        if kind != self._kind or len(self._waiting) == _BATCH:
            self._insert()
        self._kind = kind
        self._waiting.append(entry)

    def finish(self, *, now: float) -> Session:
        """Insert what waits, and set what could not be set before."""
        self._insert()
        for kind, changes in self._later.items():
            table = _TABLES[kind]
            columns: dict[str, Any] = {name: bindparam(f"new_{name}") for name in _LATER[kind]}
            if changes:
                update = table.update().where(table.c.id == bindparam("row")).values(columns)
                self._connection.execute(update, changes)
        self._charges.finish()
        for run_id in self._running:
            runs.interrupt(self._connection, now, run_id)
        return sessions.find(self._connection, self.id)

    def _insert(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        shared = Fragments()
        rows = [self._row(entry, shared) for entry in waiting]
        self._connection.execute(_TABLES[self._kind].insert(), rows)
        shared.keep(self._connection, session=self.id)
        if self._kind == "event":
            self._charges.add(waiting)
        elif self._kind == "plan":
            self._charges.add_plans(waiting)

    def _row(self, entry: Entry, shared: Fragments) -> dict[str, Any]:
        match entry:
            case ChargedPlanEntry() | RevisionEntry() | RunEntry() | ExperimentEntry():
                return self._numbered(entry, shared)
            case CorrectionEntry() | NoteEntry() | ChangeEntry():
                return {"session": self.id, **dict(entry)}
            case RatingEntry():
                return dict(entry)
            case Output():
                # A file has them in their order, without times.
                self._outputs += 1
                stored = shared.output(entry)
                return runs.output_row(entry, session=self.id, stored=stored, at=float(self._outputs))
            case SessionEntry():
                raise AssertionError("a session is inserted by itself")
            case _:
                return {"run": entry.run, "seq": entry.seq, "event": shared.event(entry)}

    def _numbered(self, entry: NumberedEntry, shared: Fragments) -> dict[str, Any]:
        kind = self._kind
        self._numbers[kind] += 1
        row = {**dict(entry), "session": self.id, "number": self._numbers[kind]}
        row.pop("charges", None)
        later = {f"new_{name}": row.get(name) for name in _LATER[kind]}
        row |= dict.fromkeys(_LATER[kind])
        if isinstance(entry, RevisionEntry):
            row["workflow"] = shared.workflow(entry.workflow)
            row |= {"topology": entry.workflow.topology, "steps": len(entry.workflow)}
        if isinstance(entry, RunEntry):
            row["owner"] = runs.IMPORTED
            if entry.status == "running":
                self._running.append(entry.id)
        if later:
            self._later[kind].append({"row": entry.id, **later})
        return row


class _Charges:
    """What the plans and runs took that are copied into a session, for its totals.

    Events of an earlier version have no charge of a request: those of a run have one for each step.
    """

    def __init__(self, connection: Connection, session: str) -> None:
        self._connection = connection
        self._session = session
        self._run = ""
        self._has_charges = False
        self._former: list[ledger_entry.LedgerEntry] = []
        self._kinds: dict[int, tuple[str, WorkerKind]] = {}

    def add_plans(self, plans: Sequence[ChargedPlanEntry]) -> None:
        """Add the requests for these plans; in a file of an earlier version each was one."""
        for plan in plans:
            kind, charges = plan.planner_kind, plan.charges
            if charges is None and kind != "offline":
                former = Charge(worker=plan.planner, kind=kind, purpose="earlier", usage=plan.usage)
                charges = (former,)
            entries = [ledger_entry.LedgerEntry(charge, plan.created_at) for charge in charges or ()]
            ledger.add_copies(self._connection, entries, session=self._session, plan=plan.id)

    def add(self, events: Sequence[Event]) -> None:
        """Add those of these events, which come run by run."""
        ledger.add_of_runs(self._connection, events, copied=True)
        for event in events:
            if event.run != self._run:
                self.finish()
                self._run, self._has_charges = event.run, False
            self._has_charges = self._has_charges or any(True for _ in ledger_entry.entries_of(event))
            self._former += [] if self._has_charges else self._former_entries(event)

    def finish(self) -> None:
        """Add those of the last run, where its events are of an earlier version."""
        former, self._former = self._former, []
        if former and not self._has_charges:
            ledger.add_copies(self._connection, former, session=self._session, run=self._run)

    def _former_entries(self, event: Event) -> Iterator[ledger_entry.LedgerEntry]:
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
            yield ledger_entry.LedgerEntry(charge, event.at, event.step)


class FreeTitles:
    """Titles for sessions that are imported together: none that another session of the store has.

    Titles that are equal in the file stay equal, as they were in the store that it was written from.
    """

    def __init__(self, *, is_taken: Callable[[str], bool]) -> None:
        self._is_taken = is_taken
        self._titles: set[str] = set()
        self._numbered: set[str] = set()
        # By title without a number: all up to this one are taken, so that no title is looked up twice.
        self._numbers: dict[str, int] = {}

    def give(self, title: str) -> str:
        """The title, with the next free number behind it where it is taken."""
        if title in self._titles or not self._is_another(title):
            self._titles.add(title)
            return title
        bare = _NUMBER.sub("", title)
        number = self._numbers.get(bare, 1)
        candidate = title
        while candidate == title or candidate in self._titles or self._is_another(candidate):
            number += 1
            mark = f" ({number})"
            candidate = f"{bare[: sessions.MAX_TITLE - len(mark)]}{mark}"
        self._numbers[bare] = number
        self._numbered.add(candidate)
        return candidate

    def _is_another(self, title: str) -> bool:
        return title in self._numbered or self._is_taken(title)


def is_taken(connection: Connection, title: str) -> bool:
    """Whether a session that is not deleted has this title."""
    named = exists().where(SESSIONS.c.title == title, SESSIONS.c.deleted_at.is_(None))
    return bool(connection.scalar(select(named)))
