"""The difference between two workflows in words and marks: a headline, a line a step, signs for the graphs.

Pure: knows workflows and their difference, no Streamlit. What it gives is plain text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from conductor.drawing.network import CardChange, EdgeChange
from conductor.text.formatting import counted
from conductor.values.messages import Sampling
from conductor.workflow.diff import Change, PlanDiff, StepPair
from conductor.workflow.model import Step
from pages.components.view_models.card_content import step_name

Which = Literal["left", "right"]

CHANGE_NAMES: Mapping[Change, str] = {
    "moved": "moved",
    "worker": "worker",
    "instruction": "instruction",
    "access": "access",
    "sampling": "parameters",
    "pin": "pin",
    "sees_previous": "view of the round before",
}
"""What changed of a step, in a word or few."""


def headline(diff: PlanDiff) -> str:
    """How two plans differ, in one sentence."""
    changed = sum(bool(set(pair.changes) - {"moved"}) for pair in diff.pairs)
    moved = sum(pair.changes == ("moved",) for pair in diff.pairs)
    counts = {"changed": changed, "moved": moved, "added": len(diff.added), "removed": len(diff.removed)}
    said = [f"{counted(count, 'step')} {what}" for what, count in counts.items() if count]
    if not said:
        return "The plans are the same."
    same = sum(pair.same for pair in diff.pairs)
    return f"{', '.join(said)}; {counted(same, 'step')} the same." if same else f"{', '.join(said)}."


def card_change(diff: PlanDiff, step: int, which: Which) -> CardChange:
    """The mark on a step's card on one side."""
    pair = (diff.of_old if which == "left" else diff.of_new).get(step)
    if pair is None:
        return "removed" if which == "left" else "added"
    return _pair_change(pair)


def _pair_change(pair: StepPair) -> CardChange:
    if pair.same:
        return ""
    return "moved" if pair.changes == ("moved",) else "edited"


def card_text(diff: PlanDiff, step: int, which: Which) -> tuple[str, ...]:
    """The text about its change that a card shows beside the mark."""
    pair = (diff.of_old if which == "left" else diff.of_new).get(step)
    if pair is None:
        return ("removed" if which == "left" else "added",)
    return tuple(CHANGE_NAMES[change] for change in pair.changes)


def edge_changes(diff: PlanDiff, which: Which) -> dict[tuple[int, int], EdgeChange]:
    """The accesses of one side that the other has not, as (read, reader), without those of a step that is
    itself added or removed.
    """
    if which == "left":
        return {(read, pair.old): "removed" for pair in diff.pairs for read in pair.lost}
    return {(read, pair.new): "added" for pair in diff.pairs for read in pair.gained}


def row_name(diff: PlanDiff, row: tuple[int | None, int | None]) -> str:
    """A row of steps by its number (both, where they differ) and title."""
    old, new = row
    if new is None:
        assert old is not None, "a row has a step"
        return step_name(diff.old, old)
    name = step_name(diff.new, new)
    return name if old is None or old == new else f"{old + 1} → {name}"


def row_text(diff: PlanDiff, row: tuple[int | None, int | None]) -> tuple[str, ...]:
    """What happened to a row's step, in a word or few each."""
    old, new = row
    if old is None:
        return ("added",)
    return ("removed",) if new is None else card_text(diff, new, "right")


def sentences(diff: PlanDiff, pair: StepPair) -> list[str]:
    """What changed of a step but its instruction, a sentence each."""
    old, new = diff.old.steps[pair.old], diff.new.steps[pair.new]
    said: list[str] = []
    for change in pair.changes:
        match change:
            case "moved":
                said.append(f"Moved from place {pair.old + 1} to place {pair.new + 1}.")
            case "worker":
                said.append(f"Worker: {old.worker} → {new.worker}.")
            case "access":
                said += _access(diff, pair)
            case "sampling":
                said.append(f"Parameters: {parameters(old.sampling)} → {parameters(new.sampling)}.")
            case "pin":
                said.append(_pin(old, new))
            case "sees_previous":
                said.append(
                    "Sees the round before." if new.sees_previous else "No longer sees the round before."
                )
    return said


def _access(diff: PlanDiff, pair: StepPair) -> list[str]:
    said = []
    if pair.lost:
        said.append(f"No longer reads {'; '.join(_lost_name(diff, read) for read in pair.lost)}.")
    if pair.gained:
        said.append(f"Now reads {'; '.join(f'“{step_name(diff.new, read)}”' for read in pair.gained)}.")
    return said


def _lost_name(diff: PlanDiff, step: int) -> str:
    name = f"“{step_name(diff.old, step)}”"
    return name if step in diff.of_old else f"{name} (removed)"


def parameters(sampling: Sampling) -> str:
    """What was asked of a worker beside its task; unsaid is "as the worker has it"."""
    said = [] if sampling.temperature is None else [f"temperature {sampling.temperature:g}"]
    said += [] if sampling.max_tokens is None else [f"at most {counted(sampling.max_tokens, 'token')}"]
    return ", ".join(said) or "as the worker has them"


def _pin(old: Step, new: Step) -> str:
    if new.pin is None:
        return "No longer pinned."
    return "Pinned." if old.pin is None else "Pinned at another text."
