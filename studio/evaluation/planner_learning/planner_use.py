"""A planner in the pool file: the document by which it plans. Knows documents; saves nothing."""

from __future__ import annotations

from pathlib import Path

from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.baselines.planner_file.planner_file import read_planner
from conductor.orchestration.runtime import runtime_of
from conductor.workers.pool.built_in import BUILT_IN, built_in_file
from conductor.workers.pool.toml_editor import PoolDocument


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
