"""A plan for a session as far as its Conductor has written it."""

from __future__ import annotations

from conductor.errors import PoolError
from conductor.orchestration.rounds import offered
from conductor.planner.parsing.partial_plan import PartialPlan, read_partial_plan
from conductor.runs.state import RunState
from pages.components.view_models.session import SessionView
from studio.workbench import Workbench


def plan_so_far(bench: Workbench, view: SessionView, state: RunState | None) -> PartialPlan:
    """Without a step while nothing is planned; `state` is that of the planning."""
    if state is None:
        return PartialPlan("", ())
    try:
        workers = [card.name for card in offered(bench.pool, view.settings)]
    except PoolError:
        workers = []  # the planning fails with the reason
    return read_partial_plan(state.planning_text, workers=workers, dialect=bench.conductor.dialect)
