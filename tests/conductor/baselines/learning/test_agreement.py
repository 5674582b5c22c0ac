"""Smoothie over a set of questions: one set of weights for all, or those of a question's neighbours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conductor.baselines.fitted import WorkerResult, write_fitted
from conductor.baselines.learning.agreement import AgreementParameters, fit, weights
from conductor.baselines.learning.learners import fit as fit_rows
from conductor.baselines.named import planner_named
from conductor.baselines.options import Options
from conductor.planner.conductor import PlanRequest
from conductor.planner.planner import plan
from conductor.runs.events import WorkflowPlanned
from conductor.workers.computed.select import smoothie_weights
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker

NAMES = ("alpha", "beta", "gamma")
# On sums alpha is between the two others, on cities beta is.
ANSWERS = {
    "sum": ("eleven or twelve", "eleven", "twelve"),
    "city": ("Lima", "Lima or Cusco", "Cusco"),
}
QUESTIONS = {
    **{f"What is {n} + {n}?": "sum" for n in range(3)},
    **{f"Which city is the capital of {country}?": "city" for country in ("Peru", "Chile")},
}
ROWS = [
    WorkerResult(question=question, worker=name, right=False, response=response)
    for question, kind in QUESTIONS.items()
    for name, response in zip(NAMES, ANSWERS[kind], strict=True)
]


def test_weights_come_from_mean_distances_over_the_set_or_over_neighbours() -> None:
    questions = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    responses = np.array(
        [[[1, 0], [0, 1], [1, 0]], [[0, 0], [2, 0], [0, 3]], [[0, 1], [0, 1], [4, 0]]], dtype=float
    )
    parameters = fit(questions, responses.reshape(9, 2), [False] * 9, workers=3)
    first = [[0, 2, 0], [2, 0, 2], [0, 2, 0]]
    second = [[0, 4, 9], [4, 0, 13], [9, 13, 0]]
    third = [[0, 0, 17], [0, 0, 17], [17, 17, 0]]
    assert np.array(parameters.apart) == pytest.approx(np.array([first, second, third]))
    vector = np.array([[0.9, 0.1]])
    everything = np.mean([first, second, third], axis=0).tolist()
    assert weights(parameters, vector, (0, 1, 2), neighbours=None) == smoothie_weights(everything)
    two = np.mean([first, second], axis=0).tolist()
    assert weights(parameters, vector, (0, 1, 2), neighbours=2) == smoothie_weights(two)
    assert weights(parameters, vector, (0, 1, 2), neighbours=1) == smoothie_weights(first)
    assert weights(parameters, vector, (0, 2), neighbours=1) == (0.5, 0.5)
    assert AgreementParameters.model_validate_json(parameters.model_dump_json()) == parameters


def test_answers_that_decline_agree_with_nothing() -> None:
    same = np.array([[1.0, 0.0]] * 4)
    parameters = fit(np.ones((1, 1)), same, [True, True, False, False], workers=4)
    assert parameters.apart == (((0, 2, 2, 2), (2, 0, 2, 2), (2, 2, 0, 0), (2, 2, 0, 0)),)
    # The estimates are 4/3, 4/3, 1/3 and 1/3.
    shares = weights(parameters, np.ones((1, 1)), (0, 1, 2, 3), neighbours=None)
    assert shares == pytest.approx((0.1, 0.1, 0.4, 0.4))


async def test_it_is_learnt_without_labels_and_asks_one_worker(tmp_path: Path) -> None:
    file = tmp_path / "smoothie.json"
    pool = Pool(workers=tuple(map(SimulatedWorker, NAMES)))
    fitted = await fit_rows("smoothie", ROWS, cards=pool.cards, options=Options())
    assert not fitted.labels
    write_fitted(fitted, file)

    async def worker_for(query: str, *options: str) -> str:
        planner = planner_named(",".join([f"baseline:smoothie:fitted={file}", *options]), pool)
        request = PlanRequest(query=query, workers=tuple(pool.cards[name] for name in NAMES))
        async for event in plan(request, conductor=planner, run="r"):
            if isinstance(event, WorkflowPlanned):
                assert event.report.workflow is not None
                assert "Weights: " in event.report.reasoning
                (step,) = event.report.workflow.steps
                return step.worker
        raise AssertionError("a plan is made")

    assert await worker_for("What is 7 + 7?", "k=3") == "alpha"
    assert await worker_for("Which city is the capital of Spain?", "k=2") == "beta"
    # Over all of the set alpha is the one, as there are more sums.
    assert await worker_for("Which city is the capital of Spain?") == "alpha"
