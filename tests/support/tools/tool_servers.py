"""The servers of this folder as values, connections of a test's own, and whether processes are there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

from conductor.workers.tools.connections import ToolConnections
from conductor.workers.tools.tool_server import ToolServer
from tests.support.processes.child_process import child

_FOLDER = Path(__file__).parent
SAMPLE = (sys.executable, str(_FOLDER / "sample_tools.py"))


def sample(**more: Any) -> ToolServer:
    """A well-behaved server, over stdio."""
    return ToolServer(name="sample", command=SAMPLE, **more)


def hostile(way: str, **more: Any) -> ToolServer:
    """A server that does what `hostile_tools.py` has under this name."""
    command = (sys.executable, str(_FOLDER / "hostile_tools.py"), way)
    return ToolServer(name="hostile", command=command, **more)


@contextmanager
def served_sample(port: int = 0) -> Iterator[str]:
    """The URL of the well-behaved server over HTTP, which is killed when the block is left."""
    with child([*SAMPLE, "http", str(port)], stdout=PIPE) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"


@contextmanager
def opened() -> Iterator[ToolConnections]:
    """Connections that end with the block."""
    connections = ToolConnections()
    try:
        yield connections
    finally:
        connections.end()
