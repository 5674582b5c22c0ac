"""The plan check: every rule over one workflow, its findings step by step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from conductor.values.output import Output
from conductor.workflow.lint.copied_example import copied_example
from conductor.workflow.lint.finding import Finding, Fix, Subject
from conductor.workflow.lint.leaked_output import leaked_output
from conductor.workflow.lint.mentions import checks_own_work, speaks_of_unseen
from conductor.workflow.lint.missing_tools import lacks_a_tool, tool_of_another
from conductor.workflow.lint.structure import (
    blind_final_step,
    pinned_before,
    redundant_access,
    same_instruction,
    too_many_steps,
    unread_output,
)
from conductor.workflow.model import Workflow

_RULES: Mapping[str, tuple[Callable[[Subject], Iterator[Finding]], str]] = {
    "too-many-steps": (too_many_steps, "There are no more steps than the limit allows."),
    "blind-final-step": (blind_final_step, "The final step sees the work that the answer is made of."),
    "unread-output": (unread_output, "Every step's output is read by another step."),
    "speaks-of-unseen": (
        speaks_of_unseen, "An instruction refers only to outputs that its step may read."
    ),
    "leaked-output": (
        leaked_output, "No instruction repeats, word for word, an output that its step may not read."
    ),
    "checks-own-work": (checks_own_work, "No worker checks its own step."),
    "copied-example": (
        copied_example, "No instruction is an example's of the planning prompt, for another question."
    ),
    "same-instruction": (same_instruction, "No worker gets the same instruction twice."),
    "redundant-access": (
        redundant_access, "No step reads what another step that it reads repeats word for word."
    ),
    "pinned-before": (
        pinned_before, "No pinned output answers other inputs than those that its step has now."
    ),
    "tool-of-another": (tool_of_another, "No step names a tool that its worker does not have."),
    "lacks-a-tool": (
        lacks_a_tool, "Every step that is to search or to act has a tool for it, if the pool has one."
    ),
}  # fmt: skip

RULES: Mapping[str, str] = {rule: sentence for rule, (_, sentence) in _RULES.items()}
"""Each rule and what holds where it finds nothing, in the order of the findings of a step."""


def check(
    workflow: Workflow,
    *,
    max_steps: int,
    outputs: Mapping[int, Output] | None = None,
    later_round: bool = False,
    query: str = "",
    workers: Sequence[str] | None = None,
    changed_pins: Collection[int] = (),
    examples: Mapping[str, str] | None = None,
    tools: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Finding, ...]:
    """What may be wrong, the whole workflow's findings first, then step by step. Never a reason not to run.

    `outputs` are known outputs by position (0-based); without them nothing is found about repeated outputs.
    `later_round`: steps may see the round before. `query` is the question, whose words every step may repeat.
    `workers` are the pool's names, to give a step to another one; None: only the workflow's are known.
    `changed_pins` are pinned steps (0-based) whose inputs differ now from those that their output answers.
    `examples` are the instructions of the planning prompt's examples with their questions, `tools` those of
    each worker of the pool that has some.
    """
    by_step, others = outputs or {}, examples or {}
    subject = Subject(
        workflow, max_steps, by_step, later_round, query, workers, changed_pins, others, tools or {}
    )
    findings = [finding for find, _ in _RULES.values() for finding in find(subject)]
    by_cause = _one_for_a_cause(subject, findings)
    return tuple(sorted(by_cause, key=lambda finding: -1 if finding.step is None else finding.step))


def _one_for_a_cause(subject: Subject, findings: Sequence[Finding]) -> Sequence[Finding]:
    """A final step that sees nothing is one finding: by what its instruction refers to, if to anything."""
    blind = next((each for each in findings if each.rule == "blind-final-step"), None)
    for finding in findings:
        if blind is not None and finding.rule == "speaks-of-unseen" and finding.step == blind.step:
            fixes = {fix.label: fix for fix in (*blind.fixes, *finding.fixes)}
            mending = tuple(fix for fix in fixes.values() if _mends(subject, finding, fix))
            others = [other for other in findings if other not in (blind, finding)]
            return [*others, replace(finding, fixes=mending)]
    return findings


def _mends(subject: Subject, finding: Finding, fix: Fix) -> bool:
    left = speaks_of_unseen(replace(subject, workflow=fix.workflow))
    return all(other.step != finding.step for other in left)
