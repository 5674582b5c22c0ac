"""Servers of models on this machine are found by their lists; whatever else listens there is passed over."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from conductor.errors import PoolError
from conductor.workers.discovery import local_servers as module
from conductor.workers.discovery.local_servers import PORTS, listed_ports, local_servers
from conductor.workers.keys.services import LOCAL
from tests.support.endpoints.raw_endpoint import in_turn, raw_endpoint, replies


def listing(*names, owner="simulated"):
    models = [{"id": name, "object": "model", "owned_by": owner} for name in names]
    return replies(json.dumps({"object": "list", "data": models}), content_type="application/json")


async def never(writer):
    await asyncio.sleep(60)


@pytest.fixture
async def listening(monkeypatch):
    """Has these answers given at ports of this machine, where servers are looked for."""
    async with AsyncExitStack() as stack:

        async def listen(*answers):
            urls = [await stack.enter_async_context(raw_endpoint(answer)) for answer in answers]
            monkeypatch.setenv(
                PORTS, ",".join(url.partition("127.0.0.1:")[2].removesuffix("/v1") for url in urls)
            )
            return urls

        yield listen


@pytest.mark.parametrize(
    ("owner", "name"),
    [("library", "Ollama"), ("vllm", "vLLM"), ("llamacpp", "llama.cpp"), ("organization_owner", "LM Studio")],
)
async def test_a_server_is_named_by_the_owner_of_its_models(listening, owner, name):
    [url] = await listening(listing("gemma3:27b", "qwen3:8b", owner=owner))
    [server] = await local_servers()
    assert (server.name, server.base_url) == (name, url)
    assert [model.name for model in server.models] == ["gemma3:27b", "qwen3:8b"]


@pytest.mark.parametrize(
    ("properties", "context"),
    [
        ('{"default_generation_settings": {"n_ctx": 4096}, "total_slots": 2}', 4096),
        ('{"default_generation_settings": {"n_ctx": 0}}', None),
        ("[]", None),
        ("<html>", None),
        ("\x80", None),
    ],
)
async def test_llama_cpp_names_the_context_of_one_request(listening, properties, context):
    await listening(in_turn(listing("qwen3", owner="llamacpp"), replies(properties)))
    [server] = await local_servers()
    assert [(model.name, model.context) for model in server.models] == [("qwen3", context)]


@pytest.mark.slow
async def test_what_is_no_server_of_models_is_passed_over_at_once(listening, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 0.2)
    bare = replies('[{"id": "m", "max_model_len": 4096}]', content_type="application/json")
    urls = await listening(
        replies("<html>A web server.</html>", content_type="text/html"),
        replies("", status="404 Not Found"),
        replies("", status="307 Temporary Redirect", more="Location: http://192.0.2.1/\r\n"),
        replies("\x1f\x8b", more="Content-Encoding: gzip\r\n"),
        replies(b"x" * 2_000_000),
        listing(),
        never,
        bare,
    )
    [server] = await local_servers()
    port = urls[-1].removeprefix("http://127.0.0.1:").removesuffix("/v1")
    assert (server.name, server.models[0].context) == (f"Port {port}", 4096)


async def test_a_proxy_of_the_environment_is_not_asked(listening, monkeypatch):
    [proxy] = await listening(listing("from-the-proxy"))
    await listening(listing("from-here"))
    monkeypatch.setenv("HTTP_PROXY", proxy)
    [server] = await local_servers()
    assert server.models[0].name == "from-here"


@pytest.mark.parametrize(
    ("listed", "ports"), [(None, tuple(LOCAL)), ("", ()), (" 8001, 8002,8001,", (8001, 8002))]
)
def test_the_ports_are_the_usual_ones_or_those_of_the_environment(monkeypatch, listed, ports):
    if listed is not None:
        monkeypatch.setenv(PORTS, listed)
    assert listed_ports() == ports


@pytest.mark.parametrize("listed", ["vllm", "0", "65536", "-1", "8000-8010", "٣"])
def test_a_port_that_is_none_is_named(monkeypatch, listed):
    monkeypatch.setenv(PORTS, f"8000,{listed}")
    with pytest.raises(
        PoolError, match="CONDUCTOR_LOCAL_PORTS has an entry that is not a port; write numbers"
    ):
        listed_ports()
