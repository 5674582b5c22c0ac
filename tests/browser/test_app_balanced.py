"""Two processes of the app and two of the API behind nginx, by the file that `deploy/` has for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from benchmarks.balancer import NGINX, nginx_command
from conductor.workflow.model import Step
from studio.access.password import Password
from studio.access.view_links import ViewLinks
from studio.session_file import write_sessions
from tests.browser.app_server import AppServer, free_port
from tests.browser.browser_settings import PASSWORD, paced
from tests.browser.workbench_page import WorkbenchPage
from tests.support.processes.api_processes import serving_processes
from tests.support.processes.child_process import child
from tests.support.runs.waiting import until
from tests.support.stores.postgres_server import serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.thorough,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed (apt-get install nginx)"),
]

QUERY = "Which river is the longest?"


@dataclass(frozen=True)
class Balanced:
    """The servers at one address; `log` has a line for each request that nginx has answered."""

    port: int
    apps: tuple[AppServer, AppServer]
    api: int
    token: str
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def alarms(self) -> list[str]:
        return [line for app in self.apps for line in app.alarms()]

    def requests(self) -> list[tuple[str, int, str]]:
        """Of each request the browser by its cookie, the port that answered it, and method and path."""
        lines = [line.split(maxsplit=1) for line in self.log.read_text(encoding="utf-8").splitlines()]
        parts = [(browser, *rest.rsplit("|", 1)) for browser, rest in lines]
        return [(browser, int(ports.strip().rpartition(":")[2]), what) for browser, ports, what in parts]

    def requests_of(self, browser: str) -> dict[str, set[int]]:
        """The ports that answered a browser, by method and path."""
        ports: dict[str, set[int]] = {}
        for other, port, what in self.requests():
            if other == browser:
                ports.setdefault(what, set()).add(port)
        return ports

    def app_of(self, context: BrowserContext) -> AppServer:
        """Which app answered the newest request of a browser."""
        [cookie] = [each for each in context.cookies() if each["name"] == "conductor_process"]
        port = [port for browser, port, _ in self.requests() if browser == cookie["value"]][-1]
        return next(app for app in self.apps if app.port == port)


@pytest.fixture(scope="module")
def balanced(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Balanced]:
    folder = tmp_path_factory.mktemp("balanced")
    with serving() as postgres, ExitStack() as open_servers:
        database = postgres.url(postgres.database())
        shared = {
            "CONDUCTOR_DATABASE_URL": database,
            "CONDUCTOR_PASSWORD": PASSWORD,
            "FORWARDED_ALLOW_IPS": "127.0.0.1",
        }
        apps = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            app = AppServer(folder / name, settings=paced(folder / name) | shared)
            app.database = database
            apps.append(open_servers.enter_context(app))
        nowhere = f"http://127.0.0.1:{free_port()}/v1"
        api = open_servers.enter_context(
            serving_processes(database, folder / "three", nowhere, "--processes", "2")
        )
        port, api_port = free_port(), httpx.URL(api.url).port or 0
        command = nginx_command(folder, port, [app.port for app in apps], [api_port])
        open_servers.enter_context(child(command, cwd=folder))
        until(lambda: _answers(port), what="nginx answers")
        yield Balanced(port, (apps[0], apps[1]), api_port, api.token, folder / "requests")


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False, timeout=30).status_code == 200
    except httpx.HTTPError:
        return False


def _log_in(page: Page) -> None:
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()


def _import(page: Page, file: Path) -> None:
    page.get_by_role("button", name="Import", exact=True).press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.locator("input[type=file]").set_input_files(file)
    dialog.get_by_role("button", name="Import and open").press("Enter")
    expect(dialog).to_be_hidden()


def _app_after_reload(desk: WorkbenchPage, balanced: Balanced) -> AppServer:
    desk.page.reload()
    expect(desk.settled().title).to_contain_text(QUERY)
    return balanced.app_of(desk.page.context)


def test_a_browser_stays_on_its_process_until_that_is_killed_and_then_goes_on_at_the_other(
    visit, browser, balanced, complaints, tmp_path
) -> None:
    app = balanced.apps[0]
    session = app.plant(Step(instruction="Look it up.", worker="writer-8b"), query=QUERY)
    file = tmp_path / "one.session.jsonl"
    with app.store() as store:
        file.write_bytes(b"".join(write_sessions(store, [session])))
    pages: dict[int, Page] = {}
    for _ in range(12):
        context = browser.new_context()
        page = visit(balanced, "/sessions", inside=context)
        _log_in(page)
        pages.setdefault(balanced.app_of(context).port, page)
        if len(pages) == 2:
            break
    assert pages.keys() == {app.port for app in balanced.apps}, "each process has a browser"
    for page in pages.values():
        _import(page, file)
        expect(WorkbenchPage(page).title).to_contain_text(QUERY)
    desk = WorkbenchPage(pages[app.port])
    desk.settled().run()
    expect(desk.button("Rerun")).to_be_visible()

    assert all("status of 401" in text for text in complaints), "of the login alone"
    app.kill()
    desk.page.reload()
    expect(desk.settled().title).to_contain_text(QUERY)
    expect(desk.graph.cards).to_have_count(1)
    assert balanced.app_of(desk.page.context) is balanced.apps[1]
    app.start()
    until(lambda: _app_after_reload(desk, balanced) is app, what="the browser is back", every=1)
    untouched = pages[balanced.apps[1].port].context
    for page in pages.values():
        page.close()
    [cookie] = [each for each in untouched.cookies() if each["name"] == "conductor_process"]
    own = {"GET /_stcore/stream", "GET /sessions"}
    until(lambda: own <= balanced.requests_of(cookie["value"]).keys(), what="its websocket has ended")
    ports = balanced.requests_of(cookie["value"])
    assert any("upload_file" in what for what in ports)
    assert set().union(*ports.values()) == {balanced.apps[1].port}
    # The browser complains of the lost process.
    complaints.clear()


def test_the_api_and_view_only_links_are_at_the_same_address(visit, browser, balanced, complaints) -> None:
    app = balanced.apps[1]
    session = app.plant(Step(instruction="Look it up.", worker="writer-8b"), query=QUERY)
    headers = {"authorization": f"Bearer {balanced.token}"}
    before = len(balanced.requests())
    for _ in range(6):
        answer = httpx.get(f"{balanced.url}/v1/models", headers=headers, trust_env=False, timeout=60)
        assert "worker:alpha" in [each["id"] for each in answer.json()["data"]]
        assert "set-cookie" not in answer.headers
    assert httpx.get(f"{balanced.url}/v1/models", trust_env=False).status_code == 401
    until(lambda: len(balanced.requests()) >= before + 7, what="all are in the log")
    assert {port for _, port, what in balanced.requests()[before:] if "/v1/" in what} == {balanced.api}
    with app.store() as store:
        links = ViewLinks(Password(PASSWORD), store.sessions.view_links_revoked)
        view = links.value(session)
    guest = WorkbenchPage(visit(balanced, f"/?session={session}&view={view}", inside=browser.new_context()))
    expect(guest.keyed("view-only")).to_be_visible()
    complaints[:] = [text for text in complaints if "status of 401" not in text]
