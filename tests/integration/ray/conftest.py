"""A Ray cluster on this machine, where Ray is installed: a head, and the nodes that a test adds to it.

`make test-ray` runs pytest in that environment and names its Python in CONDUCTOR_TEST_RAY; without it nothing
here is collected.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.stores.store_fixtures import database, postgres

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

__all__ = ["database", "postgres"]

collect_ignore_glob = [] if "CONDUCTOR_TEST_RAY" in os.environ else ["test_*.py"]

ROOT = Path(__file__).parents[3]
KEY = "sk-marked-0123456789abcdef"
POOL = """
[[worker]]
name = "mathematics"
kind = "calculator"

[[worker]]
name = "model"
base_url = "{url}"
model = "small"
api_key_env = "CONDUCTOR_KEY"
# Of answers that a test holds while a cluster moves.
between_tokens_seconds = 240
"""
# Of memory for values, which are small here.
_SMALL = {"object_store_memory": 80_000_000}
# How a head notices that a node is gone: in two seconds instead of some twenty.
_ATTENTIVE = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1_000,
    "health_check_failure_threshold": 3,
}


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


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class LocalCluster:
    """A cluster whose head has no CPU; nodes are processes of this machine."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster  # noqa: PLC0415 - not installed elsewhere

        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": _ATTENTIVE, **_SMALL}
        self._cluster: Cluster = Cluster(initialize_head=True, head_node_args=head)
        self.address: str = self._cluster.address

    @contextmanager
    def nodes(self, number: int, *, cpus: int = 1) -> Iterator[list[Any]]:
        """So many nodes; those that were not killed are taken away afterwards."""
        nodes = [self._cluster.add_node(num_cpus=cpus, **_SMALL) for _ in range(number)]
        try:
            yield nodes
        finally:
            for node in nodes:
                if node in self._cluster.worker_nodes:
                    self._cluster.remove_node(node)

    def kill(self, node: Any) -> None:
        self._cluster.remove_node(node, allow_graceful=False)

    def kill_head(self) -> None:
        self._cluster.head_node.kill_gcs_server()
        self._cluster.head_node.kill_raylet()

    def shut_down(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="session")
def machines() -> Iterator[None]:
    """The environment of all machines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("CONDUCTOR_KEY", KEY)
        patch.setenv("PYTHONPATH", str(ROOT))
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
