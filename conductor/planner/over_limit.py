"""A plan whose only fault is that it has more steps than it may have: the workflow that a person can take.

Reads the stored text once more, without a call. Knows reports and the parser; stores nothing.
"""

from __future__ import annotations

from conductor.planner.parsing.parse import parse
from conductor.workflow.model import MAX_WRITTEN_STEPS, Workflow
from conductor.workflow.plan_report import PlanReport


def over_limit(report: PlanReport | None, candidate: int | None = None) -> Workflow | None:
    """The workflow of a candidate (from 0; None: of the one that counts) that has too many steps.

    None if the plan is valid or has other faults as well, has more steps than a workflow may have, or
    if the prompt of its Conductor was not stored.
    """
    at = candidate if candidate is not None or report is None else report.chosen
    if report is None or report.prompt is None or at is None or not 0 <= at < len(report.candidates):
        return None
    prompt, refused = report.prompt, report.candidates[at]
    if refused.ok or not prompt.max_steps < len(refused.written_access) <= MAX_WRITTEN_STEPS:
        return None
    again = parse(
        report.text,
        workers=prompt.workers,
        dialect=report.dialect,
        max_steps=MAX_WRITTEN_STEPS,
        round=prompt.round,
        form=prompt.form,
        tools=prompt.tools,
    )
    whole = next((each for each in again.candidates if each.span == refused.span), None)
    return None if whole is None else whole.workflow
