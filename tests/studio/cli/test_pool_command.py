"""`pool find` lists what is there, `pool use` puts it into the pool file; no other host is asked."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.files.project_folder import own_pool_file
from conductor.workers.discovery.local_servers import PORTS
from conductor.workers.discovery.offers import BASE_URL
from conductor.workers.keys.hosts import HOSTS
from conductor.workers.keys.services import HOSTED
from tests.studio.cli.command_line import Line
from tests.support.endpoints.fake_hub import CONTENT, FakeHub, serving_hub
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving

KEY = "sk-marked-0123456789"


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server of two models on this machine, where no key is set."""
    for service in HOSTED:
        monkeypatch.delenv(str(service.api_key_env), raising=False)
    with serving(
        FakeOpenAI(models=("gemma3:4b", "qwen3:8b"), owned_by="library", lists_faults=False)
    ) as served:
        monkeypatch.setenv(PORTS, served.base_url.removeprefix("http://127.0.0.1:").removesuffix("/v1"))
        yield served


@pytest.mark.slow
def test_a_local_server_is_found_and_used_by_name(line: Line, folder: Path, ollama: Served) -> None:
    result = line("pool", "find")
    assert result.code == 0
    assert result.out.splitlines()[1].split() == ["Ollama", ollama.base_url, "gemma3:4b,", "qwen3:8b"]
    used = line("pool", "use", "ollama")
    assert used.out == "Added gemma3, qwen3 (Ollama); qwen3:8b writes the workflows. Written to pool.toml.\n"
    assert 'model = "gemma3:4b"' in (folder / "pool.toml").read_text(encoding="utf-8")
    again = line("pool", "use", "ollama")
    assert again.code == 1
    assert "'ollama' is not among what is found; `pool find` finds nothing." in again.err
    assert "nothing is found that the pool does not have" in line("pool", "find").err


@pytest.mark.slow
def test_outside_a_project_the_pool_file_is_this_users_own(line: Line, folder: Path, ollama: Served) -> None:
    (folder / "data" / "conductor.db").unlink()
    assert line("pool", "use", "ollama").out.endswith(f"Written to {own_pool_file()}.\n")
    assert json.loads(line("info", "--json").out)["pool"]["place"] == str(own_pool_file())
    assert not (folder / "pool.toml").exists()


def test_a_service_is_asked_only_where_it_is_used_and_its_host_agreed_to(
    line: Line, folder: Path, ollama: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(FakeOpenAI(models=("gpt-5",), key=KEY, lists_faults=False)) as service:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv(BASE_URL, service.base_url)
        monkeypatch.setenv(PORTS, "")
        listed = json.loads(line("pool", "find", "--json").out)
        assert listed["offers"] == [
            {"name": "OpenAI", "base_url": service.base_url, "api_key_env": "OPENAI_API_KEY", "models": None}
        ]
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
        refused = line("pool", "use", "openai")
        assert refused.code == 1
        assert "OPENAI_API_KEY was not sent to http://127.0.0.1:" in refused.err
        assert not service.log.entries
        monkeypatch.setenv(HOSTS, f"OPENAI_API_KEY={service.base_url}")
        used = json.loads(line("pool", "use", "openai", "--pool", "mine.toml", "--json").out)
    assert (used["pool"], used["models"]) == ("mine.toml", ["gpt-5"])
    assert KEY not in (folder / "mine.toml").read_text(encoding="utf-8")


def test_models_for_this_machine_are_listed_with_size_and_licence(line: Line, folder: Path) -> None:
    listed = line("pool", "embed")
    assert (listed.code, listed.out.splitlines()[1].split()[:3]) == (0, ["qwen3-0.6b", "0.6", "GB,"])
    assert "Apache-2.0" in listed.out
    assert not (folder / "pool.toml").exists()


@pytest.mark.slow
def test_a_model_is_downloaded_and_put_into_the_pool_file(
    line: Line, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = io.StringIO("n\ny\n")
    answers.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", answers)
    with serving_hub(FakeHub("Qwen3-0.6B-Q8_0.gguf")) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        refused = line("pool", "embed", "qwen3-0.6b")
        assert (refused.code, hub.ranges) == (1, [])
        done = line("pool", "embed", "qwen3-0.6b")
    assert done.code == 0, done.err
    file = folder / "data" / "models" / "Qwen3-0.6B-Q8_0.gguf"
    assert file.read_bytes() == CONTENT
    text = (folder / "pool.toml").read_text(encoding="utf-8")
    assert 'model = "data/models/Qwen3-0.6B-Q8_0.gguf"' in text
    assert "[conductor]" in text
    assert line("pool", "embed", "other").code == 1
