from __future__ import annotations

import pytest
from worker_cases import card_of

from conductor.engine.estimate import ANSWER_TOKENS
from conductor.evaluation.items import Item
from conductor.learning.grpo.cost import TrainingCost, training_cost, usable
from conductor.learning.grpo.recipe import RECIPES
from conductor.workers.pool.pool import Pool, offline_pool
from conductor.workers.protocol import Price
from conductor.workers.simulated import SimulatedWorker

ITEMS = [
    Item(id=str(number), input=f"What is {number} * 7?", target=(str(7 * number),)) for number in range(6)
]
PAPER = RECIPES["paper"]


def pool_of(*prices: Price | None) -> Pool:
    workers = []
    for number, price in enumerate(prices):
        worker = SimulatedWorker(f"w{number}")
        worker.card = card_of(f"w{number}").model_copy(update={"kind": "model", "price": price})
        workers.append(worker)
    return Pool(workers=tuple(workers))


def cost_of(pool: Pool) -> TrainingCost:
    return training_cost(PAPER, ITEMS, pool, usable(pool))


def test_the_published_training_makes_153_600_calls():
    cost = cost_of(offline_pool())
    assert (cost.completions, cost.calls) == (51_200, 153_600)
    assert (cost.tokens, cost.cost, cost.unpriced) == (0, 0.0, ())
    assert cost.planning > 51_200 * PAPER.completion_tokens


@pytest.mark.slow
def test_a_cost_is_the_mean_of_the_prices_where_all_are_called_equally_often():
    one, other = (cost_of(pool_of(Price(prompt=0, completion=price))) for price in (1.0, 3.0))
    both = cost_of(pool_of(Price(prompt=0, completion=1), Price(prompt=0, completion=3)))
    assert one.cost == pytest.approx(153_600 * ANSWER_TOKENS / 1e6)
    assert other.cost == pytest.approx(3 * one.cost)
    assert both.cost == pytest.approx(2 * one.cost)


def test_what_a_worker_without_a_price_costs_is_unknown():
    cost = cost_of(pool_of(Price(prompt=1, completion=1), None))
    assert cost.cost is None
    assert cost.unpriced == ("w1",)
    assert cost.tokens is not None
    assert cost.tokens > 153_600 * ANSWER_TOKENS
