"""The shapes of workflows, reports and runs as JSON on the command line. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from conductor.runs.state import RunState
from conductor.values.message_parts.tool_use import ToolUse
from conductor.values.total import Total
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport

if TYPE_CHECKING:
    # Who only lists sessions does not wait for the linter.
    from conductor.workflow.lint import Finding

Shape = dict[str, Any]


def workflow_shape(workflow: Workflow, worker_indices: Sequence[int | None]) -> Shape:
    """`{"steps": [{"instruction", "worker", "worker_index", "access"}]}`; positions count from 0."""
    return {
        "steps": [
            {
                "instruction": step.instruction,
                "worker": step.worker,
                "worker_index": index,
                "access": list(step.access),
            }
            for step, index in zip(workflow.steps, worker_indices, strict=True)
        ]
    }


def report_shape(report: PlanReport) -> Shape:
    """What `parse --json` prints.

    `{"ok", "workflow", "return_previous", "repairs", "errors", "candidates"}`: `workflow` is a
    `workflow_shape` or null, repairs and errors are lists of objects, `candidates` counts what was found.
    """
    candidate = report.candidate
    return {
        "ok": report.ok,
        "workflow": workflow_shape(report.workflow, candidate.worker_indices)
        if report.workflow is not None and candidate is not None
        else None,
        "return_previous": report.return_previous,
        "repairs": [repair.model_dump(mode="json") for repair in report.repairs],
        "errors": [problem.model_dump(mode="json") for problem in report.problems],
        "candidates": len(report.candidates),
    }


def findings_shape(findings: Sequence[Finding]) -> list[Shape]:
    """`[{"rule", "step", "severity", "sentence", "fixes"}]`: steps from 0 or null, fixes by their labels."""
    return [
        {
            "rule": finding.rule,
            "step": finding.step,
            "severity": finding.severity,
            "sentence": finding.sentence,
            "fixes": [fix.label for fix in finding.fixes],
        }
        for finding in findings
    ]


def usage_shape(used: Total) -> Shape:
    """Tokens and US dollars, null for what is not known exactly; `known` has the lower bounds."""
    exact, least = (usage.model_dump(mode="json") for usage in (used.usage, used.lower))
    return {**exact, "total_tokens": used.usage.total, "known": least}


def _inner_shape(state: RunState) -> Shape:
    """One round of a workflow inside a step."""
    steps = [
        {
            "worker": step.worker,
            "stand_in": done.stand_in,
            "instruction": step.instruction,
            "status": done.status,
            "output": done.text,
        }
        for step, done in zip(state.workflow.steps if state.workflow else (), state.steps, strict=True)
    ]
    return {"status": state.status, "answer": state.answer, "steps": steps}


def _tool_shape(use: ToolUse) -> Shape:
    """A call of a tool; the arguments are the text that the worker wrote, `sent` is a person's instead."""
    return {
        "tool": use.words,
        "arguments": use.call.arguments,
        "result": use.result,
        "is_error": use.is_error,
        "seconds": use.seconds,
        "allowed_by": use.allowed_by,
        "source": use.source,
        "sent": use.sent,
    }


def run_shape(
    state: RunState,
    *,
    session: str,
    label: str | None,
    names: Sequence[str],
    used: Total,
    changed_pins: Collection[int] = (),
) -> Shape:
    """What `run --json` prints: the answer first, then where to find the rest.

    `usage` is the run's; `used` is the session's, planning and all rounds included. `changed_pins` are pinned
    steps (0-based) whose inputs changed. A run that was stopped before its first event has no workflow.
    """
    workflow = state.workflow
    planned = workflow.steps if workflow else ()
    indices = [names.index(step.worker) if step.worker in names else None for step in planned]
    steps = [
        {
            "index": index,
            "worker": step.worker,
            "worker_kind": done.worker_kind,
            "stand_in": done.stand_in,
            "failure": done.failure,
            "status": "reused" if done.reused else done.kept_because or done.status,
            "of_equal_step": done.of_equal_step,
            "answered": done.status == "finished",
            "pinned_inputs_changed": index in changed_pins,
            "by_hand": done.output is not None and done.output.hand is not None,
            "output": done.output.text if done.output else None,
            "reasoning": done.reasoning or None,
            "error": done.message,
            "left_out": list(done.output.left_out) if done.output else [],
            "request_id": done.output.request_id if done.output else None,
            "tool_uses": [_tool_shape(use) for use in done.tool_uses],
            "retries": len(done.retries),
            "characters_withdrawn": done.withdrawn,
            "rounds_inside": [_inner_shape(inner) for inner in done.inner],
            "usage": usage_shape(done.used),
            "seconds": done.seconds,
        }
        for index, (step, done) in enumerate(zip(planned, state.steps, strict=True))
    ]
    return {
        "answer": state.answer,
        "answered": state.answered,
        "answer_step": state.answer_step,
        "warning": state.warning,
        "label": label,
        "session": session,
        "run": state.run,
        "status": state.status,
        "waits_with": [each.shape for each in state.waiting_calls],
        "round": state.round,
        "calls": state.calls,
        "budget_crossed": None if state.crossing is None else state.crossing.limit,
        "workflow": None if workflow is None else workflow_shape(workflow, indices),
        "steps": steps,
        "usage": usage_shape(state.used),
        "session_used": used.model_dump(),
        "seconds": state.seconds,
    }
