"""A session's revisions in words: the rows of its history, and what happened between two of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from conductor.text.formatting import quantity
from conductor.workflow.file import Origin
from conductor.workflow.history import HistoryRow, history
from pages.components.view_models.run_text import clock, state_label
from storage import RevisionSummary, RunRecord
from studio.workbench.comparison.revision_tests import Passed

_NOTES: dict[Origin, str] = {"conductor": "Planned", "human": "Edited", "import": "Imported"}
_MAKERS: dict[Origin, str] = {"conductor": "Conductor", "human": "a person", "import": "a file"}


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """A revision in the tree. `runs` are words for each of its runs, oldest first; `head` is whether it is
    the current one, and `place` where its lines go. `tested` is how it does on the team's tests, or None if
    no test was asked.
    """

    entry: RevisionSummary
    place: HistoryRow
    head: bool
    runs: tuple[str, ...]
    tested: Passed | None = None

    @property
    def note(self) -> str:
        return " ".join(self.entry.note.split()) or _NOTES[self.entry.origin]

    @property
    def facts(self) -> tuple[str, ...]:
        """Who made it, when, and what it is."""
        entry = self.entry
        shape = f"{entry.topology}, {quantity(entry.steps, 'step')}"
        return (f"by {entry.author or _MAKERS[entry.origin]}", clock(entry.created_at), shape)

    @property
    def tests(self) -> tuple[str, ...]:
        """How many of the tests with a result it passes, and how many are open."""
        if self.tested is None:
            return ()
        passed = (
            f"{self.tested.right:,}/{quantity(self.tested.verdicts, 'test')}" if self.tested.verdicts else ""
        )
        left = f"{quantity(self.tested.open, 'test')} open" if self.tested.open else ""
        return tuple(filter(None, (passed, left)))

    @property
    def tests_in_words(self) -> str:
        """The same as a sentence, with the reasons why tests are open; "" if no test was asked."""
        if self.tested is None:
            return ""
        parts = {
            f"{self.tested.right:,} of {quantity(self.tested.verdicts, 'test')} passed": self.tested.verdicts,
            f"{self.tested.unjudged:,} answered and not judged": self.tested.unjudged,
            f"{self.tested.unasked:,} not asked of this revision": self.tested.unasked,
        }
        return ", ".join(words for words, count in parts.items() if count)

    @property
    def standing(self) -> str:
        """Where it stands to the current one: "current", "undone" where redo leads to it, "branch" beside the
        line of these, else "".
        """
        if self.head:
            return "current"
        if self.place.current:
            return ""
        return "branch" if self.place.lane else "undone"


def revision_rows(
    entries: Sequence[RevisionSummary],
    runs: Sequence[RunRecord],
    *,
    head: str | None,
    redo: Mapping[str, str],
    tested: Mapping[str, Passed] = MappingProxyType({}),
) -> tuple[RevisionRow, ...]:
    """The rows, newest first; `entries` are given oldest first, `runs` newest first. By revision: `redo` has
    where redo leads from it, `tested` its tests.
    """
    by_id = {entry.id: entry for entry in entries}
    words: dict[str, list[str]] = {}
    for number, run in enumerate(reversed(runs), start=1):
        words.setdefault(run.revision, []).append(f"Run {number} {state_label(run.status)}")
    return tuple(
        RevisionRow(
            by_id[row.id],
            row,
            head=row.id == head,
            runs=tuple(words.get(row.id, ())),
            tested=tested.get(row.id),
        )
        for row in history({entry.id: entry.parent for entry in entries}, head, redo)
    )


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """How a session came from one revision to another: by the `new` ones, after leaving those `undone`; each
    oldest first.
    """

    new: tuple[RevisionSummary, ...]
    undone: tuple[RevisionSummary, ...]


def meanwhile(entries: Sequence[RevisionSummary], *, edited: str, head: str) -> Meanwhile:
    """The way between two of a session's revisions, which are given oldest first."""
    by_id = {entry.id: entry for entry in entries}
    before, now = _line(by_id, edited), _line(by_id, head)
    return Meanwhile(
        new=tuple(entry for id, entry in now.items() if id not in before),
        undone=tuple(entry for id, entry in before.items() if id not in now),
    )


def _line(by_id: Mapping[str, RevisionSummary], revision: str) -> dict[str, RevisionSummary]:
    """A revision and what it was made of, oldest first."""
    line: list[RevisionSummary] = []
    at = by_id.get(revision)
    while at is not None:
        line.append(at)
        at = None if at.parent is None else by_id.get(at.parent)
    return {entry.id: entry for entry in reversed(line)}


def origin_text(entry: RevisionSummary) -> str:
    """Who made a revision, and when."""
    return f"Revision {entry.number}, by {_other_maker(entry)}, {clock(entry.created_at)}"


def news(way: Meanwhile, head: RevisionSummary) -> str:
    """What another person did to a session that a page shows, in a sentence; `head` is its revision now."""
    if not way.new:
        return f"Revision {head.number} is the current one again; later changes were undone elsewhere."
    last = way.new[-1]
    return f"Changed by {_other_maker(last)}: {last.note or 'revision'} (revision {last.number})."


def _other_maker(entry: RevisionSummary) -> str:
    if entry.origin == "conductor":
        return "the Conductor"
    return entry.author or "another person or another tab"
