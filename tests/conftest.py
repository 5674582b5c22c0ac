"""What every test stands on: no settings from outside, and pools that call no model.

Connections other than loopback are refused by pytest-socket (see pyproject.toml).
"""

from __future__ import annotations

import pytest

from conductor.workers.pool import Pool
from conductor.workers.simulated import SimulatedWorker


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's pool and database are not ours to read or write."""
    monkeypatch.delenv("CONDUCTOR_POOL", raising=False)
    monkeypatch.delenv("CONDUCTOR_DATABASE_URL", raising=False)


@pytest.fixture
def pool() -> Pool:
    """Three simulated workers that answer at once, each in its own words."""
    return Pool(workers=tuple(SimulatedWorker(name=name, tokens=6) for name in ("alpha", "beta", "gamma")))
