"""The commands of the tests' own servers are accepted."""

from __future__ import annotations

import pytest

from conductor.workers.tools.accepted_commands import ALLOWED


@pytest.fixture(autouse=True)
def _accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "all")
