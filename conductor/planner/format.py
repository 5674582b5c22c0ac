"""Writes a workflow as a Conductor would: in a dialect's access lists, as lists or as one JSON object.

What is written reads back as the same workflow; what a dialect has no words for is refused, not left out. A
step's own sampling parameters and its pinned output have no place in a plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from conductor.errors import WorkflowError
from conductor.planner.parsing.quotes import decoded, literal_text
from conductor.text.thoughts import ANY_MARK
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import Dialect, Form

_UNSAFE = re.compile(rf"(?=(?:{ANY_MARK.pattern})).|[\ud800-\udfff]", re.IGNORECASE)
_CONTROL = re.compile(r"\\(?:([bfnrt])|.)")

Entry = list[int | str]
"""An access entry: numbers, or "all"."""

Tools = tuple[str, ...] | None
"""What a step may call; None: all tools of its worker."""


def format_plan(
    workflow: Workflow,
    worker_names: Sequence[str],
    *,
    dialect: Dialect = "any",
    form: Form = "lists",
    round: int = 1,
    tools: bool = False,
) -> str:
    """The plan in `form`, workers numbered by their place in `worker_names`, or by name in the form "names".
    It has the steps' tools where `tools` is set or a step names some.

    Of several workers with one name the first is meant. Raises `WorkflowError` where the workflow names a
    worker that is not in `worker_names`, or where the dialect cannot express a step's access in that `round`.
    """
    workflow.check_workers(worker_names)
    numbers = [worker_names.index(step.worker) for step in workflow.steps]
    steps = [
        (number, step.instruction, _checked(step, at, round, _entry(step, at, numbers, dialect)))
        for at, (number, step) in enumerate(zip(numbers, workflow.steps, strict=True))
    ]
    named = [step.tools for step in workflow.steps]
    own = named if tools or any(each is not None for each in named) else None
    if form == "names":
        _, _, lists = write_steps(steps, form="lists", tools=own).partition("\n")
        return f"model_id = [{', '.join(step.worker for step in workflow.steps)}]\n{lists}"
    return write_steps(steps, form=form, tools=own)


def write_steps(
    steps: Sequence[tuple[int | str, str, Entry]],
    *,
    form: Form,
    reasoning: str = "",
    tools: Sequence[Tools] | None = None,
) -> str:
    """Steps given as worker number, instruction and access entry; `reasoning` goes before them. `tools` has
    those of each step, None: there is no such list.
    """
    if form == "json":
        objects: list[dict[str, object]] = [
            {"instruction": instruction, "model_id": number, "access": entry}
            for number, instruction, entry in steps
        ]
        for step, own in zip(objects, tools or (), strict=False):
            step["tools"] = own
        first = {"reasoning": reasoning} if reasoning else {}
        written = _plain(json.dumps({**first, "steps": objects}, ensure_ascii=False))
        return _UNSAFE.sub(lambda unsafe: f"\\u{ord(unsafe[0]):04x}", written)
    lists = (
        f"model_id = [{', '.join(str(number) for number, _, _ in steps)}]\n"
        f"subtasks = [{', '.join(_quoted(instruction) for _, instruction, _ in steps)}]\n"
        f"access_list = [{', '.join(json.dumps(entry) for _, _, entry in steps)}]"
    )
    if tools is not None:
        lists += f"\ntools = [{', '.join(map(_tools_entry, tools))}]"
    return f"{reasoning}\n{lists}" if reasoning else lists


def _tools_entry(tools: Tools) -> str:
    return "null" if tools is None else f"[{', '.join(map(_quoted, tools))}]"


def _quoted(text: str) -> str:
    """A double-quoted text without line breaks, marks of thoughts or halves of surrogate pairs."""
    quoted = _plain(json.dumps(text, ensure_ascii=False))
    # Eight digits: two four-digit halves in a row would read back as one character.
    return _UNSAFE.sub(lambda unsafe: f"\\U{ord(unsafe[0]):08x}", quoted)


def _plain(written: str) -> str:
    """JSON, its line breaks and tabs as numbers where a reader might take them for a command of LaTeX."""
    if literal_text(written) == decoded(written):
        return written
    return _CONTROL.sub(lambda mark: f"\\u{ord(decoded(mark[0])):04x}" if mark[1] else mark[0], written)


# -- access entries --------------------------------------------------------------------------------


def _checked(step: Step, at: int, round: int, entry: Entry | None) -> Entry:
    """The entry, held against what a later round makes of it: there "all" shows the round before, too."""
    if entry is None:
        seen = ", ".join(str(read + 1) for read in step.access) or "nothing"
        raise WorkflowError(
            f"Step {at + 1} sees {seen}{' and the round before' if step.sees_previous else ''}, which the "
            "dialect has no words for; write the plan in another dialect.",
            step=at,
        )
    if step.sees_previous and round == 1:
        raise WorkflowError(
            f"Step {at + 1} sees the round before, and there is none before round 1.", step=at
        )
    if round > 1 and (entry == ["all"]) != step.sees_previous:
        raise WorkflowError(
            f'Step {at + 1} sees {"only " if step.sees_previous else ""}a part of what "all" shows in round '
            f"{round}; the dialect has no words for that.",
            step=at,
        )
    return entry


def _entry(step: Step, at: int, numbers: Sequence[int], dialect: Dialect) -> Entry | None:
    """How a dialect writes what a step sees; None if it cannot."""
    everything: Entry | None = ["all"] if len(step.access) == at else None
    if dialect == "binary":
        return everything if step.sees_previous or step.access else []
    if step.sees_previous:
        return everything if dialect == "any" else None
    if dialect != "worker":
        return list(step.access)
    workers = sorted({numbers[read] for read in step.access})
    in_view = tuple(earlier for earlier in range(at) if numbers[earlier] in workers)
    return [*workers] if in_view == step.access else None
