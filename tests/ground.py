"""What every test stands on: no settings from outside, an empty store to copy, a pool that calls no model.

A plugin of pytest's own, so that the process that only hands out the tests to others need not import it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import haste
import pytest

from conductor.workers.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore


@pytest.fixture(scope="session", autouse=True)
def hasty() -> Iterator[None]:
    """Nobody waits for what no test can notice."""
    with pytest.MonkeyPatch.context() as patch:
        for shortcut in haste.SHORTCUTS:
            shortcut(patch)
        yield


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with nothing in it, to be copied by whoever is not about how one is made."""
    file = tmp_path_factory.mktemp("empty") / "conductor.db"
    SessionStore.open(f"sqlite:///{file}").close()
    return file


@pytest.fixture(scope="session", autouse=True)
def no_settings() -> Iterator[None]:
    """The caller's pool and database are not ours to read or write."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CONDUCTOR_POOL", raising=False)
        patch.delenv("CONDUCTOR_DATABASE_URL", raising=False)
        yield


@pytest.fixture
def pool() -> Pool:
    """Three simulated workers that answer at once, each in its own words."""
    return Pool(workers=tuple(SimulatedWorker(name=name, tokens=6) for name in ("alpha", "beta", "gamma")))
