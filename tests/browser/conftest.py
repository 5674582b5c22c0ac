"""One harness for all browser tests: Chromium, the servers, and pages that record every complaint.

Servers live as long as the session. The browser lives as long as a module: while Playwright is open, the
main thread counts as running an event loop, which the coroutine tests of other folders could not bear.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from app_server import AppServer
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, expect, sync_playwright
from scripted_endpoint import QUICK_WORKERS, ScriptedEndpoint, pool_file, serving
from workbench_page import THREE, WorkbenchPage

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Names Chromium is installed under; the first one loads a page with two thirds of the work of the others."""

QUIET = """--no-sandbox --disable-gpu --no-first-run
    --disable-background-networking --disable-component-update --disable-sync""".split()

PACED_POOL = f"""
[[worker]]
name = "planner-7b"
kind = "simulated"
latency = 0.2
tokens = 30
tokens_per_second = 40
seed = 1

{QUICK_WORKERS}
[[worker]]
name = "steady-13b"
kind = "simulated"
tokens = 60
tokens_per_second = 12
seed = 4

[[worker]]
name = "endless-70b"
kind = "simulated"
tokens = 1200
tokens_per_second = 20
seed = 5

[[worker]]
name = "broken-1b"
kind = "simulated"
tokens = 12
fail_on = "e"

[[worker]]
name = '''<b id="worker">*worker*</b>'''
kind = "simulated"
answer = '''<img src="/answer.png" onerror="alert(1)"> <script>alert(2)</script> **bold** [link](http://example.org)'''
"""
"""In turn: quick with a stream, two at once, five seconds, a minute, one that fails, a hostile one."""

PATIENCE = 30_000
"""Milliseconds for whatever a test waits for. Only a test that fails waits so long; a busy machine may."""

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> str:
    """Where Chromium is; without it the test is skipped."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"Chromium is not installed: none of {', '.join(BROWSERS)} is on PATH")
    return found


@pytest.fixture(scope="session")
def offline_app(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """The app as it comes: the built-in experts."""
    with AppServer(tmp_path_factory.mktemp("offline")) as server:
        yield server


@pytest.fixture(scope="session")
def paced_app(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """The app with simulated workers that take their time."""
    folder = tmp_path_factory.mktemp("paced")
    with AppServer(folder, settings=paced(folder)) as server:
        yield server


@pytest.fixture(scope="session")
def endpoint() -> Iterator[ScriptedEndpoint]:
    """Where the Conductor of `served_app` answers, what a test has it say."""
    with serving() as served:
        yield served


@pytest.fixture(scope="session")
def served_app(
    chromium: str, endpoint: ScriptedEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AppServer]:
    """The app with a served Conductor and simulated workers."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "pool.toml").write_text(pool_file(endpoint), encoding="utf-8")
    with AppServer(folder, settings={"CONDUCTOR_POOL": str(folder / "pool.toml")}) as server:
        yield server


@pytest.fixture(scope="session")
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


@pytest.fixture
def own_app(chromium: str, tmp_path: Path) -> Iterator[AppServer]:
    """A paced app for one test, which may do to it what it likes."""
    with AppServer(tmp_path, settings=paced(tmp_path)) as server:
        yield server


@pytest.fixture
def desk(visit: Visit, paced_app: AppServer) -> WorkbenchPage:
    """The workbench with a workflow of three steps that has not run."""
    return WorkbenchPage(visit(paced_app, f"/?session={paced_app.plant(*THREE, query='Which one?')}"))


def paced(folder: Path) -> dict[str, str]:
    """The settings that name a pool file of simulated workers, written to `folder`."""
    (folder / "pool.toml").write_text(PACED_POOL, encoding="utf-8")
    return {"CONDUCTOR_POOL": str(folder / "pool.toml")}


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        expect.set_options(timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context(browser: Browser) -> BrowserContext:
    """One for a module, as its cache spares every page the loading of the app's own scripts."""
    return browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")


@pytest.fixture
def complaints() -> list[str]:
    """What pages and servers complained of; a test that provokes a complaint takes it out itself."""
    return []


@pytest.fixture
def visit(context: BrowserContext, complaints: list[str], tmp_path: Path) -> Iterator[Visit]:
    """Opens tabs: `visit(server, path, context=None)`.

    It needs `tmp_path` so that the log of a server in it is still there at the end.

    Afterwards nothing may have been said to the console, asked of another host, put up as a dialog, or
    logged by the server as a warning or an error.
    """
    pages: list[Page] = []
    servers: set[AppServer] = set()

    def opened(server: AppServer, path: str = "/", *, inside: BrowserContext | None = None) -> Page:
        page = (inside or context).new_page()
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
    own = (server.url, server.url.replace("http", "ws"), "data:", "blob:")

    def dismissed(dialog: Dialog) -> None:
        complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def written(message: ConsoleMessage) -> None:
        # A press right behind a tick goes with it; `streamlit_patches/joined_message.py` has it drawn.
        joined = message.text.startswith("Unexpected state: Multiple different")
        if message.type in ("warning", "error") and not joined:
            complaints.append(message.text)

    page.on("console", written)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", dismissed)
    page.on("request", lambda asked: None if asked.url.startswith(own) else complaints.append(asked.url))
