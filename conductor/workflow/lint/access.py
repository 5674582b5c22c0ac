"""Rules about who reads whom: outputs that nobody reads, a final step that sees nothing, access too much."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from conductor.checks.finding import Finding, Fix, Subject, named
from conductor.workflow import Workflow

_LEAST_REPEATED = 40
"""Characters an output has at least, before another one that holds it makes it redundant."""

_LEAD = r"\W*(?:(?:please|now|then|finally|carefully)[\s,]+)?"

_REWORKS = re.compile(
    rf"{_LEAD}(?:merge|combine|rewrite|improve|revise|polish|correct|refine|condense|consolidate|"
    r"synthesi[sz]e|edit|unify)\b",
    re.I,
)
"""How an instruction begins whose output takes the place of what it reads."""

_FINISHES = re.compile(
    rf"{_LEAD}(?:polish|format|translate|rewrite|shorten|proofread|present|rephrase|condense|typeset|"
    r"convert)\b",
    re.I,
)
"""How an instruction begins that works on one text."""

_NEEDS_SOURCES = re.compile(
    r"\b(?:check|compar|verif|original|draft|both|all\b|each\b|every|attempt|answers|plan|earlier|source|"
    r"note|against|versus|fact|consisten|faithful|first|preserv|keep|kept|lost|miss|code|test|combin|merg|"
    r"use|using|with\b)",
    re.I,
)
"""Words that let an instruction need more than the newest text."""


def blind_final_step(subject: Subject) -> Iterator[Finding]:
    """A final step that reads nothing though there are others; it also stands for their unread outputs."""
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


def unread_output(subject: Subject) -> Iterator[Finding]:
    """Steps before the final one whose output nobody reads."""
    workflow = subject.workflow
    if _blind(subject):
        return
    for step in range(workflow.final):
        if not workflow.readers[step]:
            yield Finding(
                "unread-output",
                step,
                "warning",
                f"Nobody reads step {step + 1}, so its work cannot reach the answer.",
                (reading(workflow, workflow.final, (step,)), _removing(workflow, step)),
            )


def redundant_access(subject: Subject) -> Iterator[Finding]:
    """A step that reads an earlier text beside the later one that holds it, or has taken its place."""
    workflow = subject.workflow
    for step, own in enumerate(workflow.steps):
        if own.pin is not None:
            continue
        why = {read: _why_redundant(subject, step, read) for read in own.access}
        redundant = {read: said for read, said in why.items() if said is not None}
        if redundant:
            rest = [read for read in own.access if read not in redundant]
            fix = Fix(f"Let step {step + 1} read {named(rest)} only", workflow.with_access(step, rest))
            said = "; and ".join(f"step {read + 1} and also {by}" for read, by in redundant.items())
            yield Finding("redundant-access", step, "note", f"Step {step + 1} reads {said}.", (fix,))


def _why_redundant(subject: Subject, step: int, read: int) -> str | None:
    steps = subject.workflow.steps
    holders = [by for by in steps[step].access if read in steps[by].access]
    for by in holders:
        if _repeats(subject, by, read):
            return f"step {by + 1}, whose output holds that of step {read + 1} word for word"
    if _FINISHES.match(steps[step].instruction) and not _NEEDS_SOURCES.search(steps[step].instruction):
        for by in holders:
            if _REWORKS.match(steps[by].instruction):
                return f"step {by + 1}, which has reworked it"
    return None


def _repeats(subject: Subject, by: int, read: int) -> bool:
    outputs = subject.outputs
    if by not in outputs or read not in outputs:
        return False
    text = outputs[read].text.strip()
    return len(text) >= _LEAST_REPEATED and text in outputs[by].text


def _blind(subject: Subject) -> bool:
    last = subject.workflow.final
    return last > 0 and subject.sees_nothing(last) and subject.workflow.steps[last].pin is None


def reading(workflow: Workflow, step: int, reads: Iterable[int]) -> Fix:
    """Let `step` read these as well."""
    more = sorted(reads)
    return Fix(
        f"Let step {step + 1} read {named(more)}",
        workflow.with_access(step, {*workflow.steps[step].access, *more}),
    )


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
