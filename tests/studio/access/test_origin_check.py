"""Which names and origins are answered: foreign ones are refused, programs and own pages are not."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from studio.access.errors import ApiError
from studio.access.origin_check import OwnOrigin, check_origin, configured_hosts

HOSTS = frozenset({"conductor.example.org"})
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}


def check(headers: dict[str, str], method: str | None = "GET") -> None:
    check_origin(Headers(headers), hosts=HOSTS, method=method)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:8501"},
        {"host": "LOCALHOST"},
        {"host": "127.0.0.1:8501"},
        {"host": "[::1]:8501"},
        {"host": "192.168.1.5:8501"},
        {"host": "conductor.example.org"},
        {"host": "localhost:8501", "origin": "http://localhost:8501", "sec-fetch-site": "same-origin"},
        {"host": "[::1]:8501", "origin": "http://[::1]:8501"},
        {"host": "conductor.example.org", "origin": "https://conductor.example.org"},
        {"host": "conductor.example.org:443", "origin": "https://conductor.example.org"},
        {"host": "localhost:8501", "sec-fetch-site": "none"},
        {"host": "localhost:8501", "sec-fetch-dest": "document", **LINK},
    ],
)
def test_programs_own_pages_and_links_are_let_through(headers: dict[str, str]) -> None:
    check(headers)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "host_not_allowed"),
        ({"host": ""}, "host_not_allowed"),
        ({"host": "evil.example.org:8501"}, "host_not_allowed"),
        ({"host": "evil.example.org:8501", "origin": "http://evil.example.org:8501"}, "host_not_allowed"),
        ({"host": "localhost.evil.example.org"}, "host_not_allowed"),
        ({"host": "127.0.0.1.evil.example.org"}, "host_not_allowed"),
        ({"host": "evil.example.org@localhost:8501x"}, "host_not_allowed"),
        ({"host": "localhost:x"}, "host_not_allowed"),
        ({"host": "[::1"}, "host_not_allowed"),
        ({"host": "localhost:8501", "origin": "https://evil.example.org"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "http://localhost:3000"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "http://localhost"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "http://127.0.0.1:8501"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "null"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": ""}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "file://localhost:8501"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "http://[::1"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "http://localhost:8501/"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "sec-fetch-site": "cross-site"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "sec-fetch-site": "same-site"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "sec-fetch-dest": "iframe", **LINK}, "origin_not_allowed"),
    ],
)
def test_pages_of_others_and_other_names_are_refused(headers: dict[str, str], code: str) -> None:
    with pytest.raises(ApiError) as refused:
        check(headers)
    assert (refused.value.status, refused.value.code) == (403, code)


@pytest.mark.parametrize("method", ["POST", "PUT", None])
def test_only_a_page_is_linked_to(method: str | None) -> None:
    with pytest.raises(ApiError):
        check({"host": "localhost", "sec-fetch-dest": "document", **LINK}, method)


@pytest.mark.parametrize("names", [("host",), ("origin",)])
def test_a_header_that_is_sent_twice_does_not_hide_the_foreign_one(names: tuple[str, ...]) -> None:
    own = {"host": "localhost:8501", "origin": "http://localhost:8501"}
    foreign = {"host": "evil.example.org", "origin": "http://evil.example.org"}
    for both in ((foreign, own), (own, foreign)):
        raw = [(name.encode(), each[name].encode()) for name in names for each in both]
        raw += [(name.encode(), own[name].encode()) for name in own.keys() - set(names)]
        with pytest.raises(ApiError):
            check_origin(Headers(raw=raw), hosts=HOSTS, method="GET")


def test_the_servers_own_names_are_read_from_the_environment_and_the_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONDUCTOR_API_HOSTS", " Conductor.example.org. , ,studio.local")
    assert configured_hosts() == {"conductor.example.org", "studio.local"}
    monkeypatch.delenv("CONDUCTOR_API_HOSTS")
    assert configured_hosts(None, "localhost", "0.0.0.0", "::1", "127.0.0.1") == set()
    assert configured_hosts("Studio.local") == {"studio.local"}


async def _page(_: Any) -> PlainTextResponse:
    return PlainTextResponse("page")


async def _socket(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.close()


@pytest.fixture
def client() -> TestClient:
    """Asks a server that is guarded, as localhost."""
    routes = [Route("/", _page), WebSocketRoute("/stream", _socket)]
    app = Starlette(routes=routes, middleware=[Middleware(OwnOrigin, hosts=HOSTS)])
    return TestClient(app, base_url="http://localhost:8501")


def test_a_refusal_is_plain_text_to_people_and_openais_shape_to_programs(client: TestClient) -> None:
    assert client.get("/").text == "page"
    refused = client.get("/", headers={"host": "evil.example.org"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "host_not_allowed")
    page = client.get("/", headers={"host": "evil.example.org", "accept": "text/html,*/*"})
    assert (page.status_code, page.headers["content-type"]) == (403, "text/plain; charset=utf-8")
    assert "does not go by the name 'evil.example.org'" in page.text


def test_a_websocket_needs_the_servers_own_origin(client: TestClient) -> None:
    host = {"host": "localhost:8501"}
    with client.websocket_connect("/stream", headers={"origin": "http://localhost:8501", **host}):
        pass
    for foreign in ({}, {"origin": "http://localhost:3000"}, {"origin": "null"}):
        asking = client.websocket_connect("/stream", headers={**foreign, **host})
        with pytest.raises(WebSocketDisconnect), asking:
            pytest.fail("the websocket was accepted")
