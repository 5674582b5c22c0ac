"""A search for plans: generations of edited plans, tried on few questions first, the best in the end on all.

Each plan is a planner of the fit part's evaluation, so that a search that was interrupted goes on behind the
generation that it was in. Knows the fit part; what is tried next is `conductor.baselines.search`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from itertools import count

from conductor.baselines.encoder import Encoder
from conductor.baselines.search.archive import Archive
from conductor.baselines.search.generation import PlanToTry, children, finalists, promoted
from conductor.baselines.search.instructions import Instructions
from conductor.evaluation.given import FixedPlan
from conductor.text.formatting import quantity
from conductor.workflow.model import Workflow
from studio.evaluation.planner_learning.fit_part import FitPart

GENERATION = 120
"""Plans that are made before their answers are looked at: a look takes as long as some dozens of answers."""

SEARCH_SHARE = 0.8
"""Of what may be spent on the fit part; the rest is for the finalists."""

FINALISTS = 24
"""The most plans that are tried on all questions in the end."""


def search_plans(fit: FitPart) -> str | None:
    """Search until so many plans were tried as are set, then try the best on all questions; why that ended
    early, if it did.
    """
    if fit.folder.state.origins is not None:
        return None
    questions = tuple(each.question for each in fit.tried().questions)
    rows = fit.bench.background.wait(Encoder.of_shared(questions).encode(questions, None))
    cards = fit.bench.pool.cards
    instructions = Instructions(questions, {name: cards[name].strengths for name in fit.bench.pool.names})
    spent = None
    while spent is None:
        plans, tried = _plans_of(fit), fit.tried()
        archive = Archive(tried.plans, tried.questions, rows)
        new = children(
            archive, instructions,
            workers=fit.bench.pool.names, max_steps=fit.record.spec.settings.max_steps,
            count=min(GENERATION, fit.settings.plans - len(plans)),
            rng=random.Random(f"{fit.settings.seed}/{len(plans)}"),  # noqa: S311 - a search, not a secret
        )  # fmt: skip
        if not new:
            break
        fit.note(
            f"plans {len(plans) + 1:,} to {len(plans) + len(new):,} are tried; {tried.solved} of "
            f"{quantity(len(questions), 'question')} are solved"
        )
        fit.add(_widened(fit, (*promoted(archive, most=GENERATION // 2), *new)))
        spent = fit.run(SEARCH_SHARE)
    tried = fit.tried()
    best = finalists(Archive(tried.plans, tried.questions, rows), most=FINALISTS)
    fit.note(f"{quantity(len(best), 'plan')} that solve most are tried on all questions")
    fit.add(_widened(fit, best))
    if spent is None:
        fit.folder.note(origins=tuple((each.origin, "search") for each in best))
    return fit.run() or spent


def _plans_of(fit: FitPart) -> Mapping[Workflow, FixedPlan]:
    """The plans that were tried as such, by workflow."""
    return {each.workflow: each for each in fit.record.spec.given if isinstance(each, FixedPlan)}


def _widened(fit: FitPart, candidates: Iterable[PlanToTry]) -> Mapping[FixedPlan, frozenset[int] | None]:
    """Each candidate as a plan under the name that it has, with the questions that it is to answer and has
    answered; None: all.
    """
    plans, parts = dict(_plans_of(fit)), fit.record.spec.parts
    number = count(len(plans) + 1)
    wider: dict[FixedPlan, frozenset[int] | None] = {}
    for each in candidates:
        plan = plans.get(each.workflow)
        if plan is None:
            plan = plans[each.workflow] = FixedPlan.of(f"search:{next(number)}", each.origin, each.workflow)
            before: Iterable[int] | None = ()
        else:
            before = wider.get(plan, parts.get(plan.name))
        if before is not None:
            wider[plan] = None if each.questions is None else frozenset((*before, *each.questions))
    return wider
