"""A workflow as lines: its graph, as `git log --graph` draws one, with each step's words beside it. Pure.

A step has a row. Below it a line runs down to the last step that reads it, in a lane of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from conductor.workflow.model import Workflow
from studio.cli.output.terminal import folded, lane_text

_WIDEST = 16
"""Lanes: more of them leave the words of the steps no room."""

_CORNERS = {
    (True, False, True): "├", (True, True, False): "┤", (True, True, True): "┼",
    (False, False, True): "╰", (False, True, False): "╯", (False, True, True): "┴",
}  # fmt: skip
"""By whether a line goes on downwards, comes from the left and leads to the right."""


def plan_lines(workflow: Workflow, remarks: Sequence[str] = ()) -> Iterator[str]:
    """The shape, then each step with its worker, its instruction, what it sees, and its remark; on a terminal
    in lines that it does not break, beside the lanes.
    """
    yield f"{workflow.topology}, {len(workflow)} step{'s' if len(workflow) > 1 else ''}"
    # No more of them than until one is too wide: that of a thousand steps may be a thousand wide.
    lanes = list(takewhile(lambda lane: len(lane[0]) < 2 * _WIDEST, _lanes(workflow)))
    if len(lanes) < len(workflow):
        lanes = [("", "")] * len(workflow)
    width = max(len(row) for row, _ in lanes)
    for at, (step, (row, below)) in enumerate(zip(workflow.steps, lanes, strict=True)):
        seen = f" (sees {', '.join(str(read + 1) for read in step.access)})" if step.access else ""
        remark = f" [{remarks[at]}]" if remarks else ""
        text = f"{at + 1}. {step.worker}: {step.instruction}{seen}{remark}"
        first, *others = folded(text, before=width + 3 if width else 2, indent=3)
        yield f"  {lane_text(row):{width}} {first}" if width else f"  {first}"
        yield from (f"  {lane_text(below):{width}}    {line}".rstrip() for line in others)


def _lanes(workflow: Workflow) -> Iterator[tuple[str, str]]:
    """For each step its row of lanes, and what goes on below it."""
    last = {read: at for at, step in enumerate(workflow.steps) for read in step.access}
    waiting: dict[int, int] = {}
    ended: int | None = None
    for at, step in enumerate(workflow.steps):
        access = frozenset(step.access)
        reads = {lane for lane, read in waiting.items() if read in access}
        closing = {lane for lane in reads if last[waiting[lane]] == at}
        # Right below a step that none reads, a reading one would look like its reader.
        free = (lane for lane in range(len(workflow) + 1) if lane not in waiting and lane != ended)
        own = min(closing) if closing else next(free)
        row = _row(waiting, reads, closing, own)
        waiting = {lane: read for lane, read in waiting.items() if lane not in closing}
        ended = None if at in last else own
        if at in last:
            waiting[own] = at
        yield row, _row(waiting)


def _row(
    waiting: Collection[int],
    reads: Collection[int] = (),
    closing: Collection[int] = (),
    own: int | None = None,
) -> str:
    ends = {*reads, *(() if own is None else (own,))}
    first, end = min(ends, default=0), max(ends, default=0)
    cells = []
    for lane in range(max((*waiting, *ends), default=-1) + 1):
        left, right = first < lane <= end, first <= lane < end
        if lane == own:
            cell = "●" if reads else "○"
        elif lane in reads:
            cell = _CORNERS[lane not in closing, left, right]
        else:
            # A line across passes behind those that it does not join.
            cell = "│" if lane in waiting else "─" if left and right else " "
        cells.append(cell + ("─" if right else " "))
    return "".join(cells).rstrip()
