"""The API beside the app stands on the same workbench."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.components.routes.api import api_route, routes_beside
from pages.components.tab import services

REQUEST = {"model": "worker:alpha", "messages": [{"role": "user", "content": "What is 17*23?"}]}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[TestClient]:
    """A client with this machine's token."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.toml").write_text('[[worker]]\nkind = "simulated"\nname = "alpha"\n', encoding="utf-8")
    services.machine_token().create()
    key = {"authorization": f"Bearer {services.machine_token().read()}"}
    with TestClient(
        Starlette(routes=[*routes_beside(), api_route()]), base_url="http://localhost", headers=key
    ) as client:
        yield client
    services.close()


@pytest.mark.slow
def test_an_answer_is_a_session_of_the_app(client: TestClient) -> None:
    answer = client.post("/v1/chat/completions", json=REQUEST).json()
    session = services.workbench().store.sessions.find(answer["conductor"]["session"])
    assert (session.query, session.origin) == ("What is 17*23?", "api")
    assert answer["conductor"]["url"] == f"http://localhost/?session={session.id}"
    assert client.get("/v1/nowhere").json()["error"]["code"] == "unknown_url"
    assert client.get("/v1/models", headers={"authorization": ""}).status_code == 401


@pytest.mark.slow
def test_the_app_is_ready_and_counts_what_its_api_does(client: TestClient) -> None:
    assert client.get("/readyz").json() == {"status": "ok", "store": "ok", "pool": "ok"}
    client.post("/v1/chat/completions", json=REQUEST).raise_for_status()
    metrics = client.get("/metrics").text
    assert 'conductor_steps_total{outcome="finished",worker="alpha"}' in metrics
    assert client.get("/metrics", headers={"authorization": ""}).status_code == 401
