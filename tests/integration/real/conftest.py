"""The small real model that `make run` installs, as worker and Conductor: one process of it for all tests.

`make test-real` sets CONDUCTOR_TEST_REAL; without it nothing here is collected, as it takes minutes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.workers.embedded.embedded_worker import process_of
from conductor.workers.embedded.model_file import SHIPPED_MODEL, model_file

collect_ignore_glob = [] if "CONDUCTOR_TEST_REAL" in os.environ else ["test_*.py"]

POOL = """
[[worker]]
kind = "embedded"
name = "smol"
max_tokens = 12
temperature = 0

[conductor]
kind = "embedded"
max_tokens = 300
"""


@pytest.fixture(scope="session", autouse=True)
def model() -> Iterator[None]:
    """Its processes end with the tests."""
    yield
    for embeds in (False, True):
        process_of(model_file(SHIPPED_MODEL), SHIPPED_MODEL, embeds=embeds).end()


@pytest.fixture
def pool_file(tmp_path: Path) -> Path:
    """A pool file with the model as the worker `smol`, of short answers, and as the Conductor."""
    file = tmp_path / "pool.toml"
    file.write_text(POOL, encoding="utf-8")
    return file
