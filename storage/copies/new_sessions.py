"""New sessions made of entries: their rows in small steps, which no list shows before all of them are there.

The entries are checked already and have the ids of the new rows; here they get their numbers. All is made
ready outside of transactions: a step may be performed a second time, where its first transaction failed.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam

from conductor.errors import StorageError
from conductor.runs.events import Event
from conductor.runs.state import RunState
from conductor.values.output import Output
from storage.copies.copied_charges import CopiedCharges
from storage.copies.free_titles import FreeTitles
from storage.copies.session_copy import TABLES
from storage.database.schema import RUNS, SESSIONS, TAGS
from storage.database.time_slice import slice_of
from storage.fragments import Fragments
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
from storage.tables import runs, sessions
from storage.tables.rows import new_id

Entries = Iterable[tuple[Kind, Entry]]
"""Of one session or several, each beginning with its `SessionEntry`, all in the order of `ENTRIES`."""

LIFETIME = 86_400.0
"""Seconds after which sessions are removed that were not shown by then: their import was killed."""

_ROWS = 25
"""Rows that a step inserts at most."""

_CHARACTERS = 250_000
"""Of long texts, with which a step is full, and with which those made ready together are."""

_READY = 40
"""Steps that are made ready together."""

_LATER: Mapping[Kind, tuple[str, ...]] = {
    "plan": ("looks_back",),
    "revision": ("parent", "looks_back"),
    "run": ("parent", "experiment"),
    "experiment": (),
}
"""Columns that are set once all rows are there: they refer to rows that may come later."""


class Step(NamedTuple):
    """What one statement or a few insert, and the characters of its long texts."""

    perform: Callable[[Connection], object]
    characters: int = 0


def perform(connection: Connection, steps: Sequence[Step]) -> int:
    """Perform the first of the steps, one at least; how many."""
    count = 0
    for step in slice_of(steps):
        step.perform(connection)
        count += 1
    return count


class NewSessions:
    """Sessions that are being inserted, last updated `now`; `ids` are of those that have steps.

    A session whose title another one has gets a number behind it. A run without an end becomes interrupted.
    """

    def __init__(self, now: float, titles: FreeTitles) -> None:
        self.ids: list[str] = []
        self._now = now
        self._titles = titles
        # No other import has the same, so it is also what the sessions of this one are found by.
        self._expires_at = now + LIFETIME + secrets.randbelow(10**8) / 1e6

    def steps(self, entries: Entries) -> Iterator[Sequence[Step]]:
        """What inserts the sessions, as many steps at a time as may be in memory together."""
        ready: list[Step] = []
        for step in self._each(entries):
            ready.append(step)
            if len(ready) == _READY or sum(each.characters for each in ready) > _CHARACTERS:
                yield ready
                ready = []
        yield ready

    def show(self, connection: Connection) -> None:
        """Have every list show the sessions. Raises `StorageError` where some were removed."""
        own = SESSIONS.c.expires_at == self._expires_at
        listing = SESSIONS.update().where(own).values(deleted_at=None, expires_at=None)
        if connection.execute(listing).rowcount != len(self.ids):
            raise StorageError(
                "The import took longer than a day, and its first sessions were removed: nothing was "
                "imported. Import fewer sessions at a time."
            )

    def _each(self, entries: Entries) -> Iterator[Step]:
        session: _NewSession | None = None
        for kind, entry in entries:
            if isinstance(entry, SessionEntry):
                if session is not None:
                    yield from session.finish()
                session = _NewSession(new_id(), now=self._now)
                self.ids.append(session.id)
                yield session.begin(entry, self._titles.give(entry.title), expires_at=self._expires_at)
            else:
                assert session is not None
                yield from session.add(kind, entry)
        if session is not None:
            yield from session.finish()


def give_up(connection: Connection, ids: Sequence[str]) -> None:
    """The time of these sessions is over: an open store removes them soon."""
    own = SESSIONS.c.id.in_(ids) & SESSIONS.c.expires_at.is_not(None)
    connection.execute(SESSIONS.update().where(own).values(updated_at=0.0, expires_at=0.0))


class _NewSession:
    """A session whose rows are made ready, in batches of one kind."""

    def __init__(self, id: str, *, now: float) -> None:
        self.id = id
        self._now = now
        self._kind: Kind = "session"
        self._rows: list[dict[str, Any]] = []
        self._charged: list[Any] = []
        self._shared = Fragments()
        self._numbers: Counter[Kind] = Counter()
        # What is set once all rows are there: columns by kind and row.
        self._later: defaultdict[Kind, list[dict[str, Any]]] = defaultdict(list)
        # The runs without an end, each as far as its events are there.
        self._live: dict[str, RunState] = {}
        self._outputs = 0
        self._charges = CopiedCharges(id)

    def begin(self, entry: SessionEntry, title: str, *, expires_at: float) -> Step:
        columns = {name: value for name, value in entry if name in SESSIONS.c}
        columns |= {
            "id": self.id,
            "title": sessions.title_of(title, query=entry.query),
            "state": "interrupted" if entry.state == "running" else entry.state,
            "origin": "import",
            "updated_at": self._now,
            "deleted_at": self._now,
            "expires_at": expires_at,
        }
        tags = [{"session": self.id, "tag": tag} for tag in dict.fromkeys(map(sessions.tag_of, entry.tags))]

        def insert(connection: Connection) -> None:
            sessions.insert(connection, self._now, **columns)
            if tags:
                connection.execute(TAGS.insert(), tags)

        return Step(insert)

    def add(self, kind: Kind, entry: Entry) -> Iterator[Step]:
        """Make the entry's row; the step for those before it, once there are enough of them."""
        if kind != self._kind or len(self._rows) == _ROWS or self._shared.characters > _CHARACTERS:
            yield from self._insert()
        self._kind = kind
        self._rows.append(self._row(entry, self._shared))
        if kind in ("plan", "event"):
            self._charged.append(entry)

    def finish(self) -> Iterator[Step]:
        """Insert what waits, and set what could not be set before."""
        for run, state in self._live.items():
            end = runs.interrupted_end(state, run=run, seq=state.seq + 1, at=self._now)
            yield from self.add("event", end)
            ending = RUNS.update().where(RUNS.c.id == run).values(finished_at=end.at, answer=end.answer)
            yield Step(partial(_execute, statement=ending))
        yield from self._insert()
        for kind, changes in self._later.items():
            table = TABLES[kind]
            columns: dict[str, Any] = {name: bindparam(f"new_{name}") for name in _LATER[kind]}
            update = table.update().where(table.c.id == bindparam("row")).values(columns)
            for start in range(0, len(changes), _ROWS):
                yield Step(partial(_execute, statement=update, rows=changes[start : start + _ROWS]))
        yield Step(self._charges.finish())

    def _insert(self) -> Iterator[Step]:
        if not self._rows:
            return
        table, rows, shared = TABLES[self._kind], self._rows, self._shared
        charged = self._charges.of(self._charged)
        self._rows, self._charged, self._shared = [], [], Fragments()

        def insert(connection: Connection) -> None:
            connection.execute(table.insert(), rows)
            shared.keep(connection, session=self.id)
            charged(connection)

        yield Step(insert, shared.characters)

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
                return self._event(entry, shared)

    def _event(self, event: Event, shared: Fragments) -> dict[str, Any]:
        if event.run in self._live:
            self._live[event.run] = runs.state_of([event], self._live[event.run])
        return {"run": event.run, "seq": event.seq, "event": shared.event(event)}

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
                self._live[entry.id] = RunState()
                # No other process may take it for the run of one that died.
                row["status"] = "interrupted"
        if any(value is not None for value in later.values()):
            self._later[kind].append({"row": entry.id, **later})
        return row


def _execute(
    connection: Connection, *, statement: Any, rows: Sequence[Mapping[str, Any]] | None = None
) -> None:
    connection.execute(statement, rows)
