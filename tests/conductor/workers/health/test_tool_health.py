"""What an examination of a server of tools finds: whether it starts, what it serves, who may call what."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from conductor.errors import ToolError
from conductor.workers.embedded.embedded_worker import EmbeddedWorker
from conductor.workers.health.tool_health import ToolProbe, examine_tools, tool_marks
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.tools.accepted_commands import ALLOWED
from conductor.workers.tools.tool_server import ServedTool, ToolServer
from conductor.workers.tools.tool_worker import ToolWorker
from tests.support.runs.tool_cases import (
    FILES,
    LOOK,
    READ,
    WRITE,
    Caller,
    ScriptedTools,
    contents,
    with_tools,
)
from tests.support.runs.waiting import until_async

PLAIN = ServedTool(server="files", name="plain")


@dataclass
class Broken(ScriptedTools):
    """A server that does not start."""

    async def tools(self, server: ToolServer) -> tuple[ServedTool, ...]:
        raise ToolError(f"The tool server {server.name!r} does not start. Try it by hand.")


def naming(*patterns: str) -> Pool:
    """A pool of one worker that names these tools, beside one without tools."""
    own = with_tools(Caller(()), patterns=patterns)
    workers = (own,) if patterns else ()
    return Pool(workers=(*workers, SimulatedWorker(name="beta")), tool_servers=(FILES,))


@pytest.fixture
def _accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "all")


@pytest.mark.usefixtures("_accepted")
@pytest.mark.parametrize(
    ("pool", "words", "callers", "sentence"),
    [
        (
            naming("files"),
            ["named"],
            ["read", "look", "write", "plain"],
            "Each tool that a worker names is there.",
        ),
        (naming("files:r*", "files:look"), ["named"], ["read", "look"], ""),
        (
            naming("files:r*", "files:find"),
            ["no such tool"],
            ["read"],
            "alpha names 'files:find', and this server has no such tool; correct tools in the worker's",
        ),
        (naming(), ["not used"], [], "No worker names its tools; name them in the tools of a worker."),
    ],
    ids=["all", "patterns", "a name of none", "not used"],
)  # fmt: skip
async def test_what_the_workers_name_is_compared_with_what_the_server_has(
    pool: Pool, words: Sequence[str], callers: Sequence[str], sentence: str
) -> None:
    tools = ScriptedTools(contents, offered=(READ, LOOK, WRITE, PLAIN))
    health = await examine_tools(FILES, pool, tools)
    assert [each.word for each in health.findings] == ["accepted", "starts", *words]
    assert [name for name, workers in health.workers.items() if workers == ("alpha",)] == callers
    assert len(health.tools) == 4
    assert not tools.log
    assert sentence in health.findings[2].sentence
    assert health.failing is (words[0] == "no such tool")
    assert bool(health.complaints) is (words != ["named"])


async def test_a_server_whose_command_was_not_accepted_is_not_started() -> None:
    health = await examine_tools(FILES, naming("files"), Broken(contents))
    assert [each.word for each in health.findings] == ["not accepted", "-"]
    assert "doctor --accept-tools" in health.complaints[0].advice
    assert (health.seconds, health.version, health.failing) == (None, "", True)


@pytest.mark.usefixtures("_accepted")
async def test_why_a_server_does_not_start_is_found() -> None:
    health = await examine_tools(FILES, naming("files"), Broken(contents))
    assert [each.word for each in health.findings] == ["accepted", "fails"]
    assert health.complaints[0].sentence == "The tool server 'files' does not start. Try it by hand."


@pytest.mark.usefixtures("_accepted")
async def test_a_worker_that_is_a_fallback_too_is_named_once() -> None:
    own = with_tools(Caller(()))
    pool = Pool(workers=(FallbackWorker(SimulatedWorker(name="beta"), own), own), tool_servers=(FILES,))
    assert (await examine_tools(FILES, pool, ScriptedTools(contents))).workers["read"] == ("alpha",)


@pytest.mark.usefixtures("_accepted")
async def test_the_small_model_that_comes_with_the_program_calls_no_tool() -> None:
    own = ToolWorker(EmbeddedWorker(name="smol"), (FILES,), ("files",))
    health = await examine_tools(FILES, Pool(workers=(own,), tool_servers=(FILES,)), ScriptedTools(contents))
    assert [(each.word, each.state) for each in health.complaints] == [("not called", "unsure")]
    assert not health.failing


def test_a_tool_without_a_mark_may_act() -> None:
    assert [tool_marks(tool) for tool in (READ, LOOK, WRITE, PLAIN)] == [
        "reads, idempotent",
        "reads",
        "may act",
        "unmarked, may act",
    ]


@pytest.mark.usefixtures("_accepted")
async def test_what_is_known_ends_where_a_worker_names_other_tools() -> None:
    loop = asyncio.get_running_loop()
    probe = ToolProbe(
        lambda examination: asyncio.run_coroutine_threadsafe(examination, loop), ScriptedTools(contents)
    )
    pool = naming("files")
    assert probe.health(FILES, pool) is None
    probe.begin(FILES, pool)
    assert probe.examines(FILES, pool)
    await until_async(lambda: not probe.busy)
    assert probe.health(FILES, pool) is not None
    assert probe.health(FILES, naming("files:read")) is None
