"""Who reaches the app of a real server: names, origins and, from elsewhere, the password."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from studio.access.login import ATTEMPTS
from tests.browser.app_server import AppServer
from tests.browser.browser_settings import PASSWORD
from tests.browser.workbench_page import WorkbenchPage
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

STREAM = "/_stcore/stream"
EVERYWHERE = ("/", "/sessions", "/changes", "/v1/models", "/_stcore/health", "/_stcore/host-config", STREAM)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """An app that also goes by another name."""
    names = {"CONDUCTOR_API_HOSTS": "studio.example.org"}
    with AppServer(tmp_path_factory.mktemp("access"), settings=names) as server:
        yield server


def status_of(server: AppServer, path: str, **headers: str) -> int:
    """The status of a GET with these headers only; a websocket is asked for where the path is one's."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if path.endswith(STREAM):
        lines += ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
        lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    request = "\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""])
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(request.encode())
        answer = connection.makefile("rb").readline().split()
    return int(answer[1])


@pytest.mark.parametrize("path", EVERYWHERE)
def test_a_name_that_is_turned_to_this_machine_reaches_nothing(server: AppServer, path: str) -> None:
    host = f"evil.com:{server.port}"
    assert status_of(server, path, Host=host, Origin=f"http://{host}") == 403
    assert status_of(server, path, Host=host) == 403


@pytest.mark.parametrize("path", EVERYWHERE)
@pytest.mark.parametrize("origin", ["http://evil.com", "http://localhost:3000", "null", "http://127.0.0.1"])
def test_a_page_of_another_origin_reaches_nothing(server: AppServer, path: str, origin: str) -> None:
    assert status_of(server, path, Host=f"localhost:{server.port}", Origin=origin) == 403


def test_a_websocket_without_an_origin_is_refused(server: AppServer) -> None:
    assert status_of(server, STREAM, Host=f"localhost:{server.port}") == 403


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "studio.example.org"])
def test_the_servers_own_pages_reach_everything(server: AppServer, name: str) -> None:
    host = f"{name}:{server.port}"
    assert status_of(server, STREAM, Host=host, Origin=f"http://{host}") == 101
    # A proxy that ends TLS passes the name on, not the scheme.
    assert status_of(server, STREAM, Host=name, Origin=f"https://{name}") == 101
    for path in ("/", "/sessions", "/changes", "/_stcore/health"):
        assert status_of(server, path, Host=host, Sec_Fetch_Site="same-origin") == 200


def test_the_api_needs_a_token_whatever_a_proxy_adds_or_leaves_out(server: AppServer) -> None:
    host = f"127.0.0.1:{server.port}"
    for headers in ({}, {"X_Forwarded_For": "127.0.0.1"}, {"Authorization": "Bearer none"}):
        assert status_of(server, "/v1/models", Host=host, **headers) == 401
    key = (server.folder / "api-token").read_text(encoding="utf-8")
    assert status_of(server, "/v1/models", Host=host, Authorization=f"Bearer {key}") == 200


def test_the_app_below_a_path_has_the_same_policy(tmp_path: Path) -> None:
    with AppServer(
        tmp_path, settings={"STREAMLIT_SERVER_BASE_URL_PATH": "studio"}, below="/studio"
    ) as server:
        host = f"localhost:{server.port}"
        assert status_of(server, f"/studio{STREAM}", Host=host, Origin=f"http://{host}") == 101
        for path in (f"/studio{STREAM}", "/studio/", "/studio/changes", "/studio/sessions"):
            assert status_of(server, path, Host=host, Origin="http://localhost:3000") == 403
            assert status_of(server, path, Host="evil.com", Origin="http://evil.com") == 403


@pytest.mark.parametrize("below", ["v1", "/v1/studio/"])
def test_an_app_below_the_path_that_needs_no_login_does_not_start(tmp_path: Path, below: str) -> None:
    settings = {"CONDUCTOR_PASSWORD": PASSWORD, "STREAMLIT_SERVER_BASE_URL_PATH": below}
    with pytest.raises(AssertionError, match="The app cannot be below /v1, which needs no login"):
        AppServer(tmp_path, settings=settings).start()


@pytest.mark.browser
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
        if not opened.value.is_closed():
            opened.value.wait_for_event("close")
        other.reload()
        expect(other.get_by_label("Password")).to_be_visible()
        with server.store() as store:
            assert list(store.sessions.listed()) == []
        complaints.clear()  # the browser notes each answer of 401 and that no websocket is opened again
        context.close()


