"""A real SQLite store in a folder of its own, with a clock that ticks once a look."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_scenario import ticking

from storage import SessionStore


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the store is; nothing is there yet, not even the folder."""
    return tmp_path / "data" / "conductor.db"


@pytest.fixture
def url(file: Path) -> str:
    """The store's URL."""
    return f"sqlite:///{file}"


@pytest.fixture
def store(url: str, file: Path, empty_store: Path) -> Iterator[SessionStore]:
    """An open store with nothing in it."""
    file.parent.mkdir()
    shutil.copyfile(empty_store, file)
    with SessionStore.open(url, clock=ticking().__next__) as store:
        yield store
