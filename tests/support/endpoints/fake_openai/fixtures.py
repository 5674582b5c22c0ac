"""One fake endpoint for all tests of the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from . import FakeOpenAI, Served, serving


@pytest.fixture(scope="session")
def fake_openai_session() -> Iterator[Served]:
    with serving(FakeOpenAI()) as served:
        yield served


@pytest.fixture
def fake_openai(fake_openai_session: Served) -> Served:
    """The session's endpoint, with an empty log and no counts."""
    fake_openai_session.fake.forget()
    return fake_openai_session
