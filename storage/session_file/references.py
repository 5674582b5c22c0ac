"""Whether the entries of a file fit together: what refers to what, in which order, and nothing to nothing.

Remembers ids only, so that a large file is judged without being held.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from conductor.errors import FormatError
from conductor.events import RunFinished
from conductor.output import Output
from storage.session_entries import (
    CorrectionEntry,
    Entry,
    ExperimentEntry,
    Kind,
    PlanEntry,
    RatingEntry,
    RevisionEntry,
    RunEntry,
    Section,
    SessionEntry,
)
from storage.text import plain

MAX_ROWS = 20_000
"""Plans, revisions, runs and experiments of one session together, and its outputs and judgements."""

Row = tuple[Kind, str]

REFERENCES: Mapping[Section, Mapping[str, Kind]] = {
    "session": {"head": "revisions"},
    "plans": {"looks_back": "runs"},
    "revisions": {"parent": "revisions", "plan": "plans", "looks_back": "runs"},
    "runs": {"revision": "revisions", "parent": "runs", "experiment": "experiments"},
    "experiments": {"base": "runs"},
    "corrections": {"revision": "revisions", "plan": "plans", "planned": "revisions"},
    "ratings": {"run": "runs"},
}
"""Which fields of an entry hold the id of another one."""


@dataclass
class References:
    """What one session's entries have said so far; `check` once all of them were added."""

    _rows: dict[Row, tuple[Row, ...]] = field(default_factory=dict)
    _others: set[Row] = field(default_factory=set)
    _once: set[tuple[Section, str]] = field(default_factory=set)
    _statuses: dict[str, str] = field(default_factory=dict)
    _last_events: dict[str, int] = field(default_factory=dict)
    _ends: dict[str, str] = field(default_factory=dict)

    def add(self, section: Section, entry: Entry) -> None:
        """Note an entry. Raises `FormatError` where it repeats another one or comes too early."""
        refers = tuple(
            (kind, named)
            for name, kind in REFERENCES.get(section, {}).items()
            if (named := getattr(entry, name)) is not None
        )
        match entry:
            case PlanEntry():
                self._row("plans", entry.id, refers)
            case RevisionEntry():
                self._row("revisions", entry.id, refers)
            case ExperimentEntry():
                self._row("experiments", entry.id, refers)
            case RunEntry():
                self._row("runs", entry.id, refers)
                self._statuses[entry.id] = entry.status
            case SessionEntry():
                self._others.update(refers)
            case CorrectionEntry():
                self._single(section, entry.revision)
                self._others.update(refers)
            case RatingEntry():
                self._single(section, entry.run)
                self._others.update(refers)
            case Output():
                self._single(section, plain(entry.fingerprint))
            case _:
                self._event(entry.run, entry.seq)
                if isinstance(entry, RunFinished):
                    self._ends[entry.run] = entry.outcome

    def check(self) -> list[Row]:
        """The rows, each after those that it refers to. Raises `FormatError` where they do not fit."""
        for row, refers in self._rows.items():
            for named in refers:
                self._known(named, by=f"{row[0]} {row[1]!r}")
        for named in self._others:
            self._known(named, by="it")
        for run in self._last_events:
            self._known(("runs", run), by="its events")
        for run, status in self._statuses.items():
            if self._ends.get(run, "running") != status:
                raise FormatError(
                    f"The file says that the run {run[:60]!r} is {status}, which its events do not tell."
                )
        try:
            return list(TopologicalSorter(self._rows).static_order())
        except CycleError as error:
            rows = ", ".join(f"{kind} {named[:60]!r}" for kind, named in error.args[1][:3])
            raise FormatError(f"The file's entries refer to one another in a circle: {rows}.") from error

    def _row(self, kind: Kind, named: str, refers: tuple[Row, ...]) -> None:
        if (kind, named) in self._rows:
            raise FormatError(f"The file has two of its {kind} under the id {named[:60]!r}.")
        if len(self._rows) == MAX_ROWS:
            raise _too_many()
        self._rows[kind, named] = refers

    def _single(self, section: Section, named: str) -> None:
        if (section, named) in self._once:
            raise FormatError(f"The file has two {section} for {named[:60]!r}.")
        if len(self._once) == MAX_ROWS:
            raise FormatError(f"The file has more than {MAX_ROWS:,} {section}, which is none of ours.")
        self._once.add((section, named))

    def _event(self, run: str, seq: int) -> None:
        last = self._last_events.get(run, -1)
        if seq <= last:
            raise FormatError(
                f"The file's events of the run {run[:60]!r} are out of order: {seq} comes after {last}."
            )
        self._last_events[run] = seq
        if len(self._last_events) > MAX_ROWS:
            raise _too_many()

    def _known(self, row: Row, *, by: str) -> None:
        if row not in self._rows:
            raise FormatError(
                f"The file is not whole: {by[:100]} refers to {row[0]} {row[1][:60]!r}, which are not there."
            )


def _too_many() -> FormatError:
    return FormatError(
        f"The file's session has more than {MAX_ROWS:,} plans, revisions and runs, which is none of ours."
    )
