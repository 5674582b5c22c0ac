"""Examines the servers of tools of a pool: their commands, their starts, and who may call what.

Starts each server, and calls no tool. What goes wrong is a finding, never an error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import monotonic

from conductor.errors import PoolError, ToolError
from conductor.own_settings import command_name
from conductor.text.formatting import quantity
from conductor.workers.embedded.model_file import SHIPPED_MODEL
from conductor.workers.health.findings import Check, HealthFinding, failing, skipped, unsure, well
from conductor.workers.health.probe import Spawn
from conductor.workers.pool.fallback import chain
from conductor.workers.pool.pool import Pool
from conductor.workers.tools.accepted_commands import command_words, is_accepted
from conductor.workers.tools.connections import ToolConnections
from conductor.workers.tools.tool_server import ServedTool, ToolServer, allowed
from conductor.workers.tools.tool_worker import ToolWorker

_WORDS = 400
"""Characters of a description in a finding."""


@dataclass(frozen=True)
class ToolServerHealth:
    """What is known of a server. `seconds` is how long it took to list its tools, from its start where it was
    not running; None if it has not. `workers` are those that may call a tool, by the tool's name.
    """

    server: ToolServer
    findings: tuple[HealthFinding, ...]
    seconds: float | None = None
    tools: tuple[ServedTool, ...] = ()
    workers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """The name and version that the server reports, "" if it reports none."""
        return self.tools[0].server_version if self.tools else ""

    @property
    def failing(self) -> bool:
        return any(finding.state == "failing" for finding in self.findings)

    @property
    def complaints(self) -> tuple[HealthFinding, ...]:
        """The findings that a person should act on."""
        return tuple(finding for finding in self.findings if finding.state in ("failing", "unsure"))

    def finding(self, check: Check) -> HealthFinding | None:
        """The first finding of that check, or None if it was not made."""
        return next((finding for finding in self.findings if finding.check == check), None)


def place(server: ToolServer) -> str:
    """Where the server is: its command, its URL, or that it is built in."""
    return command_words(server) if server.command else server.url or f"built in: {server.built_in}"


def tool_marks(tool: ServedTool) -> str:
    """What the server states of a tool. One that it does not mark may act."""
    acts = "unmarked, may act" if tool.reads_only is None else "may act"
    words = ["reads" if tool.reads_only else acts, "idempotent" if tool.idempotent else ""]
    return ", ".join(filter(None, words))


async def examine_tools(server: ToolServer, pool: Pool, connections: ToolConnections) -> ToolServerHealth:
    """Start the server, where its command was accepted, and compare its tools with what the workers name."""
    findings: list[HealthFinding] = []
    try:
        if server.command:
            findings.append(_command(server))
        if findings and findings[0].state == "failing":
            return ToolServerHealth(server, (*findings, skipped("start", "its command was not accepted")))
        began = monotonic()
        tools = await connections.tools(server)
    except (ToolError, PoolError) as error:
        return ToolServerHealth(server, (*findings, failing("start", "fails", str(error), "")))
    seconds = monotonic() - began
    own = [each for each in _with_tools(pool) if server in each.servers]
    findings.append(
        well("start", "starts", f"It listed {quantity(len(tools), 'tool')} in {seconds:.1f} seconds.")
    )
    wrong = tuple(_wrong(server, own, tools))
    findings.extend(wrong or (well("tools", "named", "Each tool that a worker names is there."),))
    callers = {
        tool.name: tuple(each.card.name for each in own if tool in _callable(each, tools)) for tool in tools
    }
    return ToolServerHealth(server, tuple(findings), seconds, tools, callers)


def _command(server: ToolServer) -> HealthFinding:
    words = command_words(server)
    if is_accepted(server):
        return well("command", "accepted", f"{words} was accepted on this machine.")
    return failing(
        "command",
        "not accepted",
        f"{words} was not accepted on this machine, so it is not started",
        f"look at it, and accept it by `{command_name()} doctor --accept-tools`",
    )


def _with_tools(pool: Pool) -> Collection[ToolWorker]:
    own = (each for worker in pool.workers for each in chain(worker))
    return {each.card.name: each for each in own if isinstance(each, ToolWorker)}.values()


def _callable(worker: ToolWorker, tools: Sequence[ServedTool]) -> tuple[ServedTool, ...]:
    """Those that the worker may call, where a person can be asked."""
    return allowed(worker.patterns, [tool for tool in tools if worker.permissions.offers(tool)])


def _wrong(
    server: ToolServer, workers: Sequence[ToolWorker], tools: Sequence[ServedTool]
) -> Iterator[HealthFinding]:
    """What is wrong with what the workers name of this server."""
    if not workers:
        yield unsure("tools", "not used", "No worker names its tools", "name them in the tools of a worker")
    for worker in workers:
        for pattern in worker.patterns:
            if pattern.partition(":")[0] != server.name or allowed([pattern], _callable(worker, tools)):
                continue
            message = f"{worker.card.name} names {pattern!r}, and this server has no such tool"
            yield failing("tools", "no such tool", message, "correct tools in the worker's table")
    for tool in tools:
        if tool.changed_from is not None:
            message = (
                f"{tool.name} describes itself otherwise than when it was allowed, so no step gets it. It "
                f"was: {_short(tool.changed_from)} It is: {_short(tool.description)}"
            )
            yield failing(
                "tools", "changed", message, f"accept it by `{command_name()} doctor --accept-tools`"
            )
    for worker in workers:
        if worker.card.model == SHIPPED_MODEL:
            message = (
                f"{worker.card.name} calls none: the chat template of {SHIPPED_MODEL} has no place for tools"
            )
            yield unsure("tools", "not called", message, "name them in the tools of another model")


def _short(description: str) -> str:
    return repr(" ".join(description[:_WORDS].split()) + "…" * (len(description) > _WORDS))


class ToolProbe:
    """Examinations in a background loop; what is known of a server ends where its table, or what the workers
    name of it, changes.
    """

    def __init__(self, spawn: Spawn, connections: ToolConnections) -> None:
        self._spawn, self._connections = spawn, connections
        self._health: dict[object, ToolServerHealth] = {}
        self._going: dict[object, Future[None]] = {}

    def begin(self, server: ToolServer, pool: Pool) -> None:
        """Examine it, unless that is under way. Returns at once."""
        if not self.examines(server, pool):
            mark = _mark(server, pool)
            self._health.pop(mark, None)
            self._going[mark] = self._spawn(self._examine(server, pool))

    def examines(self, server: ToolServer, pool: Pool) -> bool:
        going = self._going.get(_mark(server, pool))
        return going is not None and not going.done()

    @property
    def busy(self) -> bool:
        return any(not going.done() for going in tuple(self._going.values()))

    def health(self, server: ToolServer, pool: Pool) -> ToolServerHealth | None:
        """What is known of it, or None."""
        return self._health.get(_mark(server, pool))

    async def _examine(self, server: ToolServer, pool: Pool) -> None:
        self._health[_mark(server, pool)] = await examine_tools(server, pool, self._connections)


def _mark(server: ToolServer, pool: Pool) -> object:
    own = (each for each in _with_tools(pool) if server in each.servers)
    return server, tuple((each.card.name, each.patterns, each.permissions) for each in own)
