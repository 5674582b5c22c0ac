"""Workflows that a model writes: planned, edited, run and compared. The library without app, store or server.

The public names are in `__all__` and are loaded when first used; docs/library.md shows how they go together.
Knows neither streamlit nor sqlalchemy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conductor.errors import ConductorError
    from conductor.library import aask, achange, aplan, arun, ask, change, plan, run
    from conductor.planner.parsing.parse import parse
    from conductor.report import run_report
    from conductor.runs.events import Event
    from conductor.runs.state import RunState, fold
    from conductor.values.budget import Budget
    from conductor.values.messages import Completion, Delta, Request
    from conductor.values.output import Output
    from conductor.values.presets import Settings
    from conductor.workers.pool.pool import Pool, built_in_pool, read_pool
    from conductor.workers.protocol import Worker, WorkerCard
    from conductor.workflow.diff import plan_diff
    from conductor.workflow.file import read_plan, write_plan
    from conductor.workflow.model import Step, Workflow
    from conductor.workflow.plan_report import PlanReport
    from conductor.workflow.selection import take_rows

__all__ = [
    "Budget",
    "Completion",
    "ConductorError",
    "Delta",
    "Event",
    "Output",
    "PlanReport",
    "Pool",
    "Request",
    "RunState",
    "Settings",
    "Step",
    "Worker",
    "WorkerCard",
    "Workflow",
    "aask",
    "achange",
    "aplan",
    "arun",
    "ask",
    "built_in_pool",
    "change",
    "fold",
    "parse",
    "plan",
    "plan_diff",
    "read_plan",
    "read_pool",
    "run",
    "run_report",
    "take_rows",
    "write_plan",
]

_HOMES = {
    "conductor.errors": ("ConductorError",),
    "conductor.library": ("aask", "achange", "aplan", "arun", "ask", "change", "plan", "run"),
    "conductor.planner.parsing.parse": ("parse",),
    "conductor.report": ("run_report",),
    "conductor.runs.events": ("Event",),
    "conductor.runs.state": ("RunState", "fold"),
    "conductor.values.budget": ("Budget",),
    "conductor.values.messages": ("Completion", "Delta", "Request"),
    "conductor.values.output": ("Output",),
    "conductor.values.presets": ("Settings",),
    "conductor.workers.pool.pool": ("Pool", "built_in_pool", "read_pool"),
    "conductor.workers.protocol": ("Worker", "WorkerCard"),
    "conductor.workflow.diff": ("plan_diff",),
    "conductor.workflow.file": ("read_plan", "write_plan"),
    "conductor.workflow.model": ("Step", "Workflow"),
    "conductor.workflow.plan_report": ("PlanReport",),
    "conductor.workflow.selection": ("take_rows",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A public name, loaded with its module: importing one part of the library loads no other."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
