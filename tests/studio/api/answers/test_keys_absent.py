"""Keys of workers and of clients are in no answer, no error, no log and nowhere in the store."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import httpx
import pytest

from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.keys.hosts import HOSTS
from storage import SessionStore
from tests.studio.api.stage import Stage, staged
from tests.support.endpoints.fake_openai import FakeOpenAI, serving
from tests.support.runs.conductor_cases import plan_text

UPSTREAM = "sk-upstream-0123456789abcdef"
OWN = "conductor_0123456789_SECRET-of-the-client"
ONE = plan_text((0, "answer", "[]"))


@pytest.mark.slow
@pytest.mark.parametrize("served", ["simulated", "fault:leaky-401", "fault:error-event"])
def test_no_key_comes_out(
    empty_store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    served: str,
) -> None:
    monkeypatch.setenv("UPSTREAM_API_KEY", UPSTREAM)
    caplog.set_level(logging.DEBUG)
    file = shutil.copyfile(empty_store, tmp_path / "conductor.db")
    everything = ""
    with (
        serving(FakeOpenAI(key=UPSTREAM)) as upstream,
        staged(SessionStore.open(f"sqlite:///{file}")) as stage,
    ):
        monkeypatch.setenv(HOSTS, f"UPSTREAM_API_KEY={upstream.base_url}")
        everything += answers(stage, upstream.base_url, served=served)
    everything += caplog.text
    everything += "".join(path.read_bytes().decode("latin-1") for path in tmp_path.glob("conductor.db*"))
    assert UPSTREAM not in everything
    assert OWN not in everything


def answers(stage: Stage, base_url: str, *, served: str) -> str:
    endpoint = Endpoint(base_url=base_url, model=served, retries=0, api_key_env="UPSTREAM_API_KEY")
    stage.plays(OpenAIWorker(endpoint, name="alpha"), plans=(ONE,))
    headers = {"authorization": f"Bearer {OWN}"}
    everything = ""
    for name in ("conductor", "worker:alpha", "nobody"):
        for streamed in (False, True):
            messages = [{"role": "user", "content": "Why?"}]
            body = {
                "model": name,
                "messages": messages,
                "stream": streamed,
                "conductor": {"events": streamed},
            }
            answer = httpx.post(f"{stage.base_url}/chat/completions", json=body, headers=headers)
            response = httpx.post(
                f"{stage.base_url}/responses",
                json={"model": name, "input": "Why?", "stream": streamed},
                headers=headers,
            )
            everything += answer.text + response.text + str(answer.headers) + str(response.headers)
    return everything + httpx.get(f"{stage.base_url}/models", headers=headers).text
