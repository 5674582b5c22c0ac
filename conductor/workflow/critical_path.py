"""Computes when a workflow's last step ends, by the seconds of its steps. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from conductor.workflow.model import Workflow


def last_end(workflow: Workflow, seconds: Mapping[int, float | None]) -> float | None:
    """When the last step ends, in seconds from the start, if each starts once all that it reads is there.

    Those without `seconds` take none; None if it depends on a step whose seconds are unknown.
    """
    ends: list[float] = []
    for step, own in enumerate(workflow.steps):
        lasts = seconds.get(step, 0.0)
        if lasts is None:
            return None
        ends.append(max((ends[read] for read in own.access), default=0.0) + lasts)
    return max(ends)
