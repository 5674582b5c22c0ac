"""The simulated endpoint."""

from __future__ import annotations

from tests.support.endpoints.fake_openai.fixtures import fake_openai, fake_openai_session  # noqa: F401 - fixtures
