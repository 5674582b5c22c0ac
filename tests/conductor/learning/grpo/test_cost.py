from __future__ import annotations

import pytest

from conductor.engine.estimate import ANSWER_TOKENS
from conductor.evaluation.items import Item
from conductor.learning.grpo.cost import TrainingCost, training_cost, usable
from conductor.learning.grpo.recipe import RECIPES
from conductor.values.messages import Sampling
from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Price
from conductor.workers.simulated import SimulatedWorker
from tests.support.runs.worker_cases import card_of

ITEMS = [
    Item(id=str(number), input=f"What is {number} * 7?", target=(str(7 * number),)) for number in range(6)
]
PAPER = RECIPES["paper"]


def pool_of(*prices: Price | None, max_tokens: int | None = None) -> Pool:
    workers = []
    for number, price in enumerate(prices):
        worker = SimulatedWorker(f"w{number}")
        worker.card = card_of(f"w{number}").model_copy(
            update={"kind": "model", "price": price, "sampling": Sampling(max_tokens=max_tokens)}
        )
        workers.append(worker)
    return Pool(workers=tuple(workers))


def cost_of(pool: Pool) -> TrainingCost:
    return training_cost(PAPER, ITEMS, pool, usable(pool))


def test_the_published_training_makes_153_600_calls():
    cost = cost_of(Pool(workers=(Calculator(),)))
    # Of six questions one is held out, and evaluated before the first step and after each twentieth.
    assert (cost.completions, cost.evaluated, cost.calls) == (51_200, 11, 153_600 + 33)
    assert (cost.tokens, cost.cost, cost.unpriced) == (0, 0.0, ())
    assert cost.planning > 51_200 * PAPER.completion_tokens


@pytest.mark.slow
def test_a_cost_is_the_mean_of_the_prices_where_all_are_called_equally_often():
    one, other = (cost_of(pool_of(Price(prompt=0, completion=price))) for price in (1.0, 3.0))
    both = cost_of(pool_of(Price(prompt=0, completion=1), Price(prompt=0, completion=3)))
    assert one.cost == pytest.approx(one.calls * ANSWER_TOKENS / 1e6)
    assert other.cost == pytest.approx(3 * one.cost)
    assert both.cost == pytest.approx(2 * one.cost)


def test_what_a_worker_without_a_price_costs_is_unknown():
    cost = cost_of(pool_of(Price(prompt=1, completion=1), None))
    assert cost.cost is None
    assert cost.unpriced == ("w1",)
    assert cost.tokens is not None
    assert cost.tokens > 153_600 * ANSWER_TOKENS


@pytest.mark.slow
def test_the_high_figure_is_that_of_answers_as_long_as_they_may_be():
    price = Price(prompt=0, completion=1)
    cost = cost_of(pool_of(price, max_tokens=4096))
    assert cost.cost == pytest.approx(cost.calls * ANSWER_TOKENS / 1e6)
    assert cost.most_cost == pytest.approx(cost.calls * 4096 / 1e6)
    assert cost.tokens is not None
    assert cost.most_tokens is not None
    # A step reads what two others have answered.
    assert cost.most_tokens > 2 * 4096 * cost.calls > 2 * cost.tokens
    assert cost.seconds is not None
    assert cost.most_seconds is not None
    assert cost.seconds == pytest.approx((200 + 11) * 3 * (1 + ANSWER_TOKENS / 50))
    assert cost.most_seconds == pytest.approx((200 + 11) * 3 * (1 + 4096 / 50))
    assert cost.unlimited == ()


@pytest.mark.slow
def test_without_a_limit_on_answers_the_high_figure_is_unknown():
    cost = cost_of(pool_of(Price(prompt=0, completion=1)))
    assert cost.cost is not None
    assert (cost.most_tokens, cost.most_cost, cost.most_seconds) == (None, None, None)
    assert cost.unlimited == ("w0",)
