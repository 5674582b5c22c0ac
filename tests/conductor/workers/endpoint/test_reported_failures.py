"""A request that its endpoint counted and that gave no word is in every sum, and held to the budget."""

from __future__ import annotations

import asyncio
from itertools import count, product

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.runs.state import RunState, fold
from conductor.values.budget import Budget
from conductor.values.messages import Usage
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Price
from conductor.workflow.on_failure import OnFailure
from tests.support.endpoints.chat_cases import endpoint
from tests.support.endpoints.raw_endpoint import head, raw_endpoint
from tests.support.endpoints.reported_failures import FAILED, answer_of
from tests.support.runs.workflow_cases import workflow_of

# An endpoint that filters an answer is not called again.
CASES = [
    *product(FAILED, ("a rule's tries", "a rule's fallback", "the pool")),
    *product(("cut", "an error"), ("its endpoint",)),
]
CHEAP, DEAR = Price(prompt=1.0, completion=1.0), Price(prompt=1000.0, completion=1000.0)


async def ran(
    failed: bytes, by: str, *, budget: Budget, times: int = 1, retries: int = 1
) -> tuple[RunState, Meter, int]:
    """A run of one step whose worker's first requests end so; its meter, and how many requests came."""
    requests = count()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + (failed if next(requests) < times else answer_of()))
        await writer.drain()

    async with raw_endpoint(answer) as base_url:
        own = endpoint(base_url, "m", retries=retries if by == "its endpoint" else 0)
        alpha = OpenAIWorker(own, name="alpha", price=DEAR)
        beta = OpenAIWorker(endpoint(base_url, "m", retries=0), name="beta", price=CHEAP)
        first = FallbackWorker(alpha, beta) if by == "the pool" else alpha
        rule = {
            "a rule's tries": OnFailure(retries=retries, pause=0),
            "a rule's fallback": OnFailure(fallback="beta"),
        }.get(by)
        pool, workflow = Pool(workers=(first, beta)), workflow_of(()).with_on_failure(0, rule)
        meter = Meter(budget)
        run = WorkflowRun(BoundWorkflow.of(workflow, query="why?", pool=pool), pool, run="r", meter=meter)
        state = fold([event async for event in run.events()])
    return state, meter, next(requests)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "by"), CASES)
async def test_what_a_request_without_a_word_took_is_in_every_sum(how: str, by: str) -> None:
    failed, tokens = FAILED[how]
    state, meter, requests = await ran(failed, by, budget=Budget(tokens=100_000))
    assert (state.status, requests, state.calls) == ("finished", 2, 2)
    assert state.usage.total == tokens + 104
    own, other = DEAR, CHEAP if by in ("a rule's fallback", "the pool") else DEAR
    cost = (own.of(Usage(prompt_tokens=tokens, completion_tokens=0)) or 0.0) + (
        other.of(Usage(prompt_tokens=104, completion_tokens=0)) or 0.0
    )
    assert state.usage.cost == pytest.approx(cost)
    assert (meter.used.tokens, meter.used.cost) == (tokens + 104, pytest.approx(cost))


@pytest.mark.slow
@pytest.mark.parametrize(("failed", "tokens"), FAILED.values(), ids=FAILED)
async def test_such_requests_are_held_to_the_budget(failed: bytes, tokens: int) -> None:
    budget = Budget(tokens=3_000)
    state, meter, requests = await ran(failed, "a rule's tries", budget=budget, times=99, retries=6)
    assert (state.status, requests) == ("over_budget", 2)
    assert meter.used.tokens == 2 * tokens
