"""What the pages stand on in these tests: a workbench with a store of its own, and the app over it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest

from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from pages.components.tab import services
from pages.components.tab.state import TabState
from storage import SessionStore
from studio.workbench import Workbench

ROOT = Path(__file__).parents[2]

App = Callable[..., AppTest]

COMPONENTS = Path(__file__).parent / "components"

DRAWING = 120.0
"""The seconds that a script may take; only one that hangs does."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that draw the app: those of a page, and, as thorough, those of a part of one."""
    for item in items:
        if isinstance(item, pytest.Function) and "app" in item.fixturenames:
            item.add_marker(pytest.mark.page)
            if COMPONENTS in item.path.parents:
                item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="session", autouse=True)
def once() -> Iterator[None]:
    """Does once what Streamlit repeats for each test's app: scan all packages, and compile the pages."""
    packages, scripts = cache(manifest_scanner.scan_component_manifests), ScriptCache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", packages)
        for module in ("app_test", "local_script_runner"):
            patch.setattr(f"streamlit.testing.v1.{module}.ScriptCache", lambda: scripts)
        yield


@pytest.fixture(scope="session", autouse=True)
def patient() -> Iterator[None]:
    """A page may take as long to be drawn as a busy machine needs, not Streamlit's three seconds."""
    draw = AppTest._run

    def run(test: AppTest, widgets: WidgetStates | None = None, timeout: float | None = None) -> AppTest:
        return draw(test, widgets, DRAWING if timeout is None else timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AppTest, "_run", run)
        yield


@pytest.fixture
def url(tmp_path: Path, empty_store: Path) -> str:
    """Where the store of this test is, with nothing in it."""
    return f"sqlite:///{shutil.copyfile(empty_store, tmp_path / 'conductor.db')}"


@pytest.fixture
def bench(url: str) -> Iterator[Workbench]:
    """A workbench with three simulated workers; one of them is slow."""
    workers = (
        SimulatedWorker(name="alpha", tokens=4),
        SimulatedWorker(name="beta", tokens=4, seed=1),
        SimulatedWorker(name="slow", latency=30),
    )
    workbench = Workbench.over(
        SessionStore.open(url), pool=Pool(workers=workers), conductor=OfflineConductor()
    )
    yield workbench
    workbench.close()


@pytest.fixture
def three() -> Workflow:
    """Two steps that stand alone and a third that reads the first."""
    return Workflow.of(
        [
            Step(instruction="Find it.", worker="alpha"),
            Step(instruction="Look again.", worker="beta"),
            Step(instruction="Answer.", worker="alpha", access=(0,)),
        ]
    )


@pytest.fixture
def session(bench: Workbench, three: Workflow) -> str:
    """A session with that workflow, not run."""
    session = bench.ask("Which one?").id
    bench.editing.edit(session, three, note="By hand")
    return session


@pytest.fixture
def tab() -> Iterator[TabState]:
    """A tab that remembers nothing yet."""
    st.session_state.clear()
    st.query_params.clear()
    yield TabState()
    st.session_state.clear()
    st.query_params.clear()


@pytest.fixture
def app(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """Opens the app over the store at `url`: `app("workbench" or "sessions", session id)`, drawn once."""
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", url)
    monkeypatch.chdir(ROOT)

    def opened(page: str = "workbench", session: str | None = None) -> AppTest:
        test = AppTest.from_file(ROOT / "app.py")
        test.switch_page(f"pages/{page}.py")
        if session is not None:
            test.query_params["session"] = session
        return test.run()

    yield opened
    services.close()
