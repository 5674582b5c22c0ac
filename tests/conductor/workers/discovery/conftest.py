"""A machine on which nothing is set: no key, no port, no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.workers.discovery.local_servers import PORTS
from conductor.workers.discovery.offers import BASE_URL
from conductor.workers.keys.services import HOSTED


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    for variable in (PORTS, BASE_URL, *(service.api_key_env for service in HOSTED)):
        monkeypatch.delenv(str(variable), raising=False)
    return tmp_path
