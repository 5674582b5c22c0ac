"""The API as clients meet it: one server for all tests, over an empty store."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI

from storage import SessionStore
from studio.api.answers import streaming
from tests.studio.api.inbox import announced, inbox  # noqa: F401 - fixtures
from tests.studio.api.stage import Stage, staged
from tests.support.endpoints.fake_openai.fixtures import fake_openai, fake_openai_session  # noqa: F401 - fixtures


@pytest.fixture(scope="session")
def one_stage(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> Iterator[Stage]:
    """The server."""
    file = shutil.copyfile(empty_store, tmp_path_factory.mktemp("api") / "conductor.db")
    with staged(SessionStore.open(f"sqlite:///{file}")) as stage:
        yield stage


@pytest.fixture
def stage(one_stage: Stage) -> Stage:
    """The server, whose backend the test still has to name."""
    return one_stage


@pytest.fixture
def open_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head of a stream waits for nothing."""
    monkeypatch.setattr(streaming, "HOLD_SECONDS", 0.0)


@pytest.fixture
def client(stage: Stage) -> Iterator[OpenAI]:
    """OpenAI's own client."""
    with stage.client() as client:
        yield client
