from __future__ import annotations

import asyncio

import pytest

from conductor.errors import WorkerError
from conductor.evaluation.items import Item
from conductor.learning.reward import Judge, Outcome, Reward
from conductor.values.messages import Completion, Request, Retried, Usage
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from tests.support.runs.worker_cases import Scripted

ITEM = Item(id="1", input="What is 17 * 23?", target="391")

RIGHT = "model_id = [one]\nsubtasks = ['Compute it.']\naccess_list = [[]]"
WRONG = "model_id = [two]\nsubtasks = ['Compute it.']\naccess_list = [[]]"
LONG = "model_id = [two, one]\nsubtasks = ['Compute it.', 'Check it.']\naccess_list = [[], [0]]"
BROKEN = "model_id = [one]\nsubtasks = ['Compute it.'"

NAMES = ("one", "two")


def pool_of(**more: object) -> Pool:
    return Pool(
        workers=(
            SimulatedWorker("one", answer="Answer: 391", **more),  # type: ignore[arg-type]
            SimulatedWorker("two", answer="Answer: 400", **more),  # type: ignore[arg-type]
        )
    )


def used(tokens: int) -> Usage:
    return Usage(prompt_tokens=tokens - 7, completion_tokens=7)


async def judged(*completions: str, judge: Judge) -> list[Outcome]:
    count = len(completions)
    return await judge.judge(completions, [ITEM] * count, [NAMES] * count)


@pytest.mark.parametrize(
    ("variant", "worth"), [("paper", [1.0, 0.5, 1.0, 0.0]), ("code", [1.5, 0.5, 1.5, 0.0])]
)
async def test_a_right_answer_is_worth_most_and_no_plan_nothing(variant: str, worth: list[float]):
    outcomes = await judged(RIGHT, WRONG, LONG, BROKEN, judge=Judge(pool_of()))
    assert [outcome.verdict for outcome in outcomes] == ["right", "wrong", "right", "no plan"]
    assert [Reward(variant).of(outcome) for outcome in outcomes] == worth  # type: ignore[arg-type]


async def test_steps_earn_nothing_and_tokens_may_cost():
    short, long = await judged(RIGHT, LONG, judge=Judge(pool_of()))
    assert (short.steps, long.steps) == (1, 2)
    assert short.tokens is not None
    assert long.tokens is not None
    priced = Reward(price=1.0)
    assert priced.of(short) - priced.of(long) == pytest.approx((long.tokens - short.tokens) / 1_000)


@pytest.mark.parametrize("variant", ["paper", "code"])
def test_no_price_makes_a_right_answer_worth_less_than_a_wrong_one(variant: str):
    reward = Reward(variant, price=1e9)  # type: ignore[arg-type]
    costly, cheap = Outcome("right", steps=3, tokens=9_000), Outcome("wrong", steps=1, tokens=0)
    assert reward.of(costly) >= Reward(variant).of(cheap)  # type: ignore[arg-type]
    assert reward.of(Outcome("wrong", steps=1, tokens=9_000)) > reward.of(Outcome("no plan"))


@pytest.mark.parametrize(("fresh", "calls", "saved"), [(False, 4, 4), (True, 8, 0)])
async def test_rollouts_share_equal_steps_unless_each_is_to_be_fresh(fresh: bool, calls: int, saved: int):
    pool = pool_of()
    judge = Judge(pool, fresh=fresh)
    await judged(RIGHT, RIGHT, WRONG, LONG, LONG, WRONG, judge=judge)
    assert (judge.calls, judge.steps, judge.saved) == (calls, 8, saved)
    assert sum(len(worker.requests) for worker in pool.workers) == calls  # type: ignore[attr-defined]


async def test_a_call_under_way_is_shared_too():
    starts, answered, called = 0, asyncio.Event(), asyncio.Event()

    class Slow(SimulatedWorker):
        async def stream(self, request: Request):  # type: ignore[no-untyped-def]
            nonlocal starts
            starts += 1
            called.set()
            await answered.wait()
            async for item in super().stream(request):
                yield item

    judge = Judge(Pool(workers=(Slow("one", answer="Answer: 391"), SimulatedWorker("two"))))
    waiting = asyncio.create_task(judged(*[RIGHT] * 16, judge=judge))
    await called.wait()
    for _ in range(50):
        await asyncio.sleep(0)
    answered.set()
    outcomes = await waiting
    assert starts == 1
    assert all(outcome.right for outcome in outcomes)


async def test_a_run_that_fails_is_a_wrong_answer_of_a_valid_plan():
    (outcome,) = await judged(RIGHT, judge=Judge(pool_of(fail_calls=frozenset({0}))))
    assert (outcome.verdict, outcome.valid, outcome.right) == ("failed", True, False)
    assert Reward().of(outcome) == 0.5


async def test_the_tokens_of_a_call_that_failed_count_as_those_of_the_others_do():
    failed = WorkerError("Filtered.", used=Usage(prompt_tokens=70, completion_tokens=7))
    pool = Pool(workers=(Scripted([failed], "two"), *pool_of().workers[:1]))
    first, both = await judged(RIGHT, LONG, judge=Judge(pool, fresh=True))
    assert (both.verdict, both.tokens) == ("failed", 77)
    assert first.tokens is not None


@pytest.mark.parametrize(
    "end", [Completion(text="Answer: 391", usage=used(30)), WorkerError("No.", used=used(30))]
)
async def test_the_tokens_of_each_try_of_a_call_count(end: Completion | WorkerError):
    tried = Retried(attempt=1, message="cut", seconds=0, used=used(40))
    judge = Judge(Pool(workers=(Scripted([tried, end], "one"),)))
    outcomes = await judged(RIGHT, RIGHT, judge=judge)
    assert [outcome.tokens for outcome in outcomes] == [70, 70]


async def test_a_plan_for_workers_that_were_not_offered_is_none():
    judge = Judge(pool_of())
    (outcome,) = await judge.judge([LONG], [ITEM], [("one",)])
    assert outcome.verdict == "no plan"
    assert judge.calls == 0
