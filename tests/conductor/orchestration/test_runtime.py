"""A runtime in batches has the same workers, whose calls go another way at another price."""

from __future__ import annotations

from conductor.orchestration.runtime import Runtime
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.endpoint.batches.batch_client import BatchClient
from conductor.workers.endpoint.batches.batch_queue import NO_BATCHES
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import parse_pool
from conductor.workers.tools.tool_worker import ToolWorker, without_tools

POOL = """
[[worker]]
name = "{name}"
base_url = "http://localhost:1/v1"
model = "m"
price_prompt = 2.0
price_completion = 4.0
"""


def test_each_model_of_the_pool_is_called_in_batches() -> None:
    alpha = POOL.format(name="alpha") + 'fallback = "beta"\ntools = ["sums"]\n'
    tools = '[[tools]]\nname = "sums"\nbuilt_in = "calculator"\n'
    pool = parse_pool(alpha + POOL.format(name="beta") + tools)
    batched = Runtime(workers=pool, conductor=OfflineConductor()).batched(NO_BATCHES)
    first = batched.workers["alpha"]
    assert isinstance(first, FallbackWorker)
    assert isinstance(first.first, ToolWorker)
    assert first.second is batched.workers["beta"]
    for worker in (without_tools(first.first), first.second):
        assert isinstance(worker, OpenAIWorker)
        assert isinstance(worker.client, BatchClient)
        assert worker.card.price is not None
        assert worker.card.price.prompt == 1.0
    own = pool["beta"]
    assert isinstance(own, OpenAIWorker)
    assert not isinstance(own.client, BatchClient)
