"""The wheel in an environment that has nothing else: where its command is, and a folder to run it in.

`make test-installed` names that environment's folder of commands in CONDUCTOR_TEST_INSTALLED; without it
nothing here is collected.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_COMMANDS = "CONDUCTOR_TEST_INSTALLED"

collect_ignore_glob = [] if _COMMANDS in os.environ else ["test_*.py"]


@pytest.fixture(scope="session")
def command() -> Path:
    """The installed `conductor`."""
    return (Path(os.environ[_COMMANDS]) / "conductor").absolute()


@pytest.fixture
def environment() -> dict[str, str]:
    """The variables of a person who has only this program: nothing leads to the checkout."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
