"""What Ray Serve adds under load: `python benchmarks/api_on_ray.py --database URL`, where Ray is installed.

As `api_load.py`, but that the API is deployed on a local cluster of one node: its processes are Serve's proxy
and so many replicas; one replica is killed at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.api_load import (
    POOL,
    ROOT,
    TOKENS,
    TOKENS_PER_SECOND,
    Contenders,
    Effort,
    Served,
    as_text,
    measured,
    serving,
)
from benchmarks.upstream import Pace, upstream
from storage import SessionStore

PROXY, REPLICA = b"ray::ProxyActor", b"ray::ServeReplica:conductor"


@dataclass(frozen=True)
class Deployed(Served):
    """The API on Ray Serve, on this machine."""

    @property
    def processes(self) -> Sequence[int]:
        """Serve's proxy, then the replicas."""
        return [*_called(PROXY), *_called(REPLICA)]


def _called(beginning: bytes) -> list[int]:
    """The processes of this machine whose command line begins so."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(beginning):
                pids.append(int(folder.name))
        except OSError:
            continue  # it has ended
    return sorted(pids)


@contextmanager
def contenders(database: str, *, replicas: int) -> Iterator[Contenders]:
    """Starts the endpoint, a cluster, and the API there, with all of its replicas."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - an extra

    os.environ["PYTHONPATH"] = str(ROOT)
    pace = Pace(latency=1 / TOKENS_PER_SECOND, tokens=TOKENS, tokens_per_second=TOKENS_PER_SECOND)
    with SessionStore.open(database) as store:
        _, token = store.tokens.create("load")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder, upstream(pace) as straight:
        pool = Path(folder) / "pool.toml"
        pool.write_text(POOL.format(url=straight), encoding="utf-8")
        cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": replicas, "include_dashboard": False}
        )
        options = ("--replicas", str(replicas), "--pool", str(pool), "--database", database, "--port", port)
        try:
            with serving("serve", "--ray", cluster.address, *options) as served:
                while len(_called(REPLICA)) < replicas:
                    time.sleep(0.5)
                yield Contenders(straight, Deployed(served.url, served.pid, token))
        finally:
            cluster.shutdown()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where a request failed."""
    parser = argparse.ArgumentParser(description="Measure what Ray Serve adds under load.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--size", type=int, default=Effort.size, help="how many are asked at once")
    parser.add_argument("--replicas", type=int, default=1, help="how many processes of the API answer")
    parser.add_argument("--database", required=True, help="an empty PostgreSQL database")
    options = parser.parse_args(arguments)
    with contenders(options.database, replicas=options.replicas) as served:
        report = asyncio.run(measured(served, Effort(size=options.size)))
    print(json.dumps(asdict(report), indent=2) if options.json else as_text(report))
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main())
