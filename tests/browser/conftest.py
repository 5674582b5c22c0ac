"""One harness for all browser tests: Chromium, the servers, and pages that record every complaint.

Servers live as long as the session. The browser lives as long as a module: while Playwright is open, the
main thread counts as running an event loop, which the coroutine tests of other folders could not bear.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.browser.app_server import AppServer
from tests.browser.browser_settings import BROWSERS, BUILT_IN_POOL, PASSWORD, PATIENCE, QUIET, Visit, paced
from tests.browser.scripted_endpoint import ScriptedEndpoint, pool_file, scripted_worker, serving
from tests.browser.workbench_page import THREE, WorkbenchPage


@pytest.fixture(scope="session")
def chromium() -> str:
    """Where Chromium is, the one that CONDUCTOR_TEST_BROWSER names or any; without it the test is skipped."""
    names = os.environ.get("CONDUCTOR_TEST_BROWSER", "").split() or BROWSERS
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip(f"Chromium is not installed: none of {', '.join(names)} is on PATH")
    return program


@pytest.fixture(scope="module")
def built_in_app(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """The app with the built-in set, whose language model is a simulated worker."""
    folder = tmp_path_factory.mktemp("built-in")
    (folder / "built-in.toml").write_text(BUILT_IN_POOL, encoding="utf-8")
    with AppServer(folder, settings={"CONDUCTOR_POOL": str(folder / "built-in.toml")}) as server:
        yield server


@pytest.fixture(scope="module")
def paced_app(
    chromium: str, endpoint: ScriptedEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AppServer]:
    """The app with simulated workers that take their time, and one that `endpoint` speaks for."""
    folder = tmp_path_factory.mktemp("paced")
    with AppServer(folder, settings=paced(folder, scripted_worker(endpoint))) as server:
        yield server


@pytest.fixture(scope="session")
def endpoint() -> Iterator[ScriptedEndpoint]:
    """Where the Conductor of `served_app` answers, what a test has it write."""
    with serving() as served:
        yield served


@pytest.fixture(scope="module")
def served_app(
    chromium: str, endpoint: ScriptedEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AppServer]:
    """The app with a served Conductor and simulated workers."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "pool.toml").write_text(pool_file(endpoint), encoding="utf-8")
    with AppServer(folder, settings={"CONDUCTOR_POOL": str(folder / "pool.toml")}) as server:
        yield server


@pytest.fixture(scope="module")
def graph_demo(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """A page of nothing but graphs."""
    quiet = {  # as in .streamlit/config.toml
        "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
        "STREAMLIT_SERVER_FILE_WATCHER_TYPE": "none",
        "STREAMLIT_GLOBAL_MAX_CACHED_MESSAGE_AGE": "20",
    }
    folder = tmp_path_factory.mktemp("graphs")
    with AppServer(folder, script="tests/browser/graph_app.py", settings=quiet) as server:
        yield server


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """An app with a password."""
    with AppServer(tmp_path_factory.mktemp("guarded"), settings={"CONDUCTOR_PASSWORD": PASSWORD}) as server:
        yield server


@pytest.fixture
def own_app(chromium: str, tmp_path: Path) -> Iterator[AppServer]:
    """A paced app for one test, which may do to it what it likes."""
    with AppServer(tmp_path, settings=paced(tmp_path)) as server:
        yield server


@pytest.fixture
def desk(visit: Visit, paced_app: AppServer) -> WorkbenchPage:
    """The workbench with a workflow of three steps that has not run."""
    return WorkbenchPage(visit(paced_app, f"/?session={paced_app.plant(*THREE, query='Which one?')}"))


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET, timeout=180_000)
        expect.set_options(timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context(browser: Browser) -> BrowserContext:
    """One for a module, as its cache spares every page the loading of the app's own scripts."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    return context


@pytest.fixture
def complaints() -> list[str]:
    """What pages and servers complained of; a test that provokes a complaint takes it out itself."""
    return []


@pytest.fixture
def visit(context: BrowserContext, complaints: list[str], tmp_path: Path) -> Iterator[Visit]:
    """Opens tabs: `visit(server, path, context=None)`.

    It needs `tmp_path` so that the log of a server in it is still there at the end.

    Afterwards nothing may have been written to the console, asked of another host, put up as a dialog, or
    logged by the server as a warning or an error.
    """
    pages: list[Page] = []
    servers: set[AppServer] = set()

    def opened(server: AppServer, path: str = "/", *, inside: BrowserContext | None = None) -> Page:
        page = (inside or context).new_page()
        page.set_default_timeout(PATIENCE)
        pages.append(page)
        servers.add(server)
        _record(page, server, complaints)
        page.goto(f"{server.url}{path}")
        return page

    yield opened
    for page in pages:
        page.close()
    complaints += [line for server in servers for line in server.alarms()]
    assert complaints == []


def _record(page: Page, server: AppServer, complaints: list[str]) -> None:
    is_being_left = False
    own = (server.url, server.url.replace("http", "ws"), "data:", "blob:")

    def dismissed(dialog: Dialog) -> None:
        complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def written(message: ConsoleMessage) -> None:
        # Full Chromium has advice for authors, of the type "verbose"; the headless shell has none.
        if message.type not in ("warning", "error", "assert"):
            return
        # A press right behind a tick goes with it; `streamlit_patches/script_message.py` has it drawn.
        if message.text.startswith("Unexpected state: Multiple different"):
            return
        # The server may close the connection of a page that has asked for the next one, as after a log out.
        if not (is_being_left and "WebSocket onclose" in message.text):
            complaints.append(message.text)

    def requested(request: Request) -> None:
        nonlocal is_being_left
        is_being_left = is_being_left or request.is_navigation_request()
        if not request.url.startswith(own):
            complaints.append(request.url)

    def loaded(_: Page) -> None:
        nonlocal is_being_left
        is_being_left = False

    page.on("console", written)
    page.on("domcontentloaded", loaded)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", dismissed)
    page.on("request", requested)
