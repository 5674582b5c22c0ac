"""Selects the tools that a worker may use, by patterns, and names them for a model. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from hashlib import sha256

from conductor.workers.tools.tool_server import ServedTool

_LENGTH = 64
_ALLOWED = re.compile(r"[a-zA-Z0-9_-]+")


def allowed(patterns: Sequence[str], tools: Sequence[ServedTool]) -> tuple[ServedTool, ...]:
    """The tools that a pattern names: `server`, which is all of its tools, or `server:tool`. Both may have *,
    ? and [...], and distinguish capital letters.
    """
    pairs = [(server, tool if colon else "*") for server, colon, tool in (p.partition(":") for p in patterns)]
    return tuple(
        each
        for each in tools
        if any(fnmatchcase(each.server, server) and fnmatchcase(each.name, tool) for server, tool in pairs)
    )


def wire_name(tool: ServedTool) -> str:
    """`server__tool` as every endpoint takes it; no two tools of one offer have the same.

    Where that would be too long, has other characters or could be of another server, it ends in a hash and
    has no two underscores in a row, as only the first form has.
    """
    name = f"{tool.server}__{tool.name}"
    is_plain = len(name) <= _LENGTH and _ALLOWED.fullmatch(name)
    if is_plain and "__" not in f"{tool.server}_":
        return name
    mark = sha256(f"{tool.server}:{tool.name}".encode()).hexdigest()[:12]
    clean = re.sub(r"[^a-zA-Z0-9-]+", "_", f"{tool.server}_{tool.name}")
    return f"{clean[: _LENGTH - len(mark) - 1]}_{mark}".replace("__", "_")
