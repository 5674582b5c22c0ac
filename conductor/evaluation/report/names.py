"""What planners are called where people read. Pure."""

from __future__ import annotations

from dataclasses import replace

from conductor.baselines.methods import BASELINES
from conductor.baselines.named import PREFIX, WORKER, label_of
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
    kind, _, options = planner.removeprefix(PREFIX).partition(":")
    entry = BASELINES.get(kind)
    fitted = "fitted=" in options
    title = kind.capitalize() if entry is None else entry.title if fitted else entry.label
    return f"{title}, {options}" if options else title


def labelled(table: EvaluationTable) -> EvaluationTable:
    """The table with its planners by the names that exports and terminals show."""
    rows = tuple(replace(row, planner=label_of(row.planner)) for row in table.rows)
    categories = {
        name: {label_of(planner): share for planner, share in by.items()}
        for name, by in table.categories.items()
    }
    return replace(table, rows=rows, categories=categories)
