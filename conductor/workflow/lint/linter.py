"""The plan check: every rule over one workflow, its findings step by step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from conductor.values.output import Output
from conductor.workflow.lint.access import blind_final_step, pinned_before, redundant_access, unread_output
from conductor.workflow.lint.finding import RULES, Finding, Fix, Rule, Subject
from conductor.workflow.lint.missing_access import leaked_output, speaks_of_unseen
from conductor.workflow.lint.workload import checks_own_work, same_instruction, too_many_steps
from conductor.workflow.model import Workflow

_FINDS: Mapping[Rule, Callable[[Subject], Iterator[Finding]]] = {
    "too-many-steps": too_many_steps,
    "blind-final-step": blind_final_step,
    "unread-output": unread_output,
    "speaks-of-unseen": speaks_of_unseen,
    "leaked-output": leaked_output,
    "checks-own-work": checks_own_work,
    "same-instruction": same_instruction,
    "redundant-access": redundant_access,
    "pinned-before": pinned_before,
}


def check(
    workflow: Workflow,
    *,
    max_steps: int,
    outputs: Mapping[int, Output] | None = None,
    later_round: bool = False,
    query: str = "",
    workers: Sequence[str] | None = None,
    changed_pins: Collection[int] = (),
) -> tuple[Finding, ...]:
    """What may be wrong, the whole workflow's findings first, then step by step. Never a reason not to run.

    `outputs` are known outputs by position (0-based); without them nothing is found about repeated outputs.
    `later_round`: steps may see the round before. `query` is the question, whose words every step may repeat.
    `workers` are the pool's names, to give a step to another one; None: only the workflow's are known.
    `changed_pins` are pinned steps (0-based) whose inputs differ now from those that their output answers.
    """
    subject = Subject(
        workflow=workflow,
        max_steps=max_steps,
        outputs=outputs or {},
        later_round=later_round,
        query=query,
        workers=workers,
        changed_pins=changed_pins,
    )
    findings = [finding for rule in RULES for finding in _FINDS[rule](subject)]
    shown = (_with_working_fixes(subject, finding, findings) for finding in _one_for_a_cause(findings))
    return tuple(sorted(shown, key=lambda finding: -1 if finding.step is None else finding.step))


def _one_for_a_cause(findings: Sequence[Finding]) -> Iterator[Finding]:
    """A final step that sees nothing is one finding: by what its instruction refers to, if to anything."""
    blind = next((found for found in findings if found.rule == "blind-final-step"), None)
    for finding in findings:
        refers = finding.rule == "speaks-of-unseen" and blind is not None and finding.step == blind.step
        if refers and blind is not None:
            fixes = {fix.workflow: fix for fix in (*blind.fixes, *finding.fixes)}
            findings = [other for other in findings if other not in (blind, finding)]
            yield from [*findings, replace(finding, fixes=tuple(fixes.values()))]
            return
    yield from findings


def _with_working_fixes(subject: Subject, finding: Finding, findings: Sequence[Finding]) -> Finding:
    """The finding with those of its fixes after which it is gone, which rules for one fault cannot promise.

    Where a fix renumbers steps, one finding of the rule has to be gone.
    """
    if finding.rule == "leaked-output":
        return finding
    of_rule = [other for other in findings if other.rule == finding.rule]

    def works(fix: Fix) -> bool:
        left = list(_FINDS[finding.rule](replace(subject, workflow=fix.workflow)))
        if len(fix.workflow) != len(subject.workflow):
            return len(left) < len(of_rule)
        return all(other.step != finding.step for other in left)

    return replace(finding, fixes=tuple(fix for fix in finding.fixes if works(fix)))
