"""Rules about a workflow's structure: which step reads which, and how the work is divided."""

from __future__ import annotations

from collections.abc import Iterator

from conductor.workflow.lint.finding import Finding, Fix, Subject, given_to_others, named, reading
from conductor.workflow.model import Step, Workflow

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
        origin = "made" if pin.hand is None else "written by hand"
        yield Finding(
            "pinned-before",
            step,
            "warning" if pin.hand is None else "note",
            f"Step {step + 1} is pinned, and its inputs changed since its output was {origin}.",
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


# -- how the work is divided -----------------------------------------------------------------------


def too_many_steps(subject: Subject) -> Iterator[Finding]:
    count, limit = len(subject.workflow), max(1, subject.max_steps)
    if count > limit:
        sentence = f"The workflow has {count} steps; the limit is {limit}."
        yield Finding("too-many-steps", None, "warning", sentence, (_shortening(subject.workflow, limit),))


def _shortening(workflow: Workflow, limit: int) -> Fix:
    """Remove what matters least to the answer; the readers of a removed step read what it read."""
    places, gone = list(range(len(workflow))), []
    while len(workflow) > limit:
        victim = _least_missed(workflow)
        for reader in workflow.readers[victim]:
            reads = {*workflow.steps[reader].access, *workflow.steps[victim].access}
            workflow = workflow.with_access(reader, reads)
        workflow = workflow.remove_step(victim)
        gone.append(places.pop(victim))
    return Fix(f"Remove {named(sorted(gone))}", workflow)


def _least_missed(workflow: Workflow) -> int:
    """The last step that no step reads; else the last of several attempts; else the one before the final."""
    steps = range(workflow.final - 1, -1, -1)
    unread = (step for step in steps if not workflow.readers[step])
    several = (
        step
        for step in steps
        if not workflow.steps[step].access
        and all(len(workflow.steps[reader].access) > 1 for reader in workflow.readers[step])
    )
    return next(unread, next(several, workflow.final - 1))


def same_instruction(subject: Subject) -> Iterator[Finding]:
    """One worker with the same instruction and access twice; two workers are independent attempts."""
    workflow = subject.workflow
    first: dict[tuple[object, ...], int] = {}
    for step, own in enumerate(workflow.steps):
        if own.pin is not None:
            continue
        twin = first.setdefault((own.worker, *_request(own)), step)
        if twin == step:
            continue
        sentence = (
            f"Step {step + 1} asks {own.worker} for the same as step {twin + 1}, with the same in view."
        )
        busy = {other.worker for other in workflow.steps if _request(other) == _request(own)}
        others = given_to_others(subject, step, besides=busy)
        fixes = (_without_twin(workflow, twin, step), *others)
        yield Finding("same-instruction", step, "warning", sentence, fixes)


def _request(step: Step) -> tuple[object, ...]:
    instruction = " ".join(step.instruction.casefold().split())
    return instruction, step.access, step.sees_previous, step.sees_files, step.sampling, step.prompt_style


def _without_twin(workflow: Workflow, twin: int, step: int) -> Fix:
    """Remove the later of two equal steps, and let its readers read the earlier; the final step stays."""
    if step == workflow.final:
        return Fix(f"Remove step {twin + 1}", workflow.remove_step(twin))
    for reader in workflow.readers[step]:
        workflow = workflow.with_access(reader, {*workflow.steps[reader].access, twin})
    return Fix(f"Remove step {step + 1}", workflow.remove_step(step))
