"""Prints the differences of workflows and texts as lines for people. Knows no session."""

from __future__ import annotations

from conductor.text.word_diff import compare_texts
from conductor.workflow.diff import PlanDiff
from conductor.workflow.model import Step
from studio.cli.output.terminal import is_coloured, one_line, print_lines

_EXCERPT = 100
"""Characters of an instruction in a line that names a step, and of a text around a difference."""


def print_diff(diff: PlanDiff, *, pairs: bool = True) -> None:
    """Print a numbered line for each step that differs; with `pairs` both states of a changed one."""
    number = 0
    for old, new in diff.rows:
        if old is not None and new is not None and diff.of_new[new].same:
            continue
        number += 1
        before = None if old is None else diff.old.steps[old]
        after = None if new is None else diff.new.steps[new]
        step = after or before
        assert step is not None, "a row has a step"
        line = f"{number}. {what_changes(diff, old, new)}"
        if pairs and before is not None and after is not None:
            print_lines(line)
            print_lines(f"   - {_worded(before)}", style="red")
            print_lines(f"   + {_worded(after)}", style="green")
        else:
            text = f"{line}: {step.worker}: {one_line(step.instruction, limit=_EXCERPT)}"
            print_lines(text, style="green" if before is None else "red" if after is None else None)


def _worded(step: Step) -> str:
    read = ", ".join(str(each + 1) for each in step.access)
    pin = " (pinned)" if step.pin is not None else ""
    return f"{step.worker}: {one_line(step.instruction)}{f' (sees {read})' if read else ''}{pin}"


def what_changes(diff: PlanDiff, old: int | None, new: int | None) -> str:
    """What happens to a step, in a word or few each."""
    if old is None or new is None:
        return f"add step {(new or 0) + 1}" if old is None else f"remove step {old + 1}"
    named = ", ".join(change.replace("_", " ") for change in diff.of_new[new].changes)
    return f"change step {old + 1} ({named})"


def print_text_diff(old: str, new: str) -> None:
    """Print what was removed and added, in colour, or in the marks of `git diff --word-diff`."""
    pieces = compare_texts(old, new).pieces
    for at, (kind, text) in enumerate(pieces):
        if kind == "same":
            print_lines(_around(text, first=not at, last=at == len(pieces) - 1), end="")
        elif is_coloured():
            print_lines(text, style="red" if kind == "removed" else "green", end="")
        else:
            print_lines(f"[-{text}-]" if kind == "removed" else f"{{+{text}+}}", end="")
    print_lines()


def _around(text: str, *, first: bool, last: bool) -> str:
    """The ends of a text that are near a difference."""
    head, tail = text[:_EXCERPT] if not first else "", text[-_EXCERPT:] if not last else ""
    return text if len(head) + len(tail) + 2 > len(text) else f"{head} … {tail}"
