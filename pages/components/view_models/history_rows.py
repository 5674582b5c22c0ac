"""A session's revisions as rows of its history: what each did, who made it, what was run of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conductor.text.formatting import counted
from conductor.workflow.file import Origin
from conductor.workflow.history import HistoryRow, history
from pages.components.view_models.comparable import clock
from pages.components.view_models.statuses import state_label
from storage import RevisionEntry, RunRecord

_NOTES: dict[Origin, str] = {"conductor": "Planned", "human": "Edited", "import": "Imported"}
_MAKERS: dict[Origin, str] = {"conductor": "Conductor", "human": "a person", "import": "a file"}


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """A revision in the tree. `facts` are short sayings of it, `runs` one for each of its runs, oldest first;
    `head` is whether it is the current one, and `place` where its lines go.
    """

    entry: RevisionEntry
    place: HistoryRow
    head: bool
    runs: tuple[str, ...]

    @property
    def note(self) -> str:
        """What it did."""
        return " ".join(self.entry.note.split()) or _NOTES[self.entry.origin]

    @property
    def facts(self) -> tuple[str, ...]:
        """Who made it, when, and what it is."""
        entry = self.entry
        shape = f"{entry.topology}, {counted(entry.steps, 'step')}"
        return (f"by {maker(entry)}", clock(entry.created_at), shape)

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


def maker(entry: RevisionEntry) -> str:
    """Who made a revision."""
    return entry.author or _MAKERS[entry.origin]


def revision_rows(
    entries: Sequence[RevisionEntry], runs: Sequence[RunRecord], *, head: str | None
) -> tuple[RevisionRow, ...]:
    """The rows, newest first; `entries` are given oldest first, `runs` newest first."""
    known = {entry.id: entry for entry in entries}
    said: dict[str, list[str]] = {}
    for number, run in enumerate(reversed(runs), start=1):
        said.setdefault(run.revision, []).append(f"Run {number} {state_label(run.status)}")
    return tuple(
        RevisionRow(known[row.id], row, head=row.id == head, runs=tuple(said.get(row.id, ())))
        for row in history({entry.id: entry.parent for entry in entries}, head)
    )
