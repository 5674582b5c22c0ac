"""What every test stands on: no settings from outside, and pools that call no model.

Connections other than loopback are refused by pytest-socket (see pyproject.toml).
"""

from __future__ import annotations

import gc
import logging
import signal
from collections.abc import Iterator
from pathlib import Path

import haste
import pytest
from hypothesis import HealthCheck, settings
from property_cases import PROFILES

from conductor.collector import settle
from conductor.workers.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore

# Whether drawing an example takes long is the machine's business.
for name, number in PROFILES.items():
    settings.register_profile(
        name, max_examples=number, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("whole")


def pytest_configure() -> None:
    """A suite that was started in the background ignores these signals, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on PostgreSQL."""
    for item in items:
        case = getattr(item, "callspec", None)
        on_postgres = case is not None and case.params.get("kind") == "postgresql"
        if on_postgres or "postgres" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.thorough)


def pytest_collection() -> None:
    """Nothing that is imported becomes garbage, so nobody looks for it until all is."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was imported is looked at once, not with every test."""
    gc.enable()
    settle()  # as in the app
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("streamlit") and isinstance(logger, logging.Logger):
            logger.propagate = True  # else pytest listens to each of them by itself, with every test


@pytest.fixture(scope="session", autouse=True)
def hasty() -> Iterator[None]:
    """Nobody waits for what no test can notice."""
    with pytest.MonkeyPatch.context() as patch:
        for shortcut in (haste.unplugged, haste.spelled_once, haste.certified_once, haste.stopped_at_once):
            shortcut(patch)
        yield


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with nothing in it, to be copied by whoever is not about how one is made."""
    file = tmp_path_factory.mktemp("empty") / "conductor.db"
    SessionStore.open(f"sqlite:///{file}").close()
    return file


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's pool and database are not ours to read or write."""
    monkeypatch.delenv("CONDUCTOR_POOL", raising=False)
    monkeypatch.delenv("CONDUCTOR_DATABASE_URL", raising=False)


@pytest.fixture
def pool() -> Pool:
    """Three simulated workers that answer at once, each in its own words."""
    return Pool(workers=tuple(SimulatedWorker(name=name, tokens=6) for name in ("alpha", "beta", "gamma")))
