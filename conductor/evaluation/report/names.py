"""Names planners for readers. Pure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from conductor.baselines.methods import BASELINES
from conductor.baselines.named import PREFIX, WORKER, label_of
from conductor.baselines.planner_file.file_planner import PREFIX as PLANNER
from conductor.evaluation.evaluation_table import ROUTER, EvaluationTable
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec


def planner_name(planner: str, spec: EvaluationSpec | None = None) -> str:
    """A planner's title, with its options: "Mixture-of-Agents, layers=2"; a worker alone is its own name, and
    a workflow that was given to an evaluation has its title there.
    """
    plans = None if spec is None else spec.plans_of(planner)
    if plans is not None:
        return plans.title
    if planner == CONDUCTOR:
        return "Conductor"
    if planner == ROUTER:
        return "Perfect router"
    if planner.startswith(WORKER):
        return planner.removeprefix(WORKER)
    if planner.startswith(PLANNER):
        return _learnt_name(planner.removeprefix(PLANNER))
    kind, _, options = planner.removeprefix(PREFIX).partition(":")
    entry = BASELINES.get(kind)
    fitted = "fitted=" in options
    title = kind.capitalize() if entry is None else entry.title if fitted else entry.label
    return f"{title}, {options}" if options else title


def _learnt_name(named: str) -> str:
    """That of a planner by its name in the pool file or by its file, which is in the folder of that name."""
    file = PurePath(named)
    if not file.suffix:
        return named
    return file.parent.name if file.stem == "planner" and file.parent.name else file.stem


def labelled(table: EvaluationTable) -> EvaluationTable:
    """The table with its planners by the names that exports and terminals show."""
    rows = tuple(replace(row, planner=label_of(row.planner)) for row in table.rows)
    categories = {
        name: {label_of(planner): share for planner, share in by.items()}
        for name, by in table.categories.items()
    }
    return replace(table, rows=rows, categories=categories)
