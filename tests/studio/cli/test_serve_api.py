"""`serve --api-only`: the API alone, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from command_line import Line

from storage import SessionStore

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_it_answers_with_a_token_alone_and_ends_in_order(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "conductor",
        "serve",
        "--api-only",
        "--port",
        "0",
        "--json",
        "--app-url",
        "http://app/",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:
        assert server.stdout is not None
        result = json.loads(server.stdout.readline())
        try:
            token = folder / "data" / "api-token"
            assert result["token_file"] == str(token)
            assert token.stat().st_mode & 0o777 == 0o600
            asked = {"model": "conductor", "messages": [{"role": "user", "content": "What is 17*23?"}]}
            asking = f"{result['url']}/chat/completions"
            assert httpx.post(asking, json=asked, timeout=20).status_code == 401
            key = {"authorization": f"Bearer {token.read_text()}"}
            answer = httpx.post(asking, json=asked, headers=key, timeout=20)
            assert "391" in answer.json()["choices"][0]["message"]["content"]
            assert answer.json()["conductor"]["url"].startswith("http://app/?session=")
            root = result["url"].removesuffix("/v1")
            for address in (f"{root}/", f"{result['url']}/nowhere"):
                assert httpx.get(address).json()["error"]["code"] == "unknown_url"
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(10) == 0
    with SessionStore.open(f"sqlite:///{folder / 'data' / 'conductor.db'}") as store:
        assert [session.origin for session in store.sessions.listed()] == ["api"]


def test_a_port_that_is_taken_is_one_sentence(line: Line) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = line("serve", "--api-only", "--port", str(taken.getsockname()[1]))
    assert result.code == 1
    assert "cannot listen" in result.err
