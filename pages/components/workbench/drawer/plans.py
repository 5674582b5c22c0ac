"""The attempts at the plan, and other plans than the one that counts."""

from __future__ import annotations

from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from pages.components.workbench.planning.other_plans import number_of_plans, other_plans
from pages.components.workbench.planning.plan import attempts
from studio.workbench import Workbench


def remark(bench: Workbench, view: SessionView) -> str:
    """How many others there are, for the panel's name; "" without any."""
    return str(number_of_plans(bench, view) or "")


def plans_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    plans = bench.store.plans.of_session(view.session.id)
    latest, of = view.latest_plan, view.plan
    if latest is not None and (of is None or (latest.round, latest.looks_back) != (of.round, of.looks_back)):
        attempts(plans, of=latest, elsewhere=(None if view.busy else view.no_plan) or view.kept_answer)
    if of is not None:
        attempts(plans, of=of, elsewhere=of)
    other_plans(bench, tab, view)
