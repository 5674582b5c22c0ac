"""The difference between two workflows in words and marks: a headline, a line a step, signs for the graphs,
and why two edits of one workflow cannot both stand. Pure; the texts are plain, without Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from conductor.drawing.network import CardChange
from conductor.text.formatting import quantity
from conductor.values.messages import Sampling
from conductor.workflow.diff import Change, EdgeChange, PlanDiff, StepPair
from conductor.workflow.merge import Clash, Kind
from conductor.workflow.model import MAX_STEPS, Workflow
from conductor.workflow.step_tools import tools_words
from pages.components.view_models.workflow.card_content import step_name

Which = Literal["left", "right"]

CHANGE_NAMES: Mapping[Change, str] = {
    "moved": "moved",
    "worker": "worker",
    "instruction": "instruction",
    "access": "access",
    "sampling": "parameters",
    "prompt_style": "prompt style",
    "pin": "pin",
    "sees_previous": "view of the previous round",
    "sees_files": "view of the files",
    "tools": "tools",
    "gate": "gate",
    "on_failure": "failure rule",
}
"""What changed of a step, in a word or few."""


def headline(diff: PlanDiff) -> str:
    """How two plans differ, in one sentence."""
    changed = sum(bool(set(pair.changes) - {"moved"}) for pair in diff.pairs)
    moved = sum(pair.changes == ("moved",) for pair in diff.pairs)
    if not diff.pairs:
        return f"The plans share no step: {quantity(len(diff.removed), 'step')} and {len(diff.added)}."
    counts = {"changed": changed, "moved": moved, "added": len(diff.added), "removed": len(diff.removed)}
    changes = ", ".join(f"{quantity(count, 'step')} {what}" for what, count in counts.items() if count)
    if not changes:
        return "The plans are the same."
    same = sum(pair.same for pair in diff.pairs)
    return f"{changes}; {quantity(same, 'step')} the same." if same else f"{changes}."


def card_change(diff: PlanDiff, step: int, which: Which) -> CardChange:
    """The mark on a step's card on one side."""
    pair = _pair(diff, step, which)
    if pair is None:
        return "removed" if which == "left" else "added"
    if pair.same:
        return ""
    return "moved" if pair.changes == ("moved",) else "edited"


def card_text(diff: PlanDiff, step: int, which: Which) -> tuple[str, ...]:
    """The text about its change that a card shows beside the mark."""
    pair = _pair(diff, step, which)
    if pair is None:
        return ("removed" if which == "left" else "added",)
    return tuple(CHANGE_NAMES[change] for change in pair.changes)


def _pair(diff: PlanDiff, step: int, which: Which) -> StepPair | None:
    return (diff.of_old if which == "left" else diff.of_new).get(step)


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
    return [sentence for change in pair.changes for sentence in _of_change(diff, pair, change)]


def _of_change(diff: PlanDiff, pair: StepPair, change: Change) -> list[str]:
    old, new = diff.old.steps[pair.old], diff.new.steps[pair.new]
    match change:
        case "moved":
            return [f"Moved from place {pair.old + 1} to place {pair.new + 1}."]
        case "worker":
            return [f"Worker: {old.worker} → {new.worker}."]
        case "instruction":
            return []
        case "access":
            lost = "; ".join(_lost_name(diff, read) for read in pair.lost)
            gained = "; ".join(f"“{step_name(diff.new, read)}”" for read in pair.gained)
            return [
                *([f"No longer reads {lost}."] if lost else []),
                *([f"Now reads {gained}."] if gained else []),
            ]
        case "sampling":
            return [f"Parameters: {parameters(old.sampling)} → {parameters(new.sampling)}."]
        case "prompt_style":
            return [
                f"Prompt style: {old.prompt_style or 'the worker’s'} → {new.prompt_style or 'the worker’s'}."
            ]
        case "pin":
            if new.pin is None:
                return ["No longer pinned."]
            return ["Pinned." if old.pin is None else "Pinned to another text."]
        case "sees_previous":
            return ["Sees the previous round." if new.sees_previous else "No longer sees the previous round."]
        case "sees_files":
            return ["Sees the attached files." if new.sees_files else "No longer sees the attached files."]
        case "tools":
            return [f"May call {tools_words(new.tools)}."]
        case "gate":
            return ["Waits before it is called." if new.gate else "No longer waits before it is called."]
        case "on_failure":
            rule = new.on_failure
            return [f"If it fails: {'the step fails' if rule is None else rule.words}."]


def _lost_name(diff: PlanDiff, step: int) -> str:
    name = f"“{step_name(diff.old, step)}”"
    return name if step in diff.of_old else f"{name} (removed)"


def parameters(sampling: Sampling) -> str:
    """What was asked of a worker beside its task."""
    parts = [] if sampling.temperature is None else [f"temperature {sampling.temperature:g}"]
    parts += [] if sampling.max_tokens is None else [f"at most {quantity(sampling.max_tokens, 'token')}"]
    parts += sampling.model_copy(update={"temperature": None, "max_tokens": None}).words
    return ", ".join(parts) or "as the worker has them"


def change_lines(diff: PlanDiff) -> list[str]:
    """What differs but the instructions' words, a line a step; steps that are the same are left out."""
    lines = []
    for row in diff.rows:
        old, new = row
        if old is None or new is None:
            text = ", ".join(row_text(diff, row))
        else:
            text = " ".join(sentences(diff, diff.of_new[new]))
        lines += [f"{row_name(diff, row)}: {text}"] if text else []
    return lines


_BOTH: Mapping[Kind, str] = {
    "worker": "the worker",
    "instruction": "the instruction",
    "sampling": "the parameters",
    "prompt_style": "the prompt style",
    "pin": "the pinned output",
    "sees_previous": "the view of the previous round",
    "sees_files": "the view of the attached files",
    "tools": "the tools",
    "gate": "the gate",
    "on_failure": "the failure rule",
}

_OF_STEP: Mapping[Kind, str] = {
    "fallback": "One edit gives “{step}” to the worker that the other makes its fallback.",
    "they_removed": "You changed “{step}”, which was removed in the meantime.",
    "you_removed": "You removed “{step}”, which was changed in the meantime.",
    "they_removed_read": "You let a step read “{step}”, which was removed in the meantime.",
    "you_removed_read": "You removed “{step}”, which another step was allowed to read in the meantime.",
}

_OF_ALL: Mapping[Kind, str] = {
    "order": "Moved this way, a step would come before one that it reads.",
    "final": "Both edits change the last step, which gives the answer.",
    "steps": f"Together they would leave no step, or more than {MAX_STEPS:,}.",
}


def clash_sentence(clash: Clash, edited: Workflow) -> str:
    """Why the two edits of a workflow cannot both stand."""
    if clash.step is None:
        return _OF_ALL[clash.kind]
    step = step_name(edited, clash.step)
    if clash.kind in _BOTH:
        return f"Both edits change {_BOTH[clash.kind]} of “{step}”."
    return _OF_STEP[clash.kind].format(step=step)
