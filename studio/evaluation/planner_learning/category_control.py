"""The control of an examination that is given the category of each question: the best plan of each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from conductor.baselines.planner_file.planner_file import BY_CATEGORY, PlannerFile
from conductor.evaluation.items import Item
from conductor.evaluation.plan_sources import CategoryPlans
from conductor.workflow.model import Workflow


def category_plans(learnt: PlannerFile, items: Sequence[Item]) -> tuple[CategoryPlans, ...]:
    """For each category of these items, from which it learnt, the plan that was right on most of them; for
    other categories the one that was right on most of all. Nothing if no plan was right, or the items have
    fewer than two categories.
    """
    categories = {item.question: item.category for item in items}
    right: dict[str | None, Counter[int]] = {category: Counter() for category in categories.values()}
    for question in learnt.questions:
        if question.question in categories:
            right[categories[question.question]].update(question.right)
    best = _best(learnt, sum(right.values(), Counter()))
    if best is None or len(right) < 2:
        return ()
    choices = ((category, _best(learnt, counts)) for category, counts in right.items())
    workflows = [(name, workflow) for name, workflow in choices if name is not None and workflow is not None]
    return (CategoryPlans(name=BY_CATEGORY, workflows=tuple(workflows), otherwise=best),)


def _best(learnt: PlannerFile, right: Counter[int]) -> Workflow | None:
    """The plan that was right most often; of equal ones that of fewest tokens."""

    def rank(plan: int) -> tuple[int, float]:
        tokens = learnt.plans[plan].tokens
        return -right[plan], float("inf") if tokens is None else tokens

    plans = [plan for plan in right if learnt.plans[plan].workflow is not None]
    return learnt.plans[min(plans, key=rank)].workflow if plans else None
