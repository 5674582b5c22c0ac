"""The plans of a learnt planner, as text: what each came to on the questions, and its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conductor.baselines.planner_file.planner_file import PlannerFile, TriedPlan
from conductor.text.formatting import percent, quantity


def learnt_plan_lines(learnt: PlannerFile) -> Sequence[str]:
    """Each plan, the one that was right most often first. A star: none is right as often for fewer tokens."""
    right, tried = [0] * len(learnt.plans), [0] * len(learnt.plans)
    for question in learnt.questions:
        for at in (*question.right, *question.wrong):
            right[at] += at in question.right
            tried[at] += 1

    def cost(at: int) -> float:
        tokens = learnt.plans[at].tokens
        return float("inf") if tokens is None else tokens

    lines, least = [], float("inf")
    for at in sorted(range(len(learnt.plans)), key=lambda at: (-right[at], cost(at))):
        plan, best = learnt.plans[at], cost(at) < least
        least = min(least, cost(at))
        share = percent(right[at] / tried[at]) if tried[at] else "0%"
        took = "" if plan.tokens is None else f", {plan.tokens:,.0f} tokens"
        of = quantity(tried[at], "question")
        lines += ["", f"{'* ' if best else ''}{share} of {of}{took} ({plan.origin})", *_steps(plan)]
    return lines


def _steps(plan: TriedPlan) -> Iterator[str]:
    if plan.workflow is None:
        yield "  whatever the Conductor plans"
        return
    for number, step in enumerate(plan.workflow.steps, start=1):
        reads = ", ".join(str(read + 1) for read in step.access)
        yield f"  {number}. {step.worker}: {step.instruction}" + (f" (reads {reads})" if reads else "")
