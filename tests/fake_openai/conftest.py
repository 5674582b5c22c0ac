"""The endpoint, and a plain HTTP client to ask it with."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from asking import Asking
from fake_openai_server import Served, fake_openai, fake_openai_session  # noqa: F401 - fixtures


@pytest.fixture
def asking(fake_openai: Served) -> Iterator[Asking]:  # noqa: F811 - the fixture, not the import
    """Asks the endpoint; its connections are closed afterwards."""
    with httpx.Client(base_url=fake_openai.base_url, timeout=10) as client:
        yield Asking(client)
