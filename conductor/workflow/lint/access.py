"""Rules about which step reads which: unread outputs, a final step that sees nothing, needless access."""

from __future__ import annotations

from collections.abc import Iterator

from conductor.workflow.lint.finding import Finding, Fix, Subject, named, reading
from conductor.workflow.model import Workflow

_LEAST_REPEATED = 40
"""Characters an output has at least, before another one that holds it makes it redundant."""


def blind_final_step(subject: Subject) -> Iterator[Finding]:
    """A final step that reads nothing though there are others; it also covers their unread outputs."""
    workflow = subject.workflow
    if not _blind(subject):
        return
    last = workflow.final
    ends = [step for step in range(last) if not workflow.readers[step]]
    fixes = [reading(workflow, last, ends)]
    if len(ends) < last:
        fixes.append(reading(workflow, last, range(last)))
    yield Finding(
        "blind-final-step",
        last,
        "warning",
        f"The final step reads no other step, so the work of {named(range(last))} cannot reach the answer.",
        tuple(fixes),
    )


def pinned_before(subject: Subject) -> Iterator[Finding]:
    """A pinned step whose inputs changed since its output was made; a person's text may be meant to stay."""
    for step in sorted(subject.changed_pins):
        pin = subject.workflow.steps[step].pin if step < len(subject.workflow) else None
        if pin is None:
            continue
        made = "made" if pin.hand is None else "written by hand"
        yield Finding(
            "pinned-before",
            step,
            "warning" if pin.hand is None else "note",
            f"Step {step + 1} is pinned, and its inputs changed since its output was {made}.",
            (Fix(f"Unpin step {step + 1}", subject.workflow.with_pin(step, None)),),
        )


def unread_output(subject: Subject) -> Iterator[Finding]:
    """Steps before the final one whose output no step reads."""
    workflow = subject.workflow
    if _blind(subject):
        return
    for step in range(workflow.final):
        if not workflow.readers[step]:
            yield Finding(
                "unread-output",
                step,
                "warning",
                f"No step reads step {step + 1}, so its work cannot reach the answer.",
                (reading(workflow, workflow.final, (step,)), _removing(workflow, step)),
            )


def redundant_access(subject: Subject) -> Iterator[Finding]:
    """A step that reads an earlier output and also a later one that contains it word for word."""
    workflow = subject.workflow
    for step, own in enumerate(workflow.steps):
        if own.pin is not None:
            continue
        redundant = {read: by for read in own.access for by in own.access if _repeats(subject, by, read)}
        if redundant:
            rest = [read for read in own.access if read not in redundant]
            fix = Fix(f"Let step {step + 1} read {named(rest)} only", workflow.with_access(step, rest))
            words = "; and ".join(
                f"step {read + 1} and also step {by + 1}, whose output holds that of step {read + 1} "
                "word for word"
                for read, by in redundant.items()
            )
            yield Finding("redundant-access", step, "note", f"Step {step + 1} reads {words}.", (fix,))


def _repeats(subject: Subject, by: int, read: int) -> bool:
    """Whether the step `by` reads the step `read` and has its whole output in its own."""
    outputs = subject.outputs
    if read not in subject.workflow.steps[by].access or by not in outputs or read not in outputs:
        return False
    text = outputs[read].text.strip()
    return len(text) >= _LEAST_REPEATED and text in outputs[by].text


def _blind(subject: Subject) -> bool:
    last = subject.workflow.final
    return last > 0 and subject.sees_nothing(last) and subject.workflow.steps[last].pin is None


def _removing(workflow: Workflow, step: int) -> Fix:
    """Remove an unread step, and what only it was done for."""
    useful = {workflow.final, *workflow.ancestors(workflow.final)}
    for other in range(workflow.final):
        if other != step and not workflow.readers[other]:
            useful |= {other, *workflow.ancestors(other)}
    gone = sorted({step, *workflow.ancestors(step)} - useful)
    label = f"Remove {named(gone)}"
    for each in reversed(gone):
        workflow = workflow.remove_step(each)
    return Fix(label, workflow)
