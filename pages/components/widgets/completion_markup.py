"""A Conductor's completion as it came, with what was read of it marked. Pure."""

from __future__ import annotations

from itertools import pairwise

from conductor.workflow.plan_report import PlanReport
from pages.components.widgets.text_block import Stretch, Tone


def marked(report: PlanReport) -> tuple[Stretch, ...]:
    """The whole text in stretches: the plan that counts, in it what was repaired, around it the rest."""
    plan = report.candidate
    if plan is None:
        return (Stretch(report.text),)
    repairs = sorted(plan.repairs, key=lambda repair: repair.span)
    borders = {0, len(report.text), *plan.span, *(at for repair in repairs for at in repair.span)}
    cuts = sorted(at for at in borders if 0 <= at <= len(report.text))
    stretches = []
    for start, end in pairwise(cuts):
        tone: Tone = "quiet"
        title = ""
        if plan.span[0] <= start and end <= plan.span[1]:
            tone, title = "task", "The plan that was read"
        for repair in repairs:
            if repair.span[0] <= start and end <= repair.span[1]:
                tone, title = "seen", f"{repair.kind}: {repair.detail}"
        stretches.append(Stretch(report.text[start:end], tone, title))
    return tuple(stretches)
