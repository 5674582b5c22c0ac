"""Rules about how the work is divided: too many steps, the same work twice."""

from __future__ import annotations

from collections.abc import Iterator

from conductor.workflow.lint.finding import Finding, Fix, Subject, given_to_others, named
from conductor.workflow.model import Step, Workflow


def too_many_steps(subject: Subject) -> Iterator[Finding]:
    """More steps than the limit."""
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
        twin = first.setdefault((own.worker, *_asked(own)), step)
        if twin == step:
            continue
        sentence = (
            f"Step {step + 1} asks {own.worker} for the same as step {twin + 1}, with the same in view."
        )
        busy = {other.worker for other in workflow.steps if _asked(other) == _asked(own)}
        others = given_to_others(subject, step, besides=busy)
        fixes = (_without_twin(workflow, twin, step), *others)
        yield Finding("same-instruction", step, "warning", sentence, fixes)


def _asked(step: Step) -> tuple[object, ...]:
    instruction = " ".join(step.instruction.casefold().split())
    return instruction, step.access, step.sees_previous, step.sampling


def _without_twin(workflow: Workflow, twin: int, step: int) -> Fix:
    """Remove the later of two equal steps, and let its readers read the earlier; the final step stays."""
    if step == workflow.final:
        return Fix(f"Remove step {twin + 1}", workflow.remove_step(twin))
    for reader in workflow.readers[step]:
        workflow = workflow.with_access(reader, {*workflow.steps[reader].access, twin})
    return Fix(f"Remove step {step + 1}", workflow.remove_step(step))
