"""A learnt planner in use: the pool file by which it plans, and the corrections that it learns as examples.

Knows documents, which it does not save, and the planner's own file.
"""

from __future__ import annotations

from pathlib import Path

from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.baselines.planner_file.planner_file import read_planner, write_planner
from conductor.errors import PlanError
from conductor.orchestration.runtime import runtime_of
from conductor.workers.pool.built_in import BUILT_IN, built_in_file
from conductor.workers.pool.toml_editor import PoolDocument
from conductor.workflow.model import Workflow
from studio.workbench import Workbench


def using(document: PoolDocument, file: Path, *, name: str, pool: Path | None) -> PoolDocument:
    """The document by which the planner of that file plans, under that name; an empty one gets the built-in
    set that `pool` names, None: the usual one.

    Raises `FormatError` where the file cannot be read, `PlanError` where it cannot plan for that pool, and
    `PoolError`.
    """
    _ = read_planner(file)
    if not document.text.strip():
        text = None if pool is None else built_in_file(pool)
        document = document.with_built_in(next(iter(BUILT_IN))) if text is None else document.with_text(text)
    document = document.with_planner(name, path_beside(file, document.path))
    planner = runtime_of(document.pool()).conductor
    assert isinstance(planner, FilePlanner), "the document names one"
    planner.check()
    return document


def path_beside(path: Path, pool: Path) -> str:
    """A path as the pool file names it: from where that is, else as a whole."""
    path, folder = path.absolute(), pool.absolute().parent
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


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
