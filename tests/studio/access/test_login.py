"""Who may use the app: this machine without a password, all who logged in with one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from conductor.errors import UnknownId
from studio.access.login import ATTEMPTS, VIEWED, Login
from studio.access.password import Password
from studio.access.view_links import OPEN, ViewLinks

TEXT = "correct horse battery"
PAGE = {"accept": "text/html"}
HERE = "http://127.0.0.1:8501"
STREAM = "ws://127.0.0.1:8501/stream"

Client = Callable[..., TestClient]


async def _page(_: Any) -> PlainTextResponse:
    return PlainTextResponse("page")


async def _echo(websocket: WebSocket) -> None:
    await websocket.accept()
    async for text in websocket.iter_text():
        await websocket.send_text(text)


@pytest.fixture(scope="module")
def password() -> Password:
    """One for all tests, as its key takes a moment."""
    return Password(TEXT)


def client_of(password: Password | None, *, links: ViewLinks | None = None, **more: Any) -> TestClient:
    """Asks an app behind `Login`, from this machine where nothing else is given."""
    routes = [
        Mount("/v1", routes=[Route("/models", _page)]),
        WebSocketRoute("/stream", _echo),
        Route("/_stcore/health", _page),
        Route("/{any:path}", _page, methods=["GET", "PUT", "POST"]),
    ]
    guard = Middleware(Login, logins=password, links=links, hosts={"studio.example.org"})
    options = {"base_url": HERE, "client": ("127.0.0.1", 50000), "follow_redirects": False, **more}
    return TestClient(Starlette(routes=routes, middleware=[guard]), **options)


def log_in(client: TestClient, text: str = TEXT, path: str = "/", **headers: str) -> Any:
    return client.post(path, data={"password": text}, headers=headers)


# -- without a password ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({}, 200),
        ({"client": ("::1", 1), "base_url": "http://[::1]:8501"}, 200),
        ({"headers": {"host": "localhost:8501"}}, 200),
        ({"headers": {"host": "studio.example.org"}}, 200),
        ({"client": ("192.168.1.9", 1)}, 403),
        ({"client": ("127.0.0.1", 1), "base_url": "http://192.168.1.5:8501"}, 403),
        ({"headers": {"host": "192.168.1.5:8501"}}, 403),
        ({"headers": {"host": "evil.example.org"}}, 403),
        ({"client": None}, 403),
        ({"client": ("192.168.1.9", 1), "headers": {"x-forwarded-for": "127.0.0.1"}}, 403),
    ],
)
def test_without_a_password_only_this_machine_is_answered(how: dict[str, Any], status: int) -> None:
    answer = client_of(None, **how).get("/sessions", headers=PAGE)
    assert answer.status_code == status
    assert ("has no password" in answer.text) == (status == 403)


def test_without_a_password_the_api_is_left_to_its_own_gate() -> None:
    assert client_of(None, client=("192.168.1.9", 1)).get("/v1/models").status_code == 200


# -- with a password -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/sessions", "/changes", "/_stcore/upload_file", "/v1x", "/x/v1/models", "/v1"]
)
def test_without_a_session_there_is_the_login_page_or_a_refusal(password: Password, path: str) -> None:
    client = client_of(password)
    page = client.get(path, headers=PAGE)
    assert (page.status_code, 'type="password"' in page.text) == (401, True)
    assert page.headers["cache-control"] == "no-store"
    for refused in (client.get(path), client.put(path, content=b"x"), client.post(path, json={})):
        assert refused.status_code == 401
        assert refused.json()["error"]["code"] == "login_required"


@pytest.mark.parametrize("path", ["/v1/models", "/_stcore/health"])
def test_the_api_and_the_health_need_no_login(password: Password, path: str) -> None:
    assert client_of(password).get(path).text == "page"


def test_the_password_opens_a_session_at_the_page_that_was_asked_for(password: Password) -> None:
    client = client_of(password)
    answer = log_in(client, path="/sessions?q=a%26b")
    assert (answer.status_code, answer.headers["location"]) == (303, "./sessions?q=a%26b")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("conductor-session-8501=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert client.get("/").text == "page"
    assert TEXT not in cookie


@pytest.mark.parametrize("path", ["//evil.example.org", "/\\evil.example.org", "/a//evil.example.org/x:y"])
def test_a_login_leads_to_no_other_server(password: Password, path: str) -> None:
    location = log_in(client_of(password), path=f"{HERE}{path}").headers["location"]
    assert location.startswith("./")
    assert "//" not in location
    assert "\\" not in location


def test_a_cookie_is_sent_only_encrypted_where_the_browser_asks_so(password: Password) -> None:
    for encrypted in (
        log_in(client_of(password, base_url="https://127.0.0.1:8501")),
        log_in(client_of(password), origin="https://studio.example.org"),
    ):
        assert "Secure" in encrypted.headers["set-cookie"]


def test_a_wrong_password_opens_nothing(password: Password) -> None:
    client = client_of(password)
    for wrong in ("", "open sesame", f"{TEXT}!"):
        answer = log_in(client, wrong)
        assert (answer.status_code, "Wrong password." in answer.text) == (401, True)
        assert "set-cookie" not in answer.headers
        assert wrong == "" or wrong not in answer.text
    assert log_in(client, "x" * 100_000).status_code == 401
    assert client.get("/").status_code == 401


@pytest.mark.slow
def test_an_address_may_try_only_so_often(password: Password) -> None:
    client = client_of(password)
    assert {log_in(client, "wrong").status_code for _ in range(ATTEMPTS)} == {401}
    late = log_in(client)
    assert late.status_code == 429
    assert 1 <= int(late.headers["retry-after"]) <= 6
    assert "Too many attempts" in late.text
    assert "set-cookie" not in late.headers


def test_a_websocket_needs_a_session_and_ends_with_it(password: Password) -> None:
    client = client_of(password)
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(STREAM):
        pytest.fail("the websocket was accepted")
    log_in(client)
    with client.websocket_connect(STREAM) as websocket:
        websocket.send_text("one")
        assert websocket.receive_text() == "one"
        answer = client.get("/logout")
        assert (answer.status_code, answer.headers["location"]) == (303, "./")
        websocket.send_text("two")
        with pytest.raises(WebSocketDisconnect):
            websocket.receive_text()
    assert client.get("/").status_code == 401


def test_below_a_path_only_what_is_below_it_needs_no_login(password: Password) -> None:
    app = Starlette(routes=[Route("/{any:path}", _page)])
    client = TestClient(Login(app, logins=password, below="/studio/"), base_url=HERE)
    for path, status in (
        ("/studio/_stcore/health", 200),
        ("/v1/models", 200),
        ("/_stcore/health", 401),
        ("/studio/v1/models", 401),
        ("/studio/", 401),
    ):
        assert client.get(path).status_code == status, path
    assert client.get("/studio/logout", follow_redirects=False).status_code == 303


def test_a_link_of_another_site_logs_no_one_out(password: Password) -> None:
    # The browser sends no strict cookie with it.
    assert "set-cookie" not in client_of(password).get("/logout").headers


def test_a_link_of_another_site_offers_the_page_to_who_has_logged_in(password: Password) -> None:
    client = client_of(password)
    page = client.get('/sessions?q="><script>', headers={**PAGE, "sec-fetch-site": "cross-site"})
    assert 'href="./sessions?q=%22%3E%3Cscript%3E"' in page.text
    assert "href=" not in client.get("/sessions", headers=PAGE).text.replace('href="data:,"', "")


# -- with a view-only link --------------------------------------------------------------------------


def watched(links: ViewLinks, password: Password) -> TestClient:
    """Asks an app that answers which sessions alone may be looked at."""

    async def respond(request: Any) -> PlainTextResponse:
        return PlainTextResponse(request.headers.get(VIEWED, "anything"))

    async def stream(websocket: WebSocket) -> None:
        await websocket.accept()
        async for _ in websocket.iter_text():
            await websocket.send_text(websocket.headers.get(VIEWED, "anything"))

    routes = [
        WebSocketRoute("/stream", stream),
        Route("/{any:path}", respond, methods=["GET", "PUT", "POST", "DELETE"]),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(Login, logins=password, links=links)])
    return TestClient(app, base_url=HERE, client=("192.168.1.9", 1), follow_redirects=False)


@pytest.mark.slow
def test_a_view_only_link_admits_to_its_session_alone_until_it_is_revoked(password: Password) -> None:
    revoked = {"one": 0, "two": 0}

    def count(session: str) -> int:
        if session not in revoked:
            raise UnknownId("There is none.")
        return revoked[session]

    links = ViewLinks(password, count)
    client, mine = watched(links, password), {VIEWED: "two"}
    link = f"/?session=one&view={links.value('one')}"

    # What is not that link is the login page, and states that where it was one.
    assert "not valid any more" not in client.get("/?session=one", headers=PAGE).text
    for wrong in (f"/?session=two&view={links.value('one')}", "/?session=one&view=", "/?session=x&view=1"):
        answer = client.get(wrong, headers=PAGE)
        assert (answer.status_code, "not valid any more" in answer.text) == (401, True)
    assert client.get(link).status_code == 401, "only a page is opened by it"

    # The link opens the page; its cookie all else that the page asks for, and only reading.
    answer = client.get(link, headers=PAGE | mine)
    assert (answer.status_code, answer.text) == (200, "one")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("conductor-view-8501-one=")
    assert {"HttpOnly", "SameSite=lax"} <= set(cookie.split("; "))
    assert client.get("/changes", headers=mine).text == "one"
    for write in (client.put, client.post, client.delete):
        assert write("/_stcore/upload_file", headers=mine).status_code == 401
    for page in ("/", "/sessions", "/?session=two"):
        assert 'type="password"' in client.get(page, headers=PAGE).text

    with client.websocket_connect(STREAM, headers=mine) as stream:
        stream.send_text("a")
        assert stream.receive_text() == "one"
        assert client.get(f"/?session=two&view={links.value('two')}", headers=PAGE).text == "two"
        assert client.get("/changes").text == "one,two"
        revoked["one"] += 1
        stream.send_text("a")
        with pytest.raises(WebSocketDisconnect):
            stream.receive_text()
    assert "not valid any more" in client.get(link, headers=PAGE).text
    assert client.get("/changes").text == "two"
    assert client.get(f"/?session=one&view={links.value('one')}", headers=PAGE).text == "one"

    # A login is worth more than a link, whatever the address holds; another password ends all links.
    assert log_in(client).status_code == 303
    assert client.get(link, headers=PAGE | mine).text == "anything"
    assert links.value("one") != ViewLinks(Password("another horse battery"), count).value("one")


def test_a_link_is_no_session_of_the_password_and_admits_no_one_without_one(password: Password) -> None:
    links = ViewLinks(password, lambda _: 0)
    head = "9999999999.one"
    for forged in (links.value("one"), f"{head}.{links.value(head)}", f"one 0.{links.value('one')}"):
        assert not password.admits(forged)
    open_ = ViewLinks(None, lambda _: 0)
    assert (open_.value("one"), open_.signed) == (OPEN, False)
    assert not open_.admits("one", OPEN)
    assert not links.admits("one\nx", links.value("one"))


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_the_addresses_of_the_servers_owners_decide_themselves_who_may_read_them(
    password: Password, path: str
) -> None:
    assert client_of(password).get(path).status_code == 200
    assert client_of(password).get(f"{path}/more").status_code == 401
    assert client_of(None, client=("192.0.2.7", 5)).get(path).status_code == 200
