"""The baselines that learn from results: how each is fitted on rows, and how it plans with what it learnt.

Knows encoders and the methods; knows no store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conductor.baselines import collaboration
from conductor.baselines.encoder import CountedEmbeddings, Encoder
from conductor.baselines.ensembles import single
from conductor.baselines.fitted import Fitted, GroupResult, ResultTable, WorkerResult, hashes_of, workers_of
from conductor.baselines.learning import agreement, masrouter, routerdc
from conductor.baselines.learning.vectors import Matrix
from conductor.baselines.options import MODES, Options
from conductor.planner.conductor import PlanRequest
from conductor.text.final_answer import final_answer
from conductor.values.messages import Value
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow


@dataclass(frozen=True)
class Fitting:
    """What a method is fitted on: the results, an encoder with its client, and the options."""

    results: ResultTable
    encoder: Encoder
    client: CountedEmbeddings | None
    options: Options
    trials: Sequence[GroupResult] = ()

    async def questions(self) -> Matrix:
        return await self.encoder.encode(self.results.questions, self.client)

    async def responses(self) -> Matrix:
        return await self.encoder.encode(self.results.responses, self.client)


@dataclass(frozen=True)
class PlanningTask:
    """What a fitted method plans for: the request, the question's vector as one row, and the positions of
    those of its workers that are offered.
    """

    request: PlanRequest
    options: Options
    fitted: Fitted
    vector: Matrix
    offered: Sequence[int]

    def name(self, worker: int) -> str:
        return self.fitted.workers[worker][0]


@dataclass(frozen=True)
class Learner:
    """How a method is fitted, and how it plans: a workflow, and why. `labels`: it is shown which answers are
    right.
    """

    fit: Callable[[Fitting], Awaitable[Value]]
    plan: Callable[[PlanningTask], tuple[Workflow, str]]
    labels: bool = True


async def fit(
    kind: str,
    rows: Sequence[WorkerResult],
    *,
    cards: Mapping[str, WorkerCard],
    options: Options,
    client: CountedEmbeddings | None = None,
    trials: Sequence[GroupResult] = (),
) -> Fitted:
    """The parameters of the method fitted on these rows, and MasRouter's on trials of its groups; texts are
    compared by TF-IDF, or by the client's embeddings.

    `cards` has every worker of the rows. Raises `DataError` where there is nothing to learn from,
    `WorkerError` where there are no embeddings.
    """
    learner, results = LEARNERS[kind], ResultTable(rows)
    texts = results.questions if learner.labels else (*results.questions, *results.responses)
    fitting = Fitting(results, Encoder.of(texts, client), client, options, trials)
    parameters = await learner.fit(fitting)
    return Fitted(
        baseline=kind,
        encoder=fitting.encoder,
        workers=workers_of(results.workers, cards),
        questions=hashes_of(results.questions),
        labels=learner.labels,
        parameters=parameters.model_dump(mode="json"),
    )


async def learnt_plan(
    request: PlanRequest, options: Options, fitted: Fitted, client: CountedEmbeddings | None
) -> tuple[Workflow, str]:
    """The workflow of a fitted method, and why. Raises `PlanError` for another pool than it was fitted on."""
    chosen = options.workers
    offered = fitted.offered([card for card in request.workers if chosen is None or card.name in chosen])
    vector = await fitted.encoder.encode([request.query], client)
    return LEARNERS[fitted.baseline].plan(PlanningTask(request, options, fitted, vector, offered))


# -- the methods -----------------------------------------------------------------------------------


async def _fit_routerdc(fitting: Fitting) -> Value:
    scores = np.array(fitting.results.shares_right())
    return routerdc.fit(await fitting.questions(), scores, seed=fitting.options.seed)


def _plan_routerdc(question: PlanningTask) -> tuple[Workflow, str]:
    similar = routerdc.similarities(question.fitted.read(routerdc.RouterDcParameters), question.vector)
    ranked = sorted(question.offered, key=lambda at: -similar[at])
    words = ", ".join(f"{question.name(at)} {similar[at]:.3f}" for at in ranked)
    return single(question.name(ranked[0]), question.options.sampling), f"Similarities: {words}."


async def _fit_smoothie(fitting: Fitting) -> Value:
    results = fitting.results
    declined = [not final_answer(response) for response in results.responses]
    questions, responses = await fitting.questions(), await fitting.responses()
    return agreement.fit(questions, responses, declined, workers=len(results.workers))


def _plan_smoothie(question: PlanningTask) -> tuple[Workflow, str]:
    parameters = question.fitted.read(agreement.AgreementParameters)
    weights = agreement.weights(parameters, question.vector, question.offered, neighbours=question.options.k)
    ranked = sorted(
        zip(weights, map(question.name, question.offered), strict=True), key=lambda each: -each[0]
    )
    words = ", ".join(f"{name} {weight:.3f}" for weight, name in ranked)
    return single(ranked[0][1], question.options.sampling), f"Weights: {words}."


async def _fit_masrouter(fitting: Fitting) -> Value:
    results, rate, seed = fitting.results, fitting.options.cost_rate, fitting.options.seed
    right, costs = np.array(results.shares_right()), np.array(results.costs())
    parameters = masrouter.fit(await fitting.questions(), right, costs, rate=rate, seed=seed)
    spent = [
        (trial, results.cost_of(trial)) for trial in fitting.trials if trial.question in results.questions
    ]
    tried = [(trial, trial.right - rate * cost) for trial, cost in spent if cost is not None]
    if not tried:
        return parameters
    vectors = await fitting.encoder.encode([trial.question for trial, _ in tried], fitting.client)
    modes = np.array([MODES.index(trial.mode) for trial, _ in tried])
    utility = np.array([each for _, each in tried])
    head = masrouter.fit_modes(vectors, modes, utility, seed=seed)
    return parameters.model_copy(update={"modes": head})


def _plan_masrouter(question: PlanningTask) -> tuple[Workflow, str]:
    all_chances = masrouter.chances(question.fitted.read(masrouter.MasRouterParameters), question.vector)
    chances = replace(all_chances, workers=[all_chances.workers[at] for at in question.offered])
    names = [question.name(at) for at in question.offered]
    return collaboration.planned(question.request.query, names, chances, question.options)


LEARNERS: Mapping[str, Learner] = {
    "routerdc": Learner(_fit_routerdc, _plan_routerdc),
    "masrouter": Learner(_fit_masrouter, _plan_masrouter),
    "smoothie": Learner(_fit_smoothie, _plan_smoothie, labels=False),
}
