"""Embeddings come in the order of their texts, in batches, with the attempts and the errors of a chat."""

from __future__ import annotations

import json

import pytest

from conductor.errors import WorkerError
from conductor.values.messages import Usage
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.embeddings import BATCH, EmbeddingClient
from tests.support.endpoints.fake_openai import Served
from tests.support.endpoints.raw_endpoint import in_turn, raw_endpoint, replies


def client(base_url: str, model: str = "small", retries: int = 0) -> EmbeddingClient:
    return EmbeddingClient(Endpoint(base_url=base_url, model=model, retries=retries), name="embeddings")


async def test_vectors_are_in_the_order_of_their_texts(fake_openai: Served) -> None:
    requests: list[Usage] = []
    vectors = await client(fake_openai.base_url).embed(["ab", "b b", ""], note=requests.append)
    assert [vector[:3] for vector in vectors] == [[1, 1, 0], [0, 2, 0], [0, 0, 0]]
    assert requests == [Usage(prompt_tokens=3, completion_tokens=0)]
    assert fake_openai.settled().body == {"model": "small", "input": ["ab", "b b", ""]}


async def test_many_texts_are_sent_in_batches(fake_openai: Served) -> None:
    vectors = await client(fake_openai.base_url).embed(["a" * at for at in range(BATCH + 1)])
    assert [vector[0] for vector in vectors] == list(range(BATCH + 1))
    assert len(fake_openai.log.entries) == 2


@pytest.mark.parametrize(
    ("usage", "more", "prompt", "cost"),
    [
        ({"prompt_tokens": 5, "total_tokens": 5}, "", 5, None),
        ({"total_tokens": 5}, "", 5, None),
        ({"prompt_tokens": 5, "total_tokens": 0}, "", 5, None),
        ({"input_tokens": 5}, "", 5, None),
        ({"prompt_tokens": 5, "total_tokens": 5, "cost": 1e-05}, "", 5, 1e-05),
        ({"prompt_tokens": 5, "cost": "0.00001"}, "", 5, 1e-05),
        ({"prompt_tokens": 5, "cost": 0}, "", 5, 0.0),
        ({"prompt_tokens": 5}, "x-litellm-response-cost: 0.00001\r\n", 5, 1e-05),
        ({"prompt_tokens": -5, "cost": -1}, "", None, None),
        ({"prompt_tokens": "many"}, "", None, None),
        ([], "", None, None),
        (None, "", None, None),
    ],
)
async def test_what_embeddings_took_is_read_in_every_form(
    usage: object, more: str, prompt: int | None, cost: float | None
) -> None:
    document = json.dumps({"data": [{"index": 0, "embedding": [1]}], "usage": usage})
    async with raw_endpoint(replies(document, content_type="application/json", more=more)) as base_url:
        requests: list[Usage] = []
        await client(base_url).embed(["a"], note=requests.append)
    (used,) = requests
    assert (used.prompt_tokens, used.completion_tokens, used.cost) == (prompt, 0, cost)
    assert used.reported_cost == cost


async def test_what_a_request_took_is_noted_also_where_a_later_one_fails() -> None:
    answers = [
        json.dumps(
            {
                "data": [{"index": at, "embedding": [1]} for at in range(BATCH)],
                "usage": {"prompt_tokens": count, "cost": 0.25},
            }
        )
        for count in (BATCH, 2)
    ]
    talks = [replies(answer, content_type="application/json") for answer in answers]
    requests: list[Usage] = []
    async with raw_endpoint(in_turn(*talks)) as base_url:
        with pytest.raises(WorkerError, match=f"{BATCH} embeddings for 1 texts"):
            await client(base_url).embed(["a"] * (BATCH + 1), note=requests.append)
    assert [(used.prompt_tokens, used.reported_cost) for used in requests] == [(BATCH, 0.25), (2, 0.25)]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("[]", "cannot be read"),
        ('{"data": [{"index": 0, "embedding": ["x"]}]}', "cannot be read"),
        ('{"data": [{"index": 0, "embedding": [NaN]}]}', "cannot be read"),
        ('{"data": [{"index": 1, "embedding": [1]}]}', "1 embeddings for 2 texts"),
        ('{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}', "several lengths"),
    ],
)
async def test_what_is_no_list_of_vectors_is_refused(document: str, reason: str) -> None:
    async with raw_endpoint(replies(document, content_type="application/json")) as base_url:
        with pytest.raises(WorkerError, match=reason):
            await client(base_url).embed(["a", "b"])


async def test_a_key_that_is_missing_is_named() -> None:
    endpoint = Endpoint(base_url="http://127.0.0.1:9/v1", model="small", api_key_env="NOWHERE_API_KEY")
    with pytest.raises(WorkerError, match="embeddings: NOWHERE_API_KEY is not set"):
        await EmbeddingClient(endpoint, name="embeddings").embed(["a"])


async def test_a_request_that_was_turned_away_is_made_again(fake_openai: Served) -> None:
    chat = client(fake_openai.base_url, model="fault:rate-limited-retry-after=0", retries=1)
    assert len(await chat.embed(["a"])) == 1
    assert len(fake_openai.log.entries) == 2
    with pytest.raises(WorkerError, match="500"):
        await client(fake_openai.base_url, model="fault:error-500").embed(["a"])
