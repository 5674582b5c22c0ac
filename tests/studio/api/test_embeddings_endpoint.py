"""Embeddings, as OpenAI's own client asks for them: passed through to the endpoint of one worker."""

from __future__ import annotations

import json
import struct
import time
from base64 import b64decode
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from conductor.values.charge import Charge
from conductor.workers.protocol import Price
from conductor.workers.simulated import SimulatedWorker
from studio.access.auth import Principal
from studio.access.errors import ApiError
from studio.api.requests.embeddings import EmbeddingsRequest, embeddings
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.endpoints.raw_endpoint import in_turn, raw_endpoint, replies


def numbers(written: Any) -> list[float]:
    """A vector as it was written; the client leaves base64 that it was asked for as it is."""
    return [*struct.unpack("<26f", b64decode(written))] if isinstance(written, str) else list(written)


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_each_text_has_its_vector(stage: Stage, client: OpenAI, fake_openai: Served, encoding: Any) -> None:
    before = time.time()
    stage.plays(model("alpha", fake_openai.base_url, price=Price(prompt=5e5, completion=0)))
    body = {"model": "worker:alpha", "input": ["abba", "cd"], "encoding_format": encoding, "dimensions": 26}
    written = httpx.post(f"{stage.base_url}/embeddings", json=body).json()["data"][0]["embedding"]
    assert isinstance(written, str if encoding == "base64" else list)
    answer = client.embeddings.create(**body)  # type: ignore[arg-type]
    vectors = [numbers(one.embedding) for one in answer.data]
    assert (vectors[0][:3], vectors[1][:4]) == ([2, 2, 0], [0, 0, 1, 1])
    assert (answer.model, answer.usage.prompt_tokens, answer.usage.total_tokens) == ("worker:alpha", 2, 2)
    sent = fake_openai.settled().body or {}
    assert (sent["model"], sent["input"], sent["dimensions"]) == ("simulated", ["abba", "cd"], 26)
    assert stage.auth.used[-1] == 2
    used = stage.workbench.store.sessions.used_since(before)
    assert (used.calls, used.lower.prompt_tokens, used.lower.cost) == (2, 4, 2.0)


def test_one_text_needs_no_list(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(model("alpha", fake_openai.base_url))
    assert len(client.embeddings.create(model="worker:alpha", input="abba").data) == 1


@pytest.mark.parametrize(
    ("extra", "param", "code"),
    [
        ({"model": "conductor"}, "model", "unsupported_parameter"),
        ({"model": "worker:beta"}, "model", "unsupported_parameter"),
        ({"input": []}, "input", "unsupported_parameter"),
        ({"input": [1, 2]}, "input.0", "unsupported_parameter"),
        ({"input": ["a", ""]}, "input.1", "unsupported_parameter"),
        ({"input": ["a"] * 2_049}, "input", "unsupported_parameter"),
        ({"dimensions": 0}, "dimensions", "invalid_value"),
        ({"encoding_format": "int8"}, "encoding_format", "invalid_value"),
        ({"input_type": "query"}, "input_type", "unsupported_parameter"),
    ],
)
def test_what_no_endpoint_could_do_is_refused(
    stage: Stage, fake_openai: Served, extra: Any, param: str, code: str
) -> None:
    stage.plays(model("alpha", fake_openai.base_url), SimulatedWorker(name="beta"))
    answer = httpx.post(f"{stage.base_url}/embeddings", json={"model": "worker:alpha", "input": "a", **extra})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (400, param, code)
    assert not fake_openai.log.entries


def test_a_worker_that_the_token_may_not_use_is_unknown(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    stage.plays(model("alpha", fake_openai.base_url), model("beta", fake_openai.base_url))
    stage.auth.principal = Principal(workers=("beta",))
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="worker:alpha", input="a")


def test_a_failure_names_the_endpoint(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(model("alpha", fake_openai.base_url, served="fault:bad-request-400"))
    with pytest.raises(openai.InternalServerError, match=r"alpha: 127\.0\.0\.1") as failed:
        client.embeddings.create(model="worker:alpha", input="a")
    assert failed.value.code == "run_failed"


async def test_what_a_request_took_is_charged_also_where_a_later_one_fails() -> None:
    document = {"data": [{"index": at, "embedding": [1]} for at in range(64)], "usage": {"prompt_tokens": 9}}
    answers = replies(json.dumps(document), content_type="application/json")
    charges: list[Charge] = []
    async with raw_endpoint(in_turn(answers, answers)) as base_url:
        worker = model("alpha", base_url, price=Price(prompt=1e6, completion=0))
        request = EmbeddingsRequest(model="worker:alpha", input=("a",) * 65)
        with pytest.raises(ApiError, match="64 embeddings for 1 texts"):
            await embeddings(request, worker, charges)
    assert [(charge.usage.prompt_tokens, charge.usage.cost) for charge in charges] == [(9, 9.0), (9, 9.0)]
