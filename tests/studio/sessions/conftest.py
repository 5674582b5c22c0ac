"""Workbenches that are closed after the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.studio.sessions.opened_benches import Opened


@pytest.fixture
def opened(url: str) -> Iterator[Opened]:
    """See `Opened`."""
    opened = Opened(url)
    yield opened
    for bench in opened.benches:
        bench.close()
