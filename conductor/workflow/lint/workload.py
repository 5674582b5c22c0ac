"""Rules about how the work is divided: too many steps, the same work twice, a worker that checks itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from conductor.workflow.lint.finding import Finding, Fix, Subject, named
from conductor.workflow.model import Step, Workflow

_MOST_WORKERS = 2
"""How many other workers are offered for a step."""

_CHECKED = (
    r"(?:answers?|responses?|repl(?:y|ies)|outputs?|solutions?|attempts?|drafts?|workings?|work|code|programs?|"
    r"implementations?|functions?|proofs?|plans?|calculations?|computations?|reasoning|derivations?|analys[ie]s|"
    r"translations?|summar(?:y|ies)|counts?|claims?|conclusions?|results?|arguments?|essays?)"
)

_CHECKS = re.compile(
    r"\W*(?:(?:please|now|then|finally|first|carefully|critically|independently|thoroughly)[\s,]+){0,2}"
    r"(?:re-?check|double-?check|check|verify|validate|review|critique|audit|proofread|judge|grade|examine|"
    r"evaluate|assess|inspect|confirm|test)\s+"
    r"(?:(?:that|whether|if)\s+)?(?:the|this|that|these|those|its|each|every|all|both|every)?\s*"
    rf"(?:[\w'-]+\s+){{0,3}}?{_CHECKED}\b",
    re.I,
)
"""How an instruction begins that judges the work of another step."""


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
        twin = first.setdefault(_asked(own), step)
        if twin == step:
            continue
        sentence = (
            f"Step {step + 1} asks {own.worker} for the same as step {twin + 1}, with the same in view."
        )
        fixes = [_without_twin(workflow, twin, step)]
        anyone = _asked(own, worker="")
        busy = {other.worker for other in workflow.steps if _asked(other, worker="") == anyone}
        fixes += _given_to_others(subject, step, besides=busy)
        yield Finding("same-instruction", step, "warning", sentence, tuple(fixes))


def _asked(step: Step, worker: str | None = None) -> tuple[object, ...]:
    return (
        step.worker if worker is None else worker,
        " ".join(step.instruction.casefold().split()),
        step.access,
        step.sees_previous,
        step.sampling,
    )


def _without_twin(workflow: Workflow, twin: int, step: int) -> Fix:
    """Remove the later of two equal steps, and let its readers read the earlier; the final step stays."""
    if step == workflow.final:
        return Fix(f"Remove step {twin + 1}", workflow.remove_step(twin))
    for reader in workflow.readers[step]:
        workflow = workflow.with_access(reader, {*workflow.steps[reader].access, twin})
    return Fix(f"Remove step {step + 1}", workflow.remove_step(step))


def checks_own_work(subject: Subject) -> Iterator[Finding]:
    """A step that judges only work which its own worker did."""
    workflow = subject.workflow
    for step, own in enumerate(workflow.steps):
        if own.pin is not None or not own.access or not _CHECKS.match(own.instruction):
            continue
        judged = _judged(workflow, step)
        if any(workflow.steps[read].worker != own.worker for read in judged) or _alone(subject):
            continue
        yield Finding(
            "checks-own-work",
            step,
            "warning",
            f"Step {step + 1} checks {named(judged)}, and {own.worker} does both.",
            tuple(_given_to_others(subject, step, besides={own.worker})),
        )


def _judged(workflow: Workflow, step: int) -> Sequence[int]:
    """What a step reads, without what came before in the same line of work."""
    reads = workflow.steps[step].access
    before = {earlier for read in reads for earlier in workflow.ancestors(read)}
    return [read for read in reads if read not in before]


def _alone(subject: Subject) -> bool:
    """Whether the pool has no other worker that could check."""
    return subject.workers is not None and len(set(subject.workers)) < 2


def _given_to_others(subject: Subject, step: int, *, besides: set[str]) -> Iterator[Fix]:
    """Give a step to another worker: those of the workflow first."""
    workflow, pool = subject.workflow, subject.workers
    known = [worker for worker in workflow.workers() if pool is None or worker in pool]
    others = [worker for worker in dict.fromkeys((*known, *(pool or ()))) if worker not in besides]
    for worker in others[:_MOST_WORKERS]:
        yield Fix(f"Give step {step + 1} to {worker}", workflow.with_worker(step, worker))
