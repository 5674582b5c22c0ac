"""Servers that commands start: what they get, what they return, and how one call's end concerns no other."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.errors import ToolError
from conductor.workers.tools.connections import ToolConnections
from conductor.workers.tools.tool_server import ToolServer
from tests.support.processes.child_process import lives
from tests.support.runs.waiting import until, until_async
from tests.support.tools.tool_servers import hostile, opened, sample

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


@pytest.fixture(scope="module")
def shared() -> Iterator[ToolConnections]:
    with opened() as each:
        yield each


async def test_a_tool_is_described_as_its_server_does(shared: ToolConnections) -> None:
    tools = {tool.name: tool for tool in await shared.tools(sample())}
    say, wait = tools["say"], tools["wait"]
    assert (say.server, say.description, say.server_version) == ("sample", "Answers the words.", "sample 1.2")
    assert (say.reads_only, say.idempotent, say.destructive, say.open_world) == (True, None, None, False)
    assert wait.reads_only is None
    assert json.loads(say.parameters or "")["required"] == ["text"]


async def test_what_a_server_states_does_not_count_where_it_is_not_trusted(shared: ToolConnections) -> None:
    [say, *_] = await shared.tools(sample(trust=False))
    assert (say.name, say.reads_only, say.open_world, say.is_repeatable) == ("say", None, None, False)


async def test_calls_share_one_process(shared: ToolConnections) -> None:
    results = await asyncio.gather(*(shared.call(sample(), "process", {}) for _ in range(10)))
    assert len({result.text for result in results}) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "is_error"),
    [
        ("say", {"text": "ünï 🎉"}, "ünï 🎉", False),
        ("say", {"text": "half \ud800 a letter"}, "half \ufffd a letter", False),
        ("say", {"text": "x" * 300_000}, "[cut: the first 50,000 of 300,000 characters]", False),
        ("say", {"text": 5}, "valid string", True),
        ("say", {}, "Field required", True),
        ("no such tool", {}, "Unknown tool: no such tool", True),
        ("numbers", {}, '{"sum": 3}', False),
        (
            "pictures",
            {},
            "first\n[image: image/png, 3.0 kB]\n[audio: audio/wav, 3.0 kB]\n"
            "[resource: file:///a.txt, 11 bytes]\n[resource: file:///b, 3.0 kB]\nlast",
            False,
        ),
    ],
    ids=lambda each: str(each)[:40],
)  # fmt: skip
async def test_a_result_is_text(
    shared: ToolConnections, tool: str, arguments: dict[str, object], text: str, is_error: bool
) -> None:
    result = await shared.call(sample(), tool, arguments)
    assert text in result.text
    assert result.is_error is is_error


async def test_a_process_gets_the_variables_that_are_named(
    shared: ToolConnections, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("NAMED", "SOME_API_KEY", "CONDUCTOR_DATABASE_URL"):
        monkeypatch.setenv(name, f"value of {name}")
    server = sample(env=("NAMED", "NOT_SET"), cwd=str(tmp_path))
    variables = json.loads((await shared.call(server, "variables", {})).text)
    assert variables["NAMED"] == "value of NAMED"
    assert variables["HOME"] == os.environ["HOME"]
    assert set(variables) <= {"NAMED", *"PATH HOME USER LOGNAME SHELL TMPDIR LANG LC_ALL LC_CTYPE".split()}


async def test_a_key_that_a_server_repeats_is_masked(
    shared: ToolConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "tok-123456789")
    monkeypatch.setenv("SOME_API_KEY", "key-123456789")
    server = sample(env=("SOME_TOKEN",))
    text = (await shared.call(server, "variables", {})).text
    assert "tok-123456789" not in text
    assert '"SOME_TOKEN": "***"' in text
    assert (await shared.call(server, "say", {"text": "key-123456789"})).text == "***"


async def test_a_server_that_died_is_started_by_the_next_call(shared: ToolConnections) -> None:
    server = sample(seconds=50)
    first = (await shared.call(server, "process", {})).text
    waiting = asyncio.create_task(shared.call(server, "wait", {"seconds": 40}))
    with pytest.raises(ToolError, match="exit code 3; it wrote last: no memory is left"):
        await shared.call(server, "die", {"words": "no memory is left"})
    with pytest.raises(ToolError, match="no answer to a call of 'wait'"):
        await waiting
    second = (await shared.call(server, "process", {})).text
    os.kill(int(second), signal.SIGKILL)
    await until_async(lambda: not lives(int(second)))
    await asyncio.sleep(0.2)
    third = (await shared.call(server, "process", {})).text
    assert len({first, second, third}) == 3


async def test_a_call_that_hangs_costs_itself_alone(shared: ToolConnections) -> None:
    server = sample(seconds=1)
    process = (await shared.call(server, "process", {})).text
    hanging = asyncio.create_task(shared.call(server, "wait", {"seconds": 100}))
    for _ in range(5):
        assert (await shared.call(server, "say", {"text": "meanwhile"})).text == "meanwhile"
    assert not hanging.done()
    with pytest.raises(ToolError, match="no answer to a call of 'wait' within 1 seconds"):
        await hanging
    assert (await shared.call(server, "process", {})).text == process


async def test_a_caller_that_is_cancelled_cancels_its_call_and_no_other(shared: ToolConnections) -> None:
    server = hostile("waits")
    await shared.tools(server)
    calls = [asyncio.create_task(shared.call(server, "do", {})) for _ in range(2)]
    await asyncio.sleep(0.3)
    calls[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await calls[0]
    log = json.loads((await shared.call(server, "other", {})).text)
    cancelled = [each["params"] for each in log if each["method"] == "notifications/cancelled"]
    assert [each["reason"] for each in cancelled] == ["caller cancelled"]
    assert not calls[1].done()
    calls[1].cancel()


async def test_a_changed_list_is_read_again(shared: ToolConnections) -> None:
    server = sample(seconds=30)
    before = await shared.tools(server)
    await shared.call(server, "add_tool", {})
    after = await shared.tools(server)
    assert {tool.name for tool in after} - {tool.name for tool in before} == {"added"}


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("no-such-command-here",), "No such file or directory: 'no-such-command-here'"),
        (("sh", "-c", "echo no licence >&2; exit 7"), "exit code 7; it wrote last: no licence"),
        (("true",), "exit code 0"),
        (("echo", "hello"), "exit code 0"),
        (("a\0b",), "ValueError"),
    ],
)
async def test_a_server_that_does_not_start_is_named_with_the_reason(
    shared: ToolConnections, command: tuple[str, ...], reason: str
) -> None:
    server = ToolServer.model_construct(name="broken", command=command)
    for _ in range(2):
        with pytest.raises(ToolError, match="The tool server 'broken' does not start") as error:
            await shared.tools(server)
        assert reason in str(error.value)


def test_the_end_leaves_no_process() -> None:
    with opened() as each:
        processes = [int(asyncio.run(each.call(sample(seconds=s), "process", {})).text) for s in (10, 20)]
        assert all(map(lives, processes))
    until(lambda: not any(map(lives, processes)))
