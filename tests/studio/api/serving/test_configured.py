"""The API of one process, whichever server brings its requests."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.api.serving.configured import configured_api
from studio.gc_tuning import THRESHOLDS


@pytest.fixture
def usual_collector() -> Iterator[None]:
    """As Python sets it, in place of what these tests run under."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.usefixtures("usual_collector")
def test_the_collector_of_its_process_is_set_for_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", f"sqlite:///{tmp_path / 'studio.db'}")
    monkeypatch.setenv("CONDUCTOR_POOL", "built-in")
    with configured_api(machine=lambda: None):
        assert gc.get_threshold() == THRESHOLDS
