"""The simulated endpoint on a free port of the loopback address, in a thread of the test's process.

A conftest that imports `fake_openai` and `fake_openai_session` gives its tests the fixture `fake_openai`:
one server for the session, which forgets before each test. `serving(FakeOpenAI(...))` is one of your own
settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from conductor.fake_openai.app import FakeOpenAI
from conductor.fake_openai.log import Entry, Log
from conductor.fake_openai.server import FakeServer


class Served:
    """A running endpoint: `base_url` ends with /v1, `app` is the Starlette app."""

    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.base_url = server.base_url
        self.root_url = server.base_url.removesuffix("/v1")
        self.app = server.app
        self.fake = server.fake

    @property
    def log(self) -> Log:
        """What it was sent and what became of it."""
        return self.fake.log

    def settled(self, at: int = -1, *, within: float = 5.0) -> Entry:
        """The newest request, or the one that is `at` that place, once its fate is known."""
        settled = self.log.wait_for(
            lambda entries: len(entries) > max(at, 0) and entries[at].outcome is not None, seconds=within
        )
        assert settled, f"no fate within {within} s: {self.log.entries}"
        return self.log.entries[at]


@contextmanager
def serving(fake: FakeOpenAI) -> Iterator[Served]:
    """Serve `fake` until the block is left; whatever it is still answering then is broken off."""
    server = FakeServer(fake)
    thread = Thread(target=server.run, name="fake-openai", daemon=True)
    thread.start()
    assert server.ready.wait(30), "the simulated endpoint did not start"
    try:
        yield Served(server)
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive(), "the simulated endpoint did not stop"


@pytest.fixture(scope="session")
def fake_openai_session() -> Iterator[Served]:
    with serving(FakeOpenAI()) as served:
        yield served


@pytest.fixture
def fake_openai(fake_openai_session: Served) -> Served:
    """The session's endpoint, with nothing logged and nothing counted."""
    fake_openai_session.fake.forget()
    return fake_openai_session
