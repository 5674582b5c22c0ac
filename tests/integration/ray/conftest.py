"""The Ray cluster that all tests share, where Ray is installed.

`make test-ray` runs pytest in that environment and names its Python in CONDUCTOR_TEST_RAY; without it nothing
here is collected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.ray.local_cluster import KEY, POOL, LocalCluster, free_port
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.stores.store_fixtures import database, postgres

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
        # Of Serve's own modules.
        item.add_marker(pytest.mark.filterwarnings("ignore:Using extra keyword arguments on `Field`"))
        item.add_marker(pytest.mark.filterwarnings("ignore:`look_back_period_s`"))


@pytest.fixture(scope="session")
def machines() -> Iterator[None]:
    """The environment of all machines, on which this program is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("CONDUCTOR_KEY", KEY)
        patch.delenv("PYTHONPATH", raising=False)
        # All proxies are on this machine: what the head's port is sent, the head's answers.
        patch.setenv("RAY_SERVE_WORKER_PROXY_HTTP_PORT", str(free_port()))
        patch.setenv("RAY_SERVE_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S", "0.5")
        yield


@pytest.fixture(scope="session")
def cluster(machines: None) -> Iterator[LocalCluster]:
    """The head that all tests share."""
    cluster = LocalCluster()
    yield cluster
    cluster.shut_down()


@pytest.fixture
def served() -> Iterator[Served]:
    """An endpoint whose answer takes about a second, for those with the key."""
    with serving(FakeOpenAI(key=KEY, tokens_per_second=32)) as served:
        yield served


@pytest.fixture
def pool(served: Served, tmp_path: Path) -> Path:
    """A pool file with a calculator and that endpoint."""
    file = tmp_path / "pool.toml"
    file.write_text(POOL.format(url=served.base_url), encoding="utf-8")
    return file
