"""The texts about an edit that met another person's edit: who changed what meanwhile, and why both cannot
stand.

Pure: knows revisions, workflows and their difference, no Streamlit. What it gives is plain text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conductor.workflow.diff import PlanDiff
from conductor.workflow.merge import Clash, Kind
from conductor.workflow.model import MAX_STEPS, Workflow
from pages.components.view_models.card_content import step_name
from pages.components.view_models.comparable import clock
from pages.components.view_models.plan_text import row_name, row_text, sentences
from storage import RevisionEntry

_BOTH: Mapping[Kind, str] = {
    "worker": "the worker",
    "instruction": "the instruction",
    "sampling": "the parameters",
    "pin": "the pinned output",
    "sees_previous": "the view of the round before",
}

_OF_STEP: Mapping[Kind, str] = {
    "they_removed": "You changed “{step}”, which was removed meanwhile.",
    "you_removed": "You removed “{step}”, which was changed meanwhile.",
    "they_removed_read": "You let a step read “{step}”, which was removed meanwhile.",
    "you_removed_read": "You removed “{step}”, which another step was allowed to read meanwhile.",
}

_OF_ALL: Mapping[Kind, str] = {
    "order": "The steps were moved so that one would come before what it reads.",
    "final": "Both edits change which step is the last one, whose response is the answer.",
    "steps": f"Together they would leave no step, or more than {MAX_STEPS}.",
}


def clash_sentence(clash: Clash, edited: Workflow) -> str:
    """Why the two edits of a workflow cannot both stand."""
    if clash.step is None:
        return _OF_ALL[clash.kind]
    step = step_name(edited, clash.step)
    if clash.kind in _BOTH:
        return f"Both edits change {_BOTH[clash.kind]} of “{step}”."
    return _OF_STEP[clash.kind].format(step=step)


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """How a session came from one revision to another: by those `made`, after leaving those `undone`; each
    oldest first.
    """

    made: tuple[RevisionEntry, ...]
    undone: tuple[RevisionEntry, ...]


def meanwhile(entries: Sequence[RevisionEntry], *, edited: str, head: str) -> Meanwhile:
    """The way between two of a session's revisions, which are given oldest first."""
    known = {entry.id: entry for entry in entries}
    before, now = _line(known, edited), _line(known, head)
    return Meanwhile(
        made=tuple(entry for id, entry in now.items() if id not in before),
        undone=tuple(entry for id, entry in before.items() if id not in now),
    )


def _line(known: Mapping[str, RevisionEntry], revision: str) -> dict[str, RevisionEntry]:
    """A revision and what it was made of, oldest first."""
    line: list[RevisionEntry] = []
    at = known.get(revision)
    while at is not None:
        line.append(at)
        at = None if at.parent is None else known.get(at.parent)
    return {entry.id: entry for entry in reversed(line)}


def origin_text(entry: RevisionEntry) -> str:
    """Who made a revision, and when."""
    return f"Revision {entry.number}, by {_maker(entry)}, {clock(entry.created_at)}"


def _maker(entry: RevisionEntry) -> str:
    if entry.origin == "conductor":
        return "the Conductor"
    return entry.author or "another person or another tab"


def news(way: Meanwhile, head: RevisionEntry) -> str:
    """What another person did to a session that a page shows, in a sentence; `head` is its revision now."""
    if not way.made:
        return f"Revision {head.number} is the current one again; what came after it was undone elsewhere."
    last = way.made[-1]
    return f"Changed by {_maker(last)}: {last.note or 'revision'} (revision {last.number})."


def change_lines(diff: PlanDiff) -> list[str]:
    """What differs but the instructions' words, a line a step; steps that are the same are left out."""
    return [f"{row_name(diff, row)}: {said}" for row in diff.rows if (said := _row_text(diff, row))]


def _row_text(diff: PlanDiff, row: tuple[int | None, int | None]) -> str:
    old, new = row
    if old is None or new is None:
        return ", ".join(row_text(diff, row))
    return " ".join(sentences(diff, diff.of_new[new]))
