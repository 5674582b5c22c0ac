"""A search for plans: generations of edited plans, tried on few questions first, the best in the end on all.

Each plan is a planner of the fit part's evaluation, so that a search that was interrupted goes on behind the
generation that it was in. Knows the fit part; what is tried next is `conductor.baselines.search`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count

import numpy as np

from conductor.baselines.encoder import Encoder
from conductor.baselines.search.generation import Archive, PlanToTry, children, finalists, promoted
from conductor.baselines.search.instructions import Instructions
from conductor.baselines.search.rewording import instructions_in, rewording_request
from conductor.engine.charged_answer import charged_answer
from conductor.errors import DataError
from conductor.evaluation.plan_sources import FixedPlan
from conductor.evaluation.scorers.judge import can_judge
from conductor.planner.model_planner import ModelConductor
from conductor.text.formatting import quantity
from conductor.workers.protocol import Worker
from conductor.workflow.model import Workflow
from studio.evaluation.planner_learning.fit_part import FitPart
from studio.evaluation.planner_learning.learning_folder import LearningSettings
from studio.evaluation.results import scored_cells
from studio.workbench import Workbench

GENERATION = 120
"""Plans that are made before their answers are looked at: a look takes as long as some dozens of answers."""

SEARCH_SHARE = 0.8
"""Of what may be spent on the fit part; the rest is for the finalists."""

REWORDED = 4
"""Questions of a generation for which a model writes instructions."""

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
    strengths = {name: cards[name].strengths for name in fit.bench.pool.names}
    instructions = Instructions(questions, strengths, fit.folder.state.instructions)
    spent = None
    while spent is None:
        plans, tried = _plans_of(fit), fit.tried()
        archive = Archive(tried.plans, tried.questions, rows)
        if len(plans) < fit.settings.plans:
            instructions = _reworded(fit, archive, instructions)
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


def most_rewordings(settings: LearningSettings) -> int:
    """How often a model is called for instructions at most."""
    return REWORDED * -(-settings.plans // GENERATION)


def rewording_model(bench: Workbench, settings: LearningSettings) -> Worker | None:
    """The model that writes instructions: the reflector, if one is set, else the one that plans; None if the
    Conductor is no model.

    Raises `PoolError` for a worker that the pool does not have, `DataError` for one that calls no model.
    """
    if settings.reflector is not None:
        if not can_judge(bench.pool[settings.reflector].card):
            raise DataError(
                f"{settings.reflector!r} calls no model and writes no instruction; name another worker."
            )
        return bench.pool[settings.reflector]
    conductor = bench.conductor
    return conductor.answering if isinstance(conductor, ModelConductor) else None


def _reworded(fit: FitPart, archive: Archive, instructions: Instructions) -> Instructions:
    """The instructions with those that a model writes for questions that are solved least well."""
    model = rewording_model(fit.bench, fit.settings)
    by_model, meter, store = dict(instructions.by_model), fit.meter(), fit.bench.store
    if model is None:
        return instructions
    best = archive.worth.argmax(axis=0)
    sessions = {cell.item: cell.session for cell in scored_cells(store, fit.record.id)}
    places = [
        int(at)
        for at in np.argsort(-archive.unsolved, kind="stable")
        if archive.questions[at].question not in by_model and at in sessions
    ]
    for at in places[: min(REWORDED, most_rewordings(fit.settings) - len(by_model))]:
        question, workflow = archive.questions[at].question, archive.plans[int(best[at])].workflow
        if workflow is None:
            continue
        request = rewording_request(question, workflow, instructions.strengths)
        answer = fit.bench.background.wait(charged_answer(model, request, meter, purpose="reflect"))
        store.ledger.add(answer.charges, session=sessions[at], by=fit.bench.asker)
        if answer.text is None:
            fit.note(f"{model.card.name} wrote no instructions: {answer.failure}")
            break
        by_model[question] = instructions_in(answer.text)
        fit.folder.note(instructions=by_model)
    return replace(instructions, by_model=by_model)


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
