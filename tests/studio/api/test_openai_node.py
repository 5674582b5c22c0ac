"""OpenAI's npm client against the API: plain and streamed answers, models, errors, and who leaves early."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from pages.components.workbench.bar.code_snippets import snippets
from tests.support.processes.api_server import ServedApi, serving_api

HERE = Path(__file__).parents[2] / "node"
INSTALL = f"npm ci --prefix {HERE.relative_to(Path(__file__).parents[3])}"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(shutil.which("node") is None, reason="Node 20 or newer is not installed"),
    pytest.mark.skipif(
        not (HERE / "node_modules" / "openai").is_dir(), reason=f"openai is not installed for Node: {INSTALL}"
    ),
]


@pytest.fixture(scope="module")
def served(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    file = shutil.copyfile(empty_store, tmp_path_factory.mktemp("node") / "conductor.db")
    slow = SimulatedWorker(name="slow", tokens=10_000, tokens_per_second=50)
    pool = Pool(
        workers=(SimulatedWorker(name="alpha", answer="It is seventeen.", tokens_per_second=400), slow)
    )
    with serving_api(file, pool) as served:
        yield served


@pytest.fixture(scope="module")
def key(served: ServedApi) -> str:
    """A token of that API."""
    return served.bench.store.tokens.create("node")[1]


@pytest.fixture(scope="module")
def answered(served: ServedApi, key: str) -> dict[str, Any]:
    """What the client's script found."""
    return json.loads(run(HERE / "client.mjs", served.base_url, key))


def run(script: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        ["node", str(script), *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_plain_answers_are_read(answered: dict[str, Any]) -> None:
    assert answered["plain"]["text"] == answered["response"]["text"] == "It is seventeen."
    assert answered["plain"]["usage"]["total_tokens"] > 0
    assert answered["plain"]["conductor"]["session"]
    assert answered["response"]["status"] == "completed"


def test_streams_are_read_to_their_end(answered: dict[str, Any]) -> None:
    streamed, responded = answered["streamed"], answered["responded"]
    assert streamed["text"] == responded["text"] == "It is seventeen."
    assert streamed["finish"] == "stop"
    assert streamed["usage"]["total_tokens"] > 0
    assert streamed["conductor"]["session"]
    assert responded["ordered"]
    assert (responded["types"][0], responded["types"][-1]) == ("response.created", "response.completed")


def test_models_are_listed_and_found(answered: dict[str, Any]) -> None:
    assert {"conductor", "conductor-mini", "conductor-ultra", "worker:alpha"} <= set(answered["models"])
    assert answered["model"] == "worker:alpha"


@pytest.mark.parametrize(
    ("case", "name", "status", "param"),
    [
        ("unknown", "NotFoundError", 404, "model"),
        ("unsupported", "BadRequestError", 400, "n"),
        ("keyless", "AuthenticationError", 401, None),
    ],
)
def test_errors_are_its_own(
    answered: dict[str, Any], case: str, name: str, status: int, param: str | None
) -> None:
    error = answered[case]
    assert (error["name"], error["status"], error["param"]) == (name, status, param)


def test_who_leaves_a_stream_stops_its_run(answered: dict[str, Any], served: ServedApi) -> None:
    assert answered["aborted"]
    bench = served.bench
    [slow] = [session for session in bench.store.sessions.listed() if "slow" in session.workers]
    bench.activities.wait(slow.id)
    assert bench.store.runs.of_session(slow.id)[0].status == "cancelled"


def test_the_snippet_in_javascript_prints_the_answer(served: ServedApi, key: str, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
    (tmp_path / "api-token").write_text(served.key, encoding="utf-8")
    query = "Which?\n'\"`${x}` is it?"
    for token, environment in ((None, {"CONDUCTOR_API_KEY": key}), (tmp_path / "api-token", {})):
        snippet = snippets(url=served.base_url, model="worker:alpha", query=query, token=token)["JavaScript"]
        (tmp_path / "ask.mjs").write_text(snippet, encoding="utf-8")
        assert run(tmp_path / "ask.mjs", **environment) == "It is seventeen."
