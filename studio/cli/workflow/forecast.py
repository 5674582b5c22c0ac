"""`--dry-run` of what plans and runs: who would be called. Nothing is called, and no session is stored.

Knows how that is printed; the estimate is the workbench's.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from conductor.runs.scope import EDITED, RunScope
from conductor.text.formatting import quantity
from conductor.values.presets import Settings
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow
from conductor.workflow.selection import edited_as
from studio.cli.options import Shared, Storable
from studio.cli.output.plan_graph import plan_lines
from studio.workbench import Workbench


def unstored(options: Storable) -> Storable:
    """The options with which a new session is in no store."""
    return replace(options, no_store=True, database=None)


def show_run(
    workbench: Workbench,
    session: str,
    settings: Settings,
    options: Shared,
    *,
    is_new: bool,
    scope: RunScope = EDITED,
    workflow: Workflow | None = None,
) -> int:
    """Print what a run of the session's workflow, or of `workflow` in its place, would call; returns the exit
    code. A new session is planned where that calls no model.
    """
    head = workbench.store.revisions.head(session)
    if is_new and head is None and not _calls(workbench, settings):
        workbench.planning.plan(session)
        head = workbench.store.revisions.head(session)
    workflow = workflow or (None if head is None else head.workflow)
    if workflow is None:
        return show_planning(
            workbench, session, settings, options, is_new=is_new, then=" Its steps are known only then."
        )
    if head is not None:
        workflow = edited_as(head.workflow, workflow)
    outlook = workbench.running.outlook(session, scope, workflow=workflow)
    shape = {"session": None if is_new else session, "planner": None, "estimate": asdict(outlook.estimate)}
    return options.show(shape, *plan_lines(workflow), outlook.sentence)


def show_planning(
    workbench: Workbench,
    session: str,
    settings: Settings,
    options: Shared,
    *,
    is_new: bool,
    plans: int = 1,
    then: str = "",
) -> int:
    """Print who would be asked for so many plans, in how many calls; returns the exit code."""
    planner, most = _planner(workbench, settings).name, plans * _calls(workbench, settings)
    calls = f"plans in {quantity(plans, 'call')}" if most else "plans and calls no model"
    more = f", {most:,} at most" if most > plans else ""
    shape = {
        "session": None if is_new else session,
        "planner": planner,
        "calls": {"least": plans if most else 0, "most": most},
        "estimate": None,
    }
    return options.show(shape, f"{planner} {calls}{more}.{then}")


def _planner(workbench: Workbench, settings: Settings) -> WorkerCard:
    return workbench.runner.runtime.planner_for(settings).card


def _calls(workbench: Workbench, settings: Settings) -> int:
    """The most calls that a plan takes: each attempt is one."""
    return 0 if _planner(workbench, settings).kind == "offline" else settings.attempts
