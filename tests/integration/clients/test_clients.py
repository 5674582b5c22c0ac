"""Real clients against the API: each does what it is for, with a planned workflow and with a worker alone."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.pool import Pool
from tests.integration.clients.weather_endpoint import REPORT, WORDS, WeatherEndpoint
from tests.support.endpoints.chat_cases import endpoint
from tests.support.endpoints.fake_openai import serving
from tests.support.processes.api_server import ServedApi, serving_api

HERE = Path(__file__).parent
PYTHON = os.environ["CONDUCTOR_TEST_CLIENTS"]
NODE = HERE / "node"
DOCS = HERE.parents[2] / "docs" / "api.md"

MODELS = ("conductor", "worker:weather")
RESULTS = "The results are 21 and 17."
EXPECTED: Mapping[str, object] = {
    "plain": WORDS,
    "stream": WORDS,
    "tools": RESULTS,
    "responses": RESULTS,
    "schema": REPORT,
    "schema_by_tool": REPORT,
    "schema_by_prompt": REPORT,
    "responses_schema": REPORT,
    "refused": 401,
}
COLUMNS: Mapping[str, str] = {
    "plain": "whole",
    "stream": "stream",
    "tools": "tools, two calls at once",
    "schema": "JSON Schema",
    "schema_by_tool": "by a tool",
    "schema_by_prompt": "by the prompt",
    "responses": "responses, tools",
    "responses_schema": "responses, schema",
    "refused": "wrong key",
}
PYTHON_CLIENTS: Mapping[str, str] = {
    "openai": "with_openai",
    "litellm": "with_litellm",
    "langchain-openai": "with_langchain",
    "pydantic-ai-slim": "with_pydantic_ai",
    "instructor": "with_instructor",
    "llm": "with_llm",
}
CAPABILITIES: Mapping[str, tuple[str, ...]] = {
    "openai": ("plain", "stream", "tools", "schema", "responses", "responses_schema", "refused"),
    "litellm": ("plain", "stream", "tools", "schema", "refused"),
    "langchain-openai": ("plain", "stream", "tools", "schema", "schema_by_tool", "refused"),
    "pydantic-ai-slim": (
        "plain", "stream", "tools", "schema", "schema_by_tool", "schema_by_prompt", "refused",
    ),
    "instructor": ("schema", "schema_by_tool", "schema_by_prompt"),
    "llm": ("plain", "stream", "tools", "schema"),
    "openai (npm)": ("plain", "stream", "tools", "schema", "refused"),
    "ai (npm)": ("plain", "stream", "tools", "schema"),
}  # fmt: skip
NODE_CLIENTS: Mapping[str, tuple[str, str]] = {
    "openai (npm)": ("with_openai.mjs", "openai"),
    "ai (npm)": ("with_ai.mjs", "ai"),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    with serving(WeatherEndpoint()) as weather:
        worker = OpenAIWorker(endpoint(weather.base_url), name="weather")
        with serving_api(tmp_path_factory.mktemp("clients") / "store.db", Pool(workers=(worker,))) as api:
            yield api


Outputs = Callable[[str, str], Mapping[str, Any]]


@pytest.fixture(scope="module")
def outputs(served: ServedApi, tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    """What a client's program prints for a model; each runs once."""
    home = str(tmp_path_factory.mktemp("home"))

    @cache
    def run(client: str, model: str) -> Mapping[str, Any]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "BASE_URL": served.base_url,
            "KEY": served.key,
            "MODEL": model,
            # LiteLLM would fetch a list of prices.
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LANGSMITH_TRACING": "false",
            "OPENAI_API_KEY": served.key,
        }
        if client in NODE_CLIENTS:
            return _printed(["node", str(NODE / NODE_CLIENTS[client][0])], environment)
        return _printed([PYTHON, str(HERE / "programs" / f"{PYTHON_CLIENTS[client]}.py")], environment)

    return run


def _printed(command: list[str], environment: dict[str, str]) -> Mapping[str, Any]:
    done = subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    if done.returncode:
        return {capability: {"error": done.stdout + done.stderr} for capability in EXPECTED}
    printed: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("client", "capability"), [(client, each) for client, all_ in CAPABILITIES.items() for each in all_]
)
def test_a_client_does_what_it_is_for(outputs: Outputs, client: str, capability: str, model: str) -> None:
    if client in NODE_CLIENTS:
        _need_node()
    assert outputs(client, model)[capability] == {"result": EXPECTED[capability]}


def test_the_table_of_clients_is_what_was_tried(outputs: Outputs) -> None:
    _need_node()
    table = "\n".join(_table(outputs))
    assert table in DOCS.read_text(encoding="utf-8"), f"docs/api.md is to have this table:\n\n{table}\n"


def _need_node() -> None:
    if not (NODE / "node_modules").is_dir():
        pytest.skip("Node 20 or newer, or npm, is not installed")


def _table(outputs: Outputs) -> Iterator[str]:
    yield f"| client | version | {' | '.join(COLUMNS.values())} |"
    yield f"| --- | --- |{' --- |' * len(COLUMNS)}"
    for client, capabilities in CAPABILITIES.items():
        marks = [_mark(outputs, client, each) if each in capabilities else "" for each in COLUMNS]
        yield f"| {client} | {_version(client)} | {' | '.join(marks)} |"


def _mark(outputs: Outputs, client: str, capability: str) -> str:
    results = [outputs(client, model)[capability].get("result") for model in MODELS]
    return "yes" if results == [EXPECTED[capability]] * len(MODELS) else "no"


def _version(client: str) -> str:
    if client in NODE_CLIENTS:
        packages = json.loads((NODE / "package.json").read_text(encoding="utf-8"))["dependencies"]
        return str(packages[NODE_CLIENTS[client][1]])
    pins = (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return next(pin.partition("==")[2] for pin in pins if pin.lower().startswith(f"{client}=="))