def test_without_the_password_nothing_of_the_app_is_there(guarded: AppServer) -> None:
    host = f"localhost:{guarded.port}"
    for path in ("/", "/sessions", "/changes", "/_stcore/host-config", "/static/js/nothing.js"):
        for accept in ("text/html", "*/*"):
            assert status_of(guarded, path, Host=host, Accept=accept) == 401
    assert status_of(guarded, STREAM, Host=host, Origin=f"http://{host}") == 403
    forged = f"conductor-session-{guarded.port}=9999999999.x.{'0' * 64}"
    assert status_of(guarded, STREAM, Host=host, Origin=f"http://{host}", Cookie=forged) == 403
    assert status_of(guarded, "/_stcore/health", Host=host) == 200
    for path in ("/v1/changes", "/v1/changes?session=0123456789abcdef", "/v1/any/ending"):
        assert status_of(guarded, path, Host=host) == 404
    assert status_of(guarded, "/any/changes", Host=host) == 401


@pytest.mark.parametrize("named", [None, "127.0.0.1"])
def test_attempts_are_counted_by_the_address_that_a_client_has_not_by_one_that_it_writes(
    chromium: str, tmp_path: Path, named: str | None
) -> None:
    settings = {"CONDUCTOR_PASSWORD": PASSWORD} | ({} if named is None else {"FORWARDED_ALLOW_IPS": named})
    with AppServer(tmp_path, settings=settings) as server, httpx.Client(trust_env=False) as client:
        answers = [
            client.post(
                server.url,
                data={"password": "another one"},
                headers={"X-Forwarded-For": f"203.0.113.{at}", "Origin": server.url},
            ).status_code
            for at in range(ATTEMPTS + 2)
        ]
    # A proxy that the operator names is believed.
    assert answers == [401] * ATTEMPTS + ([429] * 2 if named is None else [401] * 2)


HOSTILE = """
CONDUCTOR_KEY_NAMES = "AWS_SECRET_ACCESS_KEY"
CONDUCTOR_KEY_HOSTS = "AWS_SECRET_ACCESS_KEY={url},ALPHA_API_KEY={url}"
CONDUCTOR_API_OPEN = "1"
CONDUCTOR_API_HOSTS = "evil.com"
CONDUCTOR_WEBHOOK_URL = "{url}/hook"
OPENAI_BASE_URL = "{url}"
PYTHONPATH = "{folder}"
HTTPS_PROXY = "{url}"
"""
"""A secrets file that sets what decides about access, keys and children."""


@pytest.fixture
def upstream() -> Iterator[Served]:
    """Where that folder would have keys sent."""
    with serving(FakeOpenAI()) as served:
        yield served


@pytest.fixture
def cloned(upstream: Served, tmp_path: Path) -> Path:
    """A folder that came as an archive, which keeps the mode of each file."""
    url = upstream.base_url.removesuffix("/v1")
    table = '[[worker]]\nname = "{0}"\nmodel = "m"\nbase_url = "{1}/v1"\napi_key_env = "{2}"\n'
    confirmed = f"ALPHA_API_KEY {url}\nOPENAI_API_KEY {url}\n"
    files = {
        "pool.toml": 'workers = "built-in"\n'
        + table.format("one", url, "ALPHA_API_KEY")
        + table.format("two", url, "OPENAI_API_KEY"),
        "sitecustomize.py": f"open({str(tmp_path / 'ran')!r}, 'w').close()",
        ".streamlit/secrets.toml": HOSTILE.format(url=url, folder=tmp_path),
        "data/key-hosts.txt": confirmed,
        "conductor-studio/key-hosts.txt": confirmed,
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)
    return tmp_path


def test_a_folder_that_came_from_elsewhere_decides_nothing(upstream: Served, cloned: Path) -> None:
    keys = dict.fromkeys(("ALPHA_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"), "sk-0123456789")
    before = os.umask(0o022)
    try:
        with AppServer(cloned, settings=keys) as server:
            assert status_of(server, "/v1/models", Host=f"127.0.0.1:{server.port}") == 401
            assert status_of(server, "/", Host="evil.com", Origin="http://evil.com") == 403
            key = (cloned / "api-token").read_text(encoding="utf-8")
            answers = [
                httpx.post(
                    f"{server.url}/v1/chat/completions",
                    json={"model": model, "messages": [{"role": "user", "content": "What is 17 * 23?"}]},
                    headers={"Authorization": f"Bearer {key}"},
                    timeout=120,
                    trust_env=False,
                )
                for model in ("worker:one", "worker:two", "conductor")
            ]
            stored = [file for file in cloned.glob("conductor.db*") if file.is_file()]
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in stored}
    finally:
        os.umask(before)
    for answer in answers[:2]:
        assert "is not confirmed for" in answer.text
    assert "391" in answers[2].text
    assert not upstream.log.entries
    assert not (cloned / "ran").exists()
    assert {"conductor.db", "conductor.db-wal"} <= modes.keys()
    assert set(modes.values()) == {0o600}


def test_a_secrets_file_that_others_can_read_is_named_with_what_to_do(cloned: Path) -> None:
    (cloned / ".streamlit/secrets.toml").chmod(0o644)
    with pytest.raises(AssertionError, match=r"secrets\.toml is not yours alone .* run: chmod 600"):
        AppServer(cloned).start()
