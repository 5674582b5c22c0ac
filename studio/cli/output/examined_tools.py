"""Prints for `doctor` the servers of tools: tables for a terminal, values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conductor.workers.health.findings import Check
from conductor.workers.health.tool_health import ToolServerHealth, place, tool_marks
from conductor.workers.tools.accepted_commands import is_accepted
from conductor.workers.tools.tool_server import ToolServer
from studio.cli.output.terminal import UNKNOWN, one_line, print_lines, table

_HEADINGS = ("tools of", "command", "starts", "within", "server", "tools", "at")


def planned_starts(servers: Sequence[ToolServer]) -> str:
    """The servers that would be started, "" without any. Raises `PoolError`."""
    rows = [
        (
            server.name,
            "yes" if is_accepted(server) else "no: its command was not accepted",
            one_line(place(server)),
        )
        for server in servers
    ]
    return table(("tools of", "started", "at"), rows) if rows else ""


def show_tools(examined: Sequence[ToolServerHealth]) -> None:
    """Print a table of the servers, one of their tools, and what a person should do."""
    if not examined:
        return
    lines = table(_HEADINGS, list(map(_row, examined))).split("\n")
    print_lines("", *lines, red={at for at, health in enumerate(examined, 2) if health.failing})
    tools = [
        (
            one_line(f"{tool.server}:{tool.name}"),
            tool_marks(tool),
            ", ".join(map(one_line, health.workers[tool.name])) or UNKNOWN,
        )
        for health in examined
        for tool in health.tools
    ]
    if tools:
        print_lines("", table(("tool", "marks", "workers that may call it"), tools))
    complaints = [
        one_line(f"{health.server.name}: {finding.sentence}")
        for health in examined
        for finding in health.complaints
    ]
    if complaints:
        print_lines("", *complaints)


def tool_server_shape(health: ToolServerHealth) -> dict[str, Any]:
    """The server, its findings and its tools as JSON values; a mark that the server does not make is null."""
    return {
        "name": health.server.name,
        "place": place(health.server),
        "ok": not health.failing,
        "seconds": health.seconds,
        "version": health.version,
        "findings": [finding.model_dump() for finding in health.findings],
        "tools": [
            {
                **tool.model_dump(include={"name", "reads_only", "idempotent", "destructive", "open_world"}),
                "workers": list(health.workers[tool.name]),
            }
            for tool in health.tools
        ],
    }


def _row(health: ToolServerHealth) -> tuple[str, ...]:
    def word(check: Check) -> str:
        return UNKNOWN if (finding := health.finding(check)) is None else finding.word

    seconds = UNKNOWN if health.seconds is None else f"{health.seconds:.1f} s"
    version = one_line(health.version) or UNKNOWN
    return (
        health.server.name,
        word("command"),
        word("start"),
        seconds,
        version,
        word("tools"),
        one_line(place(health.server)),
    )
