"""Checks that a session's entries fit together: each refers to existing ones, in order, in no circle.

Stores ids only, so that a large file is checked without being in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import cast

from conductor.errors import FormatError
from conductor.runs.events import Event, RunFinished
from storage.session_entries import ENTRIES, REFERENCES, Entry, Kind, RunEntry
from studio.session_file.format import MAX_ENTRIES
from studio.session_file.reading import RawEntry

Row = tuple[Kind, str]
"""An entry's kind and key."""

_PLACES = {kind: place for place, kind in enumerate(ENTRIES)}

_KEYS: Mapping[Kind, str] = {
    "plan": "id",
    "revision": "id",
    "run": "id",
    "experiment": "id",
    "correction": "revision",
    "rating": "run",
    "note": "id",
    "change": "id",
    "output": "fingerprint run step",
}
"""The fields in which no two entries of a kind agree."""


class Consistency:
    """The check of one session; `counts` are its entries so far, by kind."""

    def __init__(self) -> None:
        self.counts: Counter[Kind] = Counter()
        self._kind: Kind = "session"
        # What each entry refers to.
        self._rows: dict[Row, tuple[Row, ...]] = {}
        # Where an entry is referred to first, whether it exists or not.
        self._referred: dict[Row, str] = {}
        # The place and the status of each run, and the status after its events.
        self._statuses: dict[str, tuple[str, str]] = {}
        self._last_events: dict[str, int] = {}
        self._ends: dict[str, str] = {}

    @property
    def runs(self) -> frozenset[str]:
        """The ids of the session's runs so far."""
        return frozenset(self._statuses)

    def checked(self, entries: Iterable[RawEntry]) -> Iterator[Entry]:
        """The session's entries. Raises `FormatError` where one is wrong, or does not fit to the others."""
        for raw in entries:
            entry = raw.checked()
            self._add(raw.kind, entry, where=raw.where)
            yield entry
        self._finish()

    def _add(self, kind: Kind, entry: Entry, *, where: str) -> None:
        if kind != "session" and not self.counts:
            raise _wrong(where, 'a session begins with its "session"')
        if _PLACES[kind] < _PLACES[self._kind]:
            raise _wrong(where, f"a session's {self._kind}s come after its {kind}s")
        self._kind = kind
        self.counts[kind] += 1
        if self.counts[kind] > MAX_ENTRIES and kind != "event":
            raise _wrong(where, f"a session has at most {MAX_ENTRIES:,} {kind}s")
        if kind == "event":
            self._event(cast("Event", entry), where)
            return
        names = REFERENCES.get(kind, {}).items()
        refers = tuple((other, id) for name, other in names if (id := getattr(entry, name)) is not None)
        for row in refers:
            self._referred.setdefault(row, where)
        if kind in _KEYS:
            fields = [str(getattr(entry, name)) for name in _KEYS[kind].split()]
            key = fields[0] if len(fields) == 1 else repr(fields)
            if (kind, key) in self._rows:
                raise _wrong(where, f"it is the second {kind} for {fields[0][:60]!r}")
            self._rows[kind, key] = refers
        if isinstance(entry, RunEntry):
            self._statuses[entry.id] = (where, entry.status)

    def _event(self, event: Event, where: str) -> None:
        last = self._last_events.get(event.run, -1)
        if event.run not in self._statuses:
            raise _wrong(where, f"the run {event.run[:60]!r} of its event is not in the file")
        if event.seq <= last:
            raise _wrong(where, f"event {event.seq} of the run {event.run[:60]!r} comes after {last}")
        self._last_events[event.run] = event.seq
        if isinstance(event, RunFinished):
            self._ends[event.run] = event.outcome

    def _finish(self) -> None:
        for (kind, id), where in self._referred.items():
            if (kind, id) not in self._rows:
                raise _wrong(where, f"the {kind} {id[:60]!r} that it refers to is not in the file")
        for run, (where, status) in self._statuses.items():
            if self._ends.get(run, "running") != status:
                raise _wrong(where, f"the run {run[:60]!r} is {status}, which its events do not show")
        try:
            TopologicalSorter(self._rows).prepare()
        except CycleError as error:
            rows = ", ".join(f"{kind} {id[:60]!r}" for kind, id in error.args[1][:3])
            raise FormatError(f"The entries of the file refer to one another in a circle: {rows}.") from error


def _wrong(where: str, what: str) -> FormatError:
    return FormatError(f"{where} is wrong: {what}.")
