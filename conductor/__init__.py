"""Workflows that a model writes: planned, edited, run and compared. The library without app, store or server.

The public names are in `__all__` and are loaded when first used; docs/library.md shows how they go together.
Knows neither streamlit nor sqlalchemy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from conductor.errors import (
        ConductorError,
        DataError,
        FormatError,
        PlanError,
        PoolError,
        QueryError,
        WorkerError,
        WorkflowError,
    )
    from conductor.evaluation.items import Item
    from conductor.evaluation.score import Score
    from conductor.library import aask, achange, aplan, arun, ask, astream, change, plan, run, stream
    from conductor.many_questions import ScoredAnswer, Scores, abatch, aevaluate, batch, evaluate
    from conductor.planner.parsing.parse import parse
    from conductor.report import run_report
    from conductor.runs import events
    from conductor.runs.events import Event
    from conductor.runs.state import RunState, fold
    from conductor.runs.step_state import StepState
    from conductor.values.budget import Budget
    from conductor.values.messages import Completion, Delta, Request, SeenResponse, Usage
    from conductor.values.output import Output
    from conductor.values.presets import Settings
    from conductor.workers.function_worker import FunctionWorker
    from conductor.workers.pool.pool import Pool, built_in_pool, read_pool
    from conductor.workers.protocol import Worker, WorkerCard
    from conductor.workflow.diff import PlanDiff, plan_diff
    from conductor.workflow.file import PlanFile, read_plan, write_plan
    from conductor.workflow.model import Step, Workflow
    from conductor.workflow.plan_report import PlanReport, ValidPlan
    from conductor.workflow.selection import take_rows

__all__ = [
    "Budget",
    "Completion",
    "ConductorError",
    "DataError",
    "Delta",
    "Event",
    "FormatError",
    "FunctionWorker",
    "Item",
    "Output",
    "PlanDiff",
    "PlanError",
    "PlanFile",
    "PlanReport",
    "Pool",
    "PoolError",
    "QueryError",
    "Request",
    "RunState",
    "Score",
    "ScoredAnswer",
    "Scores",
    "SeenResponse",
    "Settings",
    "Step",
    "StepState",
    "Usage",
    "ValidPlan",
    "Worker",
    "WorkerCard",
    "WorkerError",
    "Workflow",
    "WorkflowError",
    "__version__",
    "aask",
    "abatch",
    "achange",
    "aevaluate",
    "aplan",
    "arun",
    "ask",
    "astream",
    "batch",
    "built_in_pool",
    "change",
    "evaluate",
    "events",
    "fold",
    "parse",
    "plan",
    "plan_diff",
    "read_plan",
    "read_pool",
    "run",
    "run_report",
    "stream",
    "take_rows",
    "write_plan",
]

_HOMES = {
    "conductor.errors": "ConductorError DataError FormatError PlanError PoolError QueryError WorkerError "
    "WorkflowError",
    "conductor.library": "aask achange aplan arun ask astream change plan run stream",
    "conductor.planner.parsing.parse": "parse",
    "conductor.many_questions": "ScoredAnswer Scores abatch aevaluate batch evaluate",
    "conductor.evaluation.items": "Item",
    "conductor.evaluation.score": "Score",
    "conductor.report": "run_report",
    "conductor.runs.events": "Event",
    "conductor.runs.state": "RunState fold",
    "conductor.runs.step_state": "StepState",
    "conductor.values.budget": "Budget",
    "conductor.values.messages": "Completion Delta Request SeenResponse Usage",
    "conductor.values.output": "Output",
    "conductor.values.presets": "Settings",
    "conductor.workers.pool.pool": "Pool built_in_pool read_pool",
    "conductor.workers.function_worker": "FunctionWorker",
    "conductor.workers.protocol": "Worker WorkerCard",
    "conductor.workflow.diff": "PlanDiff plan_diff",
    "conductor.workflow.file": "PlanFile read_plan write_plan",
    "conductor.workflow.model": "Step Workflow",
    "conductor.workflow.plan_report": "PlanReport ValidPlan",
    "conductor.workflow.selection": "take_rows",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """A public name, loaded with its module: importing one part of the library loads no other."""
    if name == "__version__":
        return _version()
    if name == "events":
        return import_module("conductor.runs.events")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def _version() -> str:
    """As the package was installed; of a checkout that is not installed, as its pyproject.toml states."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - see above

    try:
        return version("conductor-studio")
    except PackageNotFoundError:
        import tomllib  # noqa: PLC0415 - see above
        from pathlib import Path  # noqa: PLC0415 - see above

        project = Path(__file__).parents[1] / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


def __dir__() -> list[str]:
    return [*globals(), *__all__]
