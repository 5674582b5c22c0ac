"""A served model is a worker: its card, its price, and what does not fit its context."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conductor.runs.events import Event, StepDelta
from conductor.runs.state import fold
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.messages import Completion, Retried, Sampling, Usage
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Price
from tests.support.endpoints.chat_cases import completed, endpoint, lines_of, request
from tests.support.endpoints.fake_openai import Served
from tests.support.endpoints.raw_endpoint import DONE, chunk, event, in_turn, raw_endpoint, replies
from tests.support.runs.worker_cases import played, run_of
from tests.support.runs.workflow_cases import workflow_of

URL = "http://localhost:1/v1"


def test_its_card_states_all_that_is_known_of_it() -> None:
    price = Price(prompt=1, completion=2)
    card = OpenAIWorker(
        endpoint(URL, "gpt", extra={"top_k": 3}, api_key_env="ALPHA_API_KEY"),
        name="alpha",
        sampling=Sampling(max_tokens=7),
        price=price,
        context=100,
        prompt_style="research",
        fallback="beta",
    ).card
    assert (card.name, card.kind, card.model, card.endpoint) == ("alpha", "model", "gpt", URL)
    assert (card.sampling.max_tokens, card.takes_sampling, card.prompt_style) == (7, True, "research")
    assert (card.price, card.context, card.fallback, card.nested) == (price, 100, "beta", False)
    assert card.parameters == '{"extra": {"top_k": 3}}'
    assert card.strengths == "a language model, gpt"


def test_workers_that_may_answer_differently_have_different_identities() -> None:
    cards = [
        OpenAIWorker(endpoint(URL), name="alpha").card,
        OpenAIWorker(endpoint(URL), name="beta").card,
        OpenAIWorker(endpoint(URL, "other"), name="alpha").card,
        OpenAIWorker(endpoint("http://localhost:2/v1"), name="alpha").card,
        OpenAIWorker(endpoint(URL), name="alpha", sampling=Sampling(temperature=0)).card,
        OpenAIWorker(endpoint(URL, reasoning_effort="low"), name="alpha").card,
        OpenAIWorker(endpoint(URL, extra={"top_k": 3}), name="alpha").card,
    ]
    assert len({card.identity for card in cards}) == len(cards)


def test_workers_that_differ_only_in_how_they_are_asked_have_one_identity() -> None:
    patient = OpenAIWorker(
        endpoint(URL, retries=0, concurrency=1, total=1, api_key_env="ALPHA_API_KEY"),
        name="alpha",
        price=Price(prompt=1, completion=1),
        strengths="other words",
        # What a fallback answers has the fallback's identity.
        fallback="beta",
    )
    assert patient.card.identity == OpenAIWorker(endpoint(URL), name="alpha").card.identity


@pytest.mark.parametrize(
    ("price", "model", "cost"),
    [
        (Price(prompt=1_000, completion=2_000), "simulated", 0.001 * 5 + 0.002 * 4),
        (Price(prompt=1_000, completion=2_000), "fault:no-usage", None),
        (None, "simulated", None),
    ],
)
async def test_a_call_costs_what_its_tokens_cost(
    fake_openai: Served, price: Price | None, model: str, cost: float | None
) -> None:
    worker = OpenAIWorker(endpoint(fake_openai.base_url, model), name="alpha", price=price)
    usage = (await completed(worker.stream(request(max_tokens=4)))).usage
    assert usage.cost == (None if cost is None else pytest.approx(cost))
    if model == "simulated":
        assert usage.total == 9


@pytest.mark.parametrize(
    ("cached", "price", "cost"),
    [
        (8, Price(prompt=10, completion=100, cached=1), 2 * 10 + 8 * 1 + 3 * 100),
        (0, Price(prompt=10, completion=100, cached=1), 10 * 10 + 3 * 100),
        (None, Price(prompt=10, completion=100, cached=1), 10 * 10 + 3 * 100),
        (8, Price(prompt=10, completion=100), 10 * 10 + 3 * 100),
        (99, Price(prompt=10, completion=100, cached=0), 3 * 100),
    ],
)
def test_tokens_of_a_cached_prompt_cost_their_own_price(
    cached: int | None, price: Price, cost: float
) -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=3, cached_tokens=cached)
    assert price.of(usage) == pytest.approx(cost / 1_000_000)


PRICE = Price(prompt=10, completion=100)
USED = Usage(prompt_tokens=10, completion_tokens=3)


@pytest.mark.parametrize(
    ("price", "usage", "cost", "least"),
    [
        (PRICE, {}, 400, None),
        (PRICE, {"cached_tokens": 0}, 400, None),
        (PRICE, {"cached_tokens": 8}, 400, 320),
        (PRICE, {"cached_tokens": 99}, 400, 300),
        (Price(prompt=10, completion=100, cached=1), {"cached_tokens": 8}, 328, None),
        (Price(prompt=10, completion=100, cached=0), {"cached_tokens": 8}, 320, None),
        (Price(prompt=0, completion=100), {"cached_tokens": 8}, 300, None),
        (PRICE.times(0.5), {"cached_tokens": 8}, 200, 160),
        (PRICE, {"reported_cost": 0.0001}, 100, None),
        (PRICE, {"reported_cost": 0.0}, 0, None),
        (PRICE, {"reported_cost": 0.0001, "cached_tokens": 8}, 100, None),
        (PRICE.times(0.5), {"reported_cost": 0.0001}, 100, None),
        (PRICE, {"reported_cost": 0.0001, "completion_tokens": None}, 100, None),
        (PRICE, {"completion_tokens": None, "cached_tokens": 8}, None, None),
        (PRICE, {"prompt_tokens": None, "cached_tokens": 8}, None, None),
        (None, {"cached_tokens": 8}, None, None),
        (None, {"reported_cost": 0.0001}, 100, None),
    ],
)
def test_a_call_costs_what_its_endpoint_billed_else_what_its_tokens_cost(
    price: Price | None, usage: dict[str, Any], cost: float | None, least: float | None
) -> None:
    card = OpenAIWorker(endpoint(URL), name="alpha", price=price).card
    read = card.cost_of(USED.model_copy(update=usage))
    expected = [None if dollars is None else pytest.approx(dollars / 1_000_000) for dollars in (cost, least)]
    assert [read.cost, read.least_cost] == expected
    assert card.cost_of(read) == read


@pytest.mark.parametrize("price", [PRICE, None])
async def test_dollars_of_an_answer_and_of_a_withdrawn_one_are_the_endpoints_own(price: Price | None) -> None:
    bills = ({"cost": 0.25}, {"cost": 0.5})
    used = ({"prompt_tokens": 10, "completion_tokens": 3, **bill} for bill in bills)
    talks = [
        replies(chunk(content=text) + event({"choices": [], "usage": usage}) + chunk("stop") + DONE)
        for text, usage in zip(("no JSON", "{}"), used, strict=True)
    ]
    async with raw_endpoint(in_turn(*talks)) as base_url:
        worker = OpenAIWorker(endpoint(base_url), name="alpha", price=price)
        in_json = request(response_format=ResponseFormat(type="json_object"))
        items = [item async for item in worker.stream(in_json)]
    withdrawn = [item.used for item in items if isinstance(item, Retried)]
    final = items[-1]
    assert isinstance(final, Completion)
    assert [usage and usage.cost for usage in (*withdrawn, final.usage)] == [0.25, 0.5]


async def test_a_steps_sampling_is_what_is_sent(fake_openai: Served) -> None:
    worker = OpenAIWorker(endpoint(fake_openai.base_url), name="alpha", sampling=Sampling(temperature=1))
    await completed(worker.stream(request(temperature=0.5)))
    assert (fake_openai.settled().body or {})["temperature"] == 0.5


@pytest.mark.parametrize(
    ("characters", "max_tokens", "context", "fits"),
    [
        (600, None, 101, True),
        (601, None, 101, False),
        (600, 100, 200, True),
        (606, 100, 200, False),
        (60_000, None, None, True),
    ],
)
async def test_only_what_cannot_fit_is_refused_before_the_call(
    fake_openai: Served, characters: int, max_tokens: int | None, context: int | None, fits: bool
) -> None:
    worker = OpenAIWorker(endpoint(fake_openai.base_url), name="alpha", context=context)
    lines = await lines_of(worker.stream(request("x" * characters, max_tokens=max_tokens)))
    assert lines[-1].startswith("error: ") is not fits
    assert len(fake_openai.log.entries) == fits


async def test_what_cannot_fit_is_reported_with_the_numbers() -> None:
    worker = OpenAIWorker(endpoint(URL), name="alpha", context=8_192)
    assert await lines_of(worker.stream(request("x" * 48_000, max_tokens=1_000))) == [
        "error: alpha has a context of 8,192 tokens, and this step needs about 13,000 (an estimate: 48,000 "
        "characters to read, 1,000 tokens to answer); let the step see less, lower max_tokens, or give it "
        "another worker."
    ]


@pytest.mark.slow
async def test_a_run_keeps_a_models_reasoning_tokens_and_cost(fake_openai: Served) -> None:
    worker = OpenAIWorker(
        endpoint(fake_openai.base_url, "reasoning-simulated"),
        name="alpha",
        price=Price(prompt=1, completion=1),
    )
    state = await played(workflow_of((), (0,)), Pool(workers=(worker,)))
    assert state.status == "finished"
    for output in state.outputs.values():
        assert (output.worker, output.worker_kind, output.finish_reason) == ("alpha", "model", "stop")
        assert output.text.startswith("Simulated answer № ")
        assert output.reasoning.startswith("Simulated reasoning: ")
        assert output.usage != Usage()
        assert output.usage.cost is not None


@pytest.mark.slow
async def test_a_stream_that_breaks_in_a_run_keeps_what_was_written(fake_openai: Served) -> None:
    worker = OpenAIWorker(endpoint(fake_openai.base_url, "fault:hang-up"), name="alpha")
    state = await played(workflow_of(()), Pool(workers=(worker,)))
    (step,) = state.steps
    assert step.status == "failed"
    assert step.text.startswith("Simulated answer № ")
    assert "broke the connection after" in (step.message or "")


async def test_stopping_a_run_is_seen_by_the_server_within_a_second(fake_openai: Served) -> None:
    worker = OpenAIWorker(endpoint(fake_openai.base_url, "fault:stall"), name="alpha")
    run = run_of(workflow_of((), ()), Pool(workers=(worker,)))
    events: list[Event] = []
    async for latest in run.events():
        events.append(latest)
        if {event.step for event in events if isinstance(event, StepDelta)} == {0, 1}:
            run.cancel()
    left = await asyncio.to_thread(
        fake_openai.log.wait_for,
        lambda entries: [entry.outcome for entry in entries] == ["disconnected"] * 2,
        seconds=1.0,
    )
    assert left
    state = fold(events)
    assert state.status == "cancelled"
    assert all(step.text.startswith("Simulated") for step in state.steps)
