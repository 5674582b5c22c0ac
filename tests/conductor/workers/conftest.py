"""The simulated endpoint, and no pauses between attempts."""

from __future__ import annotations

import pytest

from conductor.workers.endpoint.transport import timing
from tests.support.endpoints.fake_openai.fixtures import fake_openai, fake_openai_session  # noqa: F401 - fixtures


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed attempt is followed by the next one at once, where the server asks for no pause."""
    monkeypatch.setattr(timing, "_backoff", lambda _: 0.0)
