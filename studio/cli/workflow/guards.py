"""The options of `run` at single steps: wait before them, call them again, ask another worker, skip them.

Knows the words of the command line; people count steps from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from conductor.errors import FormatError
from conductor.workflow.model import Workflow
from conductor.workflow.on_failure import MAX_RETRIES, OnFailure

if TYPE_CHECKING:
    from studio.workbench import Workbench


def set_guards(
    workbench: Workbench,
    session: str,
    *,
    pause_before: Collection[int],
    retry: Sequence[str],
    fallback: Sequence[str],
    skip: Sequence[str],
) -> None:
    """Give the session's workflow these gates and rules for failures, in one edit.

    `retry` holds texts such as "3=2", `fallback` such as "3=coder", `skip` such as "3" or "3=No figures.".
    Raises `FormatError` for another text, `WorkflowError` for a step or a worker that is not there.
    """
    head = workbench.store.revisions.head(session)
    assert head is not None, "planned or imported by now"
    workflow = head.workflow
    for step in pause_before:
        workflow = workflow.with_gate(step - 1)
    workflow = _ruled(workflow, retry, "--retry", lambda value: {"retries": _retries(value)})
    workflow = _ruled(workflow, fallback, "--fallback", lambda value: {"fallback": value})
    workflow = _ruled(workflow, skip, "--skip", lambda value: {"output": value}, without="")
    if workflow == head.workflow:
        return
    workflow.check_workers(workbench.pool.names)
    notes = [f"gate before step {step}" for step in sorted({*pause_before})]
    notes += [
        f"step {at + 1}: if it fails, {step.on_failure.words}"
        for at, step in enumerate(workflow.steps)
        if step.on_failure is not None and step.on_failure != head.workflow.steps[at].on_failure
    ]
    note = "; ".join(notes)
    workbench.editing.edit(session, workflow, note=note[0].upper() + note[1:], head=head)


def _ruled(
    workflow: Workflow,
    rules: Sequence[str],
    flag: str,
    changes: Callable[[str], dict[str, Any]],
    *,
    without: str | None = None,
) -> Workflow:
    """The workflow with these rules; `without` is the value of a step without one."""
    for text in rules:
        step, sign, value = text.partition("=")
        if not step.strip().isdecimal() or not ((sign and value) or without is not None):
            form = "STEP[=TEXT]" if without is not None else "STEP=..."
            raise FormatError(f"{flag} {text!r} names no step; write {flag} {form}, with the step's number.")
        at = int(step) - 1
        rule = (workflow.steps[at].on_failure if 0 <= at < len(workflow) else None) or OnFailure()
        change = changes(value if sign else without or "")
        workflow = workflow.with_on_failure(at, OnFailure.model_validate({**dict(rule), **change}))
    return workflow


def _retries(value: str) -> int:
    if not value.isdecimal() or not 0 < int(value) <= MAX_RETRIES:
        raise FormatError(f"--retry takes a number of calls from 1 to {MAX_RETRIES}, not {value!r}.")
    return int(value)
