"""MasRouter's router learns whom to draw, and how many, from what single workers got right and cost."""

from __future__ import annotations

import numpy as np
import pytest

from conductor.baselines.fitted import GroupResult, WorkerResult
from conductor.baselines.learning.learners import fit as fit_rows
from conductor.baselines.learning.masrouter import MasRouterParameters, chances, fit, fit_modes, utilities
from conductor.baselines.options import MODES, Options
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker


def test_the_utility_of_a_group_by_hand() -> None:
    right = np.array([[1.0, 0.0, 0.5]] * 4)
    costs = np.array([[1.0, 0.2, 0.4]] * 4)
    counts = np.array([[2, 1, 0], [1, 1, 0], [0, 2, 1], [1, 0, 1]])
    # Two of three are right: 1; cost 2 * 1 + 0.2 and the decision by the first. Then a half, none, three
    # quarters of what is needed to be sure.
    expected = [1 - 0.1 * 3.2, 0.5 - 0.1 * 2.2, 0 - 0.1 * 1.0, 1 - 0.1 * 2.4]
    assert utilities(counts, right, costs, rate=0.1) == pytest.approx(np.array(expected))


@pytest.mark.thorough
def test_it_learns_the_worker_of_each_kind_and_that_one_agent_is_enough() -> None:
    kinds = np.arange(40) % 2
    questions = np.eye(2)[kinds]
    right = np.column_stack([kinds == 0, kinds == 1, kinds == 2]).astype(float)
    costs = np.ones_like(right)
    parameters = fit(questions, right, costs, rate=0.1, seed=0)
    assert parameters == fit(questions, right, costs, rate=0.1, seed=0)
    for kind in (0, 1):
        of = chances(parameters, np.eye(2)[[kind]])
        assert sum(of.agents) == pytest.approx(1)
        assert int(np.argmax(of.workers)) == kind
        assert of.workers[kind] > 0.8
        assert of.agents[0] > 0.5
    assert MasRouterParameters.model_validate_json(parameters.model_dump_json()) == parameters


@pytest.mark.thorough
def test_without_a_cost_a_dear_worker_is_as_good_as_a_cheap_one_and_with_it_the_cheap_one_is_drawn() -> None:
    questions, right = np.ones((20, 1)), np.ones((20, 2))
    costs = np.column_stack([np.ones(20), np.full(20, 0.1)])
    of = chances(fit(questions, right, costs, rate=0.5, seed=0), np.ones((1, 1)))
    assert of.workers[1] > 0.8
    assert of.agents[0] > 0.5
    equal = chances(fit(questions, right, costs, rate=0.0, seed=0), np.ones((1, 1)))
    assert equal.workers == pytest.approx([0.5, 0.5])


@pytest.mark.slow
def test_modes_are_learnt_from_groups_that_were_run() -> None:
    draw = np.random.default_rng(0)
    kinds, modes = np.arange(120) % 2, draw.integers(0, len(MODES), 120)
    # A debate answers questions of the first kind, a chain those of the second; a debate costs more.
    debate, chain = MODES.index("debate"), MODES.index("chain")
    right = np.where(kinds == 0, modes == debate, modes == chain)
    head = fit_modes(np.eye(2)[kinds], modes, right - 0.1 * (modes == debate), seed=0)
    assert head == fit_modes(np.eye(2)[kinds], modes, right - 0.1 * (modes == debate), seed=0)
    parameters = MasRouterParameters(agents=((0.0,) * 3,), workers=((0.0,) * 3,), modes=head)
    for kind, best in ((0, debate), (1, chain)):
        of = chances(parameters, np.eye(2)[[kind]])
        assert int(np.argmax(of.modes)) == best
        assert of.modes[best] > 0.5


@pytest.mark.thorough
@pytest.mark.slow
async def test_trials_of_unknown_cost_or_of_other_questions_are_left_out() -> None:
    rows = [
        WorkerResult(question=question, worker=name, right=True, tokens=10)
        for question in ("What is 1 + 1?", "What is 2 + 2?")
        for name in ("alpha", "beta")
    ]
    cards = Pool(workers=(SimulatedWorker("alpha"), SimulatedWorker("beta"))).cards
    trial = GroupResult(question="What is 1 + 1?", mode="chain", right=True, tokens=20)
    for trials, learnt in (
        ([], 0),
        ([trial.model_copy(update={"tokens": None})], 0),
        ([trial.model_copy(update={"question": "Why?"})], 0),
        ([trial], len(MODES)),
    ):
        fitted = await fit_rows("masrouter", rows, cards=cards, options=Options(), trials=trials)
        assert len(fitted.read(MasRouterParameters).modes) == learnt
