"""A Ray cluster on this machine, where Ray is installed.

`make test-ray` runs pytest in that environment and names its Python in CONDUCTOR_TEST_RAY; without it nothing
here is collected.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from store_fixtures import database, postgres

__all__ = ["database", "postgres"]

collect_ignore_glob = [] if "CONDUCTOR_TEST_RAY" in os.environ else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ray puts a machine's own address in place of loopback, so that is reached here, too."""
    here = [item for item in items if item.path.is_relative_to(Path(__file__).parent)]
    if not here:
        return
    from ray.util import get_node_ip_address  # noqa: PLC0415 - not installed elsewhere

    for item in here:
        item.add_marker(pytest.mark.allow_hosts(["127.0.0.1", "::1", "localhost", get_node_ip_address()]))
