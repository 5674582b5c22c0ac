"""Who reaches the app of a real server: names, origins and, from elsewhere, the password."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from app_server import AppServer
from contrast import assert_readable
from playwright.sync_api import expect
from workbench_page import WorkbenchPage

PASSWORD = "correct horse battery"
STREAM = "/_stcore/stream"
EVERYWHERE = ("/", "/sessions", "/changes", "/v1/models", "/_stcore/health", "/_stcore/host-config", STREAM)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """An app that also goes by another name."""
    names = {"CONDUCTOR_API_HOSTS": "studio.example.org"}
    with AppServer(tmp_path_factory.mktemp("access"), settings=names) as server:
        yield server


def asked(server: AppServer, path: str, **headers: str) -> int:
    """The status of a GET with these headers only; a websocket is asked for where the path is one's."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if path.endswith(STREAM):
        lines += ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
        lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    request = "\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""])
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(request.encode())
        answer = connection.makefile("rb").readline().split()
    return int(answer[1])


@pytest.mark.slow
@pytest.mark.parametrize("path", EVERYWHERE)
def test_a_name_that_is_turned_to_this_machine_reaches_nothing(server: AppServer, path: str) -> None:
    host = f"evil.com:{server.port}"
    assert asked(server, path, Host=host, Origin=f"http://{host}") == 403
    assert asked(server, path, Host=host) == 403


@pytest.mark.slow
@pytest.mark.parametrize("path", EVERYWHERE)
@pytest.mark.parametrize("origin", ["http://evil.com", "http://localhost:3000", "null", "http://127.0.0.1"])
def test_a_page_of_another_origin_reaches_nothing(server: AppServer, path: str, origin: str) -> None:
    assert asked(server, path, Host=f"localhost:{server.port}", Origin=origin) == 403


@pytest.mark.slow
def test_a_websocket_without_an_origin_is_refused(server: AppServer) -> None:
    assert asked(server, STREAM, Host=f"localhost:{server.port}") == 403


@pytest.mark.slow
@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "studio.example.org"])
def test_the_servers_own_pages_reach_everything(server: AppServer, name: str) -> None:
    host = f"{name}:{server.port}"
    assert asked(server, STREAM, Host=host, Origin=f"http://{host}") == 101
    # A proxy that ends TLS passes the name on, not the scheme.
    assert asked(server, STREAM, Host=name, Origin=f"https://{name}") == 101
    for path in ("/", "/sessions", "/changes", "/_stcore/health"):
        assert asked(server, path, Host=host, Sec_Fetch_Site="same-origin") == 200


@pytest.mark.slow
def test_the_api_needs_a_token_whatever_a_proxy_adds_or_leaves_out(server: AppServer) -> None:
    host = f"127.0.0.1:{server.port}"
    for headers in ({}, {"X_Forwarded_For": "127.0.0.1"}, {"Authorization": "Bearer none"}):
        assert asked(server, "/v1/models", Host=host, **headers) == 401
    key = (server.folder / "api-token").read_text()
    assert asked(server, "/v1/models", Host=host, Authorization=f"Bearer {key}") == 200


@pytest.mark.slow
def test_the_app_below_a_path_has_the_same_policy(tmp_path: Path) -> None:
    with AppServer(
        tmp_path, settings={"STREAMLIT_SERVER_BASE_URL_PATH": "studio"}, below="/studio"
    ) as server:
        host = f"localhost:{server.port}"
        assert asked(server, f"/studio{STREAM}", Host=host, Origin=f"http://{host}") == 101
        for path in (f"/studio{STREAM}", "/studio/", "/studio/changes", "/studio/sessions"):
            assert asked(server, path, Host=host, Origin="http://localhost:3000") == 403
            assert asked(server, path, Host="evil.com", Origin="http://evil.com") == 403


@pytest.mark.browser
@pytest.mark.thorough
def test_another_tab_does_nothing_after_a_log_out(visit, browser, complaints, chromium, tmp_path) -> None:
    settings = {"CONDUCTOR_PASSWORD": PASSWORD, "STREAMLIT_SERVER_BASE_URL_PATH": "studio"}
    with AppServer(tmp_path, settings=settings, below="/studio") as server:
        context = browser.new_context()
        page = visit(server, "/sessions", inside=context)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
        other = visit(server, inside=context)
        desk = WorkbenchPage(other)
        expect(desk.query).to_be_visible()
        with other.expect_websocket() as opened:
            other.reload()
        desk.query.fill("What is 17 * 23?")
        page.get_by_role("link", name="Log out").click()
        expect(page.get_by_label("Password")).to_be_visible()
        desk.query.press("Enter")
        while not opened.value.is_closed():
            other.wait_for_timeout(100)
        other.reload()
        expect(other.get_by_label("Password")).to_be_visible()
        with server.store() as store:
            assert list(store.sessions.listed()) == []
        complaints.clear()  # the browser notes each answer of 401 and that no websocket is opened again
        context.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """An app with a password."""
    with AppServer(tmp_path_factory.mktemp("guarded"), settings={"CONDUCTOR_PASSWORD": PASSWORD}) as server:
        yield server


@pytest.mark.slow
def test_without_the_password_nothing_of_the_app_is_there(guarded: AppServer) -> None:
    host = f"localhost:{guarded.port}"
    for path in ("/", "/sessions", "/changes", "/_stcore/host-config", "/static/js/nothing.js"):
        for accept in ("text/html", "*/*"):
            assert asked(guarded, path, Host=host, Accept=accept) == 401
    assert asked(guarded, STREAM, Host=host, Origin=f"http://{host}") == 403
    forged = f"conductor-session-{guarded.port}=9999999999.x.{'0' * 64}"
    assert asked(guarded, STREAM, Host=host, Origin=f"http://{host}", Cookie=forged) == 403
    assert asked(guarded, "/_stcore/health", Host=host) == 200


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_person_logs_in_works_and_logs_out(visit, browser, guarded, complaints, scheme) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = visit(guarded, "/sessions?q=x", inside=context)
    assert_readable(page, "body")
    field = page.get_by_label("Password")
    expect(field).to_be_focused()
    field.fill("not the password")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("This is not the password.")
    assert_readable(page, "body")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    assert page.url == f"{guarded.url}/sessions?q=x"
    [cookie] = [each for each in context.cookies() if each["name"].startswith("conductor-session")]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")

    page.goto("about:blank")
    guarded.kill()
    guarded.start()
    page.goto(guarded.url)
    expect(WorkbenchPage(page).query).to_be_visible()
    page.get_by_role("link", name="Log out").click()
    expect(page.get_by_label("Password")).to_be_visible()
    context.add_cookies([cookie])
    page.goto(guarded.url)
    expect(page.get_by_label("Password")).to_be_visible()
    complaints[:] = [text for text in complaints if "status of 401" not in text]
