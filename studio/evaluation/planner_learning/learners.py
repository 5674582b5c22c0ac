"""The ways to learn from the plans that were drawn, by their names. Each tries more plans on the fit part."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conductor.baselines.planner_file.planner_file import Learner
from conductor.evaluation.plan_sources import FixedPlan
from conductor.text.formatting import quantity
from studio.evaluation.planner_learning.fit_part import FitPart
from studio.evaluation.planner_learning.reflection import reflect
from studio.evaluation.planner_learning.search import search_plans


def try_promising(fit: FitPart) -> str | None:
    """Try the plans that were right somewhere on all questions; why that ended early, if it did."""
    if fit.folder.state.origins is not None:
        return None
    promising = fit.tried().promising(fit.settings.plans)
    fixed = [
        FixedPlan.of(f"tried:{at}", plan.origin, plan.workflow)
        for at, plan in enumerate(promising, start=1)
        if plan.workflow is not None
    ]
    fit.add(dict.fromkeys(fixed))
    fit.folder.note(origins=tuple((plan.name, plan.source) for plan in fixed))
    fit.note(f"{quantity(len(fixed), 'plan')} that were right somewhere are tried on all of them")
    return fit.run()


LEARNERS: Mapping[Learner, Callable[[FitPart], str | None]] = {
    "examples": try_promising,
    "reflect": reflect,
    "search": search_plans,
}
"""Each returns why it ended early, None if it did not."""
