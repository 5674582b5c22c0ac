"""The servers that this program has itself, as callers of several loops and threads use them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from conductor.workers.tools.connections import ToolConnections, connections
from conductor.workers.tools.tool_server import ToolServer
from tests.support.tools.tool_servers import opened

CALCULATOR = ToolServer(name="sums", built_in="calculator")
PYTHON = ToolServer(name="programs", built_in="python")


@pytest.fixture(scope="module")
def shared() -> Iterator[ToolConnections]:
    with opened() as each:
        yield each


async def test_the_calculator_describes_its_tool(shared: ToolConnections) -> None:
    [tool] = await shared.tools(CALCULATOR)
    assert (tool.server, tool.name, tool.server_version) == ("sums", "calculate", "conductor-calculator 1")
    assert (tool.reads_only, tool.idempotent, tool.destructive, tool.open_world) == (True, True, False, False)
    assert '"expression"' in str(tool.parameters)


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "is_error"),
    [
        ("calculate", {"expression": "17 * 23"}, "17 * 23 = 391\nAnswer: 391", False),
        ("calculate", {"expression": "5 km in miles"}, "miles", False),
        ("calculate", {"expression": "1 / 0"}, "divides by 0", True),
        ("calculate", {"expression": "9 ^ 9 ^ 9"}, "digits", True),
        ("calculate", {"expression": "Why?"}, "no calculation", True),
        ("calculate", {"expression": 5}, "'expression'", True),
        ("calculate", {}, "'expression'", True),
        ("run", {"expression": "1 + 1"}, "Call calculate", True),
        ("calculate", {"expression": float("nan")}, "no JSON", True),
        ("calculate", {"expression": {1}}, "no JSON", True),
        ("calculate", {"expression": "\ud800 1 + 1"}, "not a complete formula", True),
    ],
    ids=str,
)
async def test_the_calculator_computes(
    shared: ToolConnections, tool: str, arguments: dict[str, object], text: str, is_error: bool
) -> None:
    result = await shared.call(CALCULATOR, tool, arguments)
    assert text in result.text
    assert result.is_error is is_error


def test_callers_of_many_threads_and_loops_share_a_server(shared: ToolConnections) -> None:
    def ask(number: int) -> str:
        return asyncio.run(shared.call(CALCULATOR, "calculate", {"expression": f"{number} * 2"})).text

    with ThreadPoolExecutor(8) as threads:
        assert [text.rpartition(" ")[2] for text in threads.map(ask, range(40))] == [
            str(2 * number) for number in range(40)
        ]


async def test_a_server_starts_again_after_the_end() -> None:
    with opened() as each:
        await each.tools(CALCULATOR)
        each.end()
        assert len(await each.tools(CALCULATOR)) == 1


def test_a_process_has_one_set_of_connections() -> None:
    assert connections() is connections()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "text", "is_error"),
    [
        ("print(6 * 7)", "42", False),
        ("x = 1", "[nothing was printed]", False),
        ("1 / 0", "ZeroDivisionError: division by zero\n[exit code 1]", True),
        ("import socket; socket.create_connection(('127.0.0.1', 80), 5)", "Error", True),
        ("open('/etc/passwd')", "Error", True),
        ("print('x' * 90_000)", "[cut: the first 50,000 of 90,000 characters]", False),
    ],
)
async def test_python_runs_in_the_sandbox(
    shared: ToolConnections, code: str, text: str, is_error: bool
) -> None:
    result = await shared.call(PYTHON, "run", {"code": code})
    assert text in result.text
    assert result.is_error is is_error


@pytest.mark.slow
async def test_a_call_that_waits_is_over_with_its_connections(shared: ToolConnections) -> None:
    with opened() as each:
        call = asyncio.create_task(each.call(PYTHON, "run", {"code": "import time; time.sleep(100)"}))
        await asyncio.sleep(0.5)
        await asyncio.to_thread(each.end)
        with pytest.raises(Exception, match="'programs' was ended during a call"):
            await call
