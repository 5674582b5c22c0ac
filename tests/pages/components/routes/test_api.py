"""The API beside the app stands on the same workbench, and is closed to pages of other sites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.components import services
from pages.components.api_route import API

ASKED = {"model": "worker:alpha", "messages": [{"role": "user", "content": "What is 17*23?"}]}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[TestClient]:
    """A client on this machine."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.toml").write_text('[[worker]]\nkind = "simulated"\nname = "alpha"\n', encoding="utf-8")
    with TestClient(Starlette(routes=[API]), base_url="http://localhost", client=("127.0.0.1", 1)) as client:
        yield client
    services.close()


def test_an_answer_is_a_session_of_the_app(client: TestClient) -> None:
    answer = client.post("/v1/chat/completions", json=ASKED).json()
    session = services.workbench().store.session(answer["conductor"]["session"])
    assert (session.query, session.origin) == ("What is 17*23?", "api")
    assert answer["conductor"]["url"] == f"http://localhost/?session={session.id}"
    assert client.get("/v1/nowhere").json()["error"]["code"] == "unknown_url"


def test_a_page_of_another_site_may_not_ask(client: TestClient) -> None:
    refused = client.post("/v1/chat/completions", json=ASKED, headers={"origin": "https://evil.example"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "origin_not_allowed")
