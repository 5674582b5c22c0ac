"""A Ray cluster on this machine: a head, and the nodes that a test adds to it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

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
COMMAND = {"PYTHONPATH": str(Path(__file__).parents[3])}
"""What the environment of a command has beside that of the machines, where this program is not installed."""


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
