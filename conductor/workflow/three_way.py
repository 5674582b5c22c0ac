"""One workflow as it was planned, as it was edited and as it was run: which steps are the same ones.

Pure. Knows workflows and the difference of two of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from conductor.workflow.diff import PlanDiff, plan_diff
from conductor.workflow.model import Workflow

Row = tuple[int | None, int | None, int | None]
"""A step's positions as planned, as edited, as run; None where it is not there."""


@dataclass(frozen=True)
class ThreeWay:
    """Three states of a workflow. `planned` is how the edited one differs from the planned one, `run` how the
    one last run differs from the edited one, None where none was run.

    Every step of every state is in exactly one of the `rows`.
    """

    edited: Workflow
    planned: PlanDiff
    run: PlanDiff | None
    rows: tuple[Row, ...]


def three_way(planned: Workflow, edited: Workflow, run: Workflow | None) -> ThreeWay:
    """The three states side by side, in the order of the edited one."""
    before = plan_diff(planned, edited)
    after = None if run is None else plan_diff(edited, run)
    rows: list[Row] = [
        (
            before.of_new[at].old if at in before.of_new else None,
            at,
            after.of_old[at].new if after is not None and at in after.of_old else None,
        )
        for at in range(len(edited))
    ]
    only_run = () if after is None else after.added
    # A step that was edited away may have been run before.
    across: dict[int, int] = {}
    if run is not None and before.removed and only_run:
        pairs = plan_diff(planned, run).of_old
        across = {at: pairs[at].new for at in before.removed if at in pairs and pairs[at].new in only_run}
    for at in before.removed:
        _insert(rows, (at, None, across.get(at)), column=0)
    for at in only_run:
        if at not in across.values():
            _insert(rows, (None, None, at), column=2)
    return ThreeWay(edited, before, after, tuple(rows))


def _insert(rows: list[Row], row: Row, *, column: int) -> None:
    """Insert a row behind the row of the previous step in its column."""
    own = row[column]
    assert own is not None, "a row has a step in the column it is placed by"
    behind, nearest = -1, -1
    for at, other in enumerate(rows):
        position = other[column]
        if position is not None and nearest < position < own:
            behind, nearest = at, position
    rows.insert(behind + 1, row)
