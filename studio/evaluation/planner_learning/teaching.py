"""A correction as an example: the planner that plans for the pool learns a workflow that a person made."""

from __future__ import annotations

from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.baselines.planner_file.planner_file import write_planner
from conductor.errors import PlanError
from conductor.workflow.model import Workflow
from studio.workbench import Workbench


def planner_in_use(bench: Workbench) -> FilePlanner | None:
    """The planner that learnt and plans for the pool; None if the Conductor plans by itself."""
    conductor = bench.runner.runtime.conductor
    return conductor if isinstance(conductor, FilePlanner) else None


def teach(bench: Workbench, question: str, workflow: Workflow) -> str:
    """Write into the planner's file that this workflow goes with this question; what it learnt, in words.

    Raises `PlanError` if no planner that learnt plans, `WorkflowError` for a worker that the pool does not
    have, `FormatError` where the file cannot be read or written.
    """
    planner, pool = planner_in_use(bench), bench.pool
    if planner is None:
        raise PlanError("No planner that learnt plans for this pool; choose one on the Learning page.")
    workflow.check_workers(pool.cards)
    file = planner.file.corrected(question, workflow.unpinned.ungated, pool.cards)
    write_planner(file, planner.path)
    hands = sum(each.by_hand is not None for each in file.questions)
    return (
        f"{file.name} plans questions like this one so from now on; {hands:,} of its "
        f"{len(file.questions):,} questions are corrections."
    )
