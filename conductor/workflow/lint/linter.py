"""The plan check: every rule over one workflow, its findings step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from conductor.checks.finding import RULES, Finding, Fix, Rule, Subject
from conductor.checks.labour import checks_own_work, same_instruction, too_many_steps
from conductor.checks.reading import blind_final_step, redundant_access, unread_output
from conductor.checks.unseen import leaked_output, speaks_of_unseen
from conductor.output import Output
from conductor.workflow import Workflow

_FINDS: Mapping[Rule, Callable[[Subject], Iterator[Finding]]] = {
    "too-many-steps": too_many_steps,
    "blind-final-step": blind_final_step,
    "unread-output": unread_output,
    "speaks-of-unseen": speaks_of_unseen,
    "leaked-output": leaked_output,
    "checks-own-work": checks_own_work,
    "same-instruction": same_instruction,
    "redundant-access": redundant_access,
}


def check(
    workflow: Workflow,
    *,
    max_steps: int,
    outputs: Mapping[int, Output] | None = None,
    later_round: bool = False,
    query: str = "",
    workers: Sequence[str] | None = None,
) -> tuple[Finding, ...]:
    """What may be amiss, the whole workflow's findings first, then step by step. Never a reason not to run.

    `outputs` are known outputs by position (0-based); without them nothing is said of what outputs repeat.
    `later_round`: steps may see the round before. `query` is the question, whose words anybody may repeat.
    `workers` are the pool's names, to give a step to another one; None: only the workflow's are known.
    """
    subject = Subject(
        workflow=workflow,
        max_steps=max_steps,
        outputs=outputs or {},
        later_round=later_round,
        query=query,
        workers=workers,
    )
    findings = [finding for rule in RULES for finding in _FINDS[rule](subject)]
    told = (_with_mending_fixes(subject, finding, findings) for finding in _one_for_a_cause(findings))
    return tuple(sorted(told, key=lambda finding: -1 if finding.step is None else finding.step))


def _one_for_a_cause(findings: Sequence[Finding]) -> Iterator[Finding]:
    """A final step that sees nothing is told once: by what its instruction speaks of, where it does."""
    blind = next((found for found in findings if found.rule == "blind-final-step"), None)
    for finding in findings:
        spoken = finding.rule == "speaks-of-unseen" and blind is not None and finding.step == blind.step
        if spoken and blind is not None:
            fixes = {fix.workflow: fix for fix in (*blind.fixes, *finding.fixes)}
            findings = [other for other in findings if other not in (blind, finding)]
            yield from [*findings, replace(finding, fixes=tuple(fixes.values()))]
            return
    yield from findings


def _with_mending_fixes(subject: Subject, finding: Finding, findings: Sequence[Finding]) -> Finding:
    """The finding with those of its fixes after which it is gone, which rules for one fault cannot promise.

    Where a fix renumbers steps, one finding of the rule has to be gone.
    """
    if finding.rule == "leaked-output":
        return finding
    of_rule = [other for other in findings if other.rule == finding.rule]

    def mends(fix: Fix) -> bool:
        left = list(_FINDS[finding.rule](replace(subject, workflow=fix.workflow)))
        if len(fix.workflow) != len(subject.workflow):
            return len(left) < len(of_rule)
        return all(other.step != finding.step for other in left)

    return replace(finding, fixes=tuple(fix for fix in finding.fixes if mends(fix)))
