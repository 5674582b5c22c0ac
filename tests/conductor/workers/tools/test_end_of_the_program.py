"""No server outlives the program that started it, however that ends."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from subprocess import PIPE

import pytest

from tests.support.processes.child_process import child, lives
from tests.support.processes.marked_processes import processes_with
from tests.support.runs.waiting import until
from tests.support.tools.tool_servers import SAMPLE, hostile

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

PROGRAM = """
import asyncio, sys
from conductor.workers.tools.connections import connections
from conductor.workers.tools.tool_server import ToolServer

server = ToolServer(name="one", command=tuple(sys.argv[1:]))

async def main():
    await connections().tools(server)
    print("ready", flush=True)
    await connections().call(server, "wait", {"seconds": 50})

asyncio.run(main())
"""
STUBBORN = hostile("stubborn").command


@pytest.mark.parametrize(
    ("command", "number"),
    [(SAMPLE, signal.SIGINT), (SAMPLE, signal.SIGTERM), (SAMPLE, signal.SIGKILL), (STUBBORN, signal.SIGINT)],
    ids=["SIGINT", "SIGTERM", "SIGKILL", "SIGINT, and it heeds no signal"],
)
def test_a_server_ends_with_its_program(command: Sequence[str], number: signal.Signals) -> None:
    mark = f"mark-of-{number.name}"
    with child([sys.executable, "-c", PROGRAM, *command, mark], stdout=PIPE, stderr=PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        [server] = set(processes_with(mark)) - {process.pid}
        process.send_signal(number)
        process.wait(60)
        until(lambda: not lives(server))
