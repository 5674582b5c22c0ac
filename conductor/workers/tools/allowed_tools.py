"""Stores each tool as this machine first listed it: a person allowed that one, and none that describes itself
otherwise since then.

A description is text that a model follows, and a server may send another one at any time. Knows a file of
this user; knows neither connections nor workers.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from conductor.errors import PoolError, ToolError
from conductor.files.project_folder import own_pool_file
from conductor.workers.keys.own_file import add_own_line, own_text
from conductor.workers.tools.tool_server import ServedTool, ToolServer

_log = logging.getLogger(__name__)

_DECIDING = {"description", "parameters", "reads_only", "idempotent", "destructive", "open_world"}

_MOST = 500
"""Characters of a description that are stored, so that a line is written at once."""

_lock = threading.Lock()
_memory: dict[tuple[str, str], _Allowed] = {}
"""What was allowed in this process, also where the file cannot be written."""


class _Allowed(NamedTuple):
    digest: str
    description: str


def tools_file() -> Path:
    """A line of JSON for each tool, of its server's hash, its name, a digest and its description; the last
    one counts. In this user's own configuration folder.
    """
    return own_pool_file().with_name("tools-allowed.jsonl")


def with_changes(server: ToolServer, tools: Sequence[ServedTool]) -> tuple[ServedTool, ...]:
    """The tools, each with the beginning of what it was if it describes itself otherwise than when it was
    allowed; one that is listed for the first time is allowed as it is. Raises `ToolError` where what was
    allowed cannot be read.
    """
    if server.built_in is not None or not server.pinned:
        return tuple(tools)
    with _lock:
        mark, records = _mark(server), _records()
        fresh = [tool for tool in tools if (mark, tool.name) not in records]
        _add(mark, fresh)
        return tuple(_compared(tool, records.get((mark, tool.name))) for tool in tools)


def allow(server: ToolServer, tools: Sequence[ServedTool]) -> None:
    """Let these tools be called as they describe themselves now."""
    with _lock:
        _add(_mark(server), [tool for tool in tools if tool.changed_from is not None])


def _compared(tool: ServedTool, allowed: _Allowed | None) -> ServedTool:
    if allowed is None or allowed.digest == _digest(tool):
        return tool
    return tool.model_copy(update={"changed_from": allowed.description})


def _records() -> dict[tuple[str, str], _Allowed]:
    try:
        lines = own_text(tools_file(), kind="JSON lines in UTF-8").splitlines()
    except PoolError as error:
        raise ToolError(f"What tools were when they were allowed is not known: {error}") from error
    records: dict[tuple[str, str], _Allowed] = {}
    for line in lines:
        try:
            mark, name, digest, description = json.loads(line)
            records[mark, name] = _Allowed(digest, description)
        except (TypeError, ValueError):
            continue
    return records | _memory


def _add(mark: str, tools: Sequence[ServedTool]) -> None:
    for tool in tools:
        own = _Allowed(_digest(tool), tool.description[:_MOST])
        _memory[mark, tool.name] = own
        try:
            add_own_line(tools_file(), json.dumps([mark, tool.name, *own]))
        except PoolError as error:
            _log.warning("a tool is allowed in this process only: %s", error)


def _mark(server: ToolServer) -> str:
    deciding = [list(server.command), server.cwd, server.url, server.pool]
    return sha256(json.dumps(deciding).encode("utf-8", "surrogatepass")).hexdigest()


def _digest(tool: ServedTool) -> str:
    return sha256(tool.model_dump_json(include=_DECIDING).encode("utf-8", "surrogatepass")).hexdigest()
