"""The tools that a step may call, by patterns: `SERVER`, which is all of its tools, or `SERVER:NAME`. Pure.

A worker's card and a step name tools alike, with * for any letters in NAME; a step's can only be fewer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

MAX_PATTERNS = 128
"""The most patterns a step may have."""

_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,32}(?::[^\x00-\x1f\x7f]{1,128})?")
_GLOB = re.compile(r"[*?\[]")


def pattern_problem(patterns: Collection[str]) -> str:
    """What is wrong with a step's patterns, behind the step's name; "" if nothing is."""
    if len(patterns) > MAX_PATTERNS:
        return f"names {len(patterns)} tools; the limit is {MAX_PATTERNS}."
    wrong = next((each for each in patterns if not _PATTERN.fullmatch(each)), None)
    if wrong is None:
        return ""
    return f"names the tools {wrong[:200]!r}; write SERVER or SERVER:NAME, as the pool file does."


def server_of(pattern: str) -> str:
    """The server whose tools a pattern names."""
    return pattern.partition(":")[0]


def may_name(pattern: str, patterns: Iterable[str]) -> bool:
    """Whether the pattern may name a tool that these name as well; no server is asked which tools it has."""
    server, _, name = pattern.partition(":")
    names = [other.partition(":")[2] for other in patterns if server_of(other) == server]
    return any(not name or not other or _may_be_one(name, other) for other in names)


def unnamed(tools: Sequence[str] | None, patterns: Collection[str]) -> tuple[str, ...]:
    """Those of a step's `tools` that can name none of its worker's, which are `patterns`."""
    return tuple(each for each in tools or () if not may_name(each, patterns))


def tools_words(tools: Sequence[str] | None) -> str:
    """What a step may call, for people."""
    if tools is None:
        return "all tools of its worker"
    return ", ".join(tools) if tools else "no tool"


def _may_be_one(name: str, other: str) -> bool:
    both = bool(_GLOB.search(name) and _GLOB.search(other))
    return both or fnmatchcase(name, other) or fnmatchcase(other, name)
