"""Where the tables of a TOML text begin and end, with the comments that belong to them. Pure.

Knows TOML's brackets, strings and comments, of a text that is known to be valid; knows no pool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPAQUE = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'" r"|#[^\n]*",
    re.DOTALL,
)
_LINE_END = re.compile(r"(?<=\n)")
_HEADER = re.compile(r"\s*\[\[?\s*(?:\"([^\"]*)\"|'([^']*)'|([\w-]+))\s*(\.)?")


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level table of that name with its inner tables, as offsets into the text.

    The comment right above it begins at `start`, its header at `header`. Its last value ends at `end`, and
    the comment right below that at `tail`.
    """

    name: str
    start: int
    header: int
    end: int
    tail: int


def blocks(text: str) -> tuple[Block, ...]:
    """The blocks in order. A comment that begins the text is the text's own, not the first table's."""
    lines = _LINE_END.split(text)
    offsets = _offsets(lines)
    headers = [(at, name) for at, name, inner in _headers(text, lines) if not inner]
    found = []
    for number, (at, name) in enumerate(headers):
        following = headers[number + 1][0] if number + 1 < len(headers) else len(lines)
        end = following
        while end > at + 1 and _is_idle(lines[end - 1]):
            end -= 1
        first, tail = _comment_above(lines, at), _comment_below(lines, end)
        found.append(Block(name, offsets[first], offsets[at], offsets[end], offsets[tail]))
    return tuple(found)


def _headers(text: str, lines: list[str]) -> Iterator[tuple[int, str, bool]]:
    """Each header's line (from 0), the first part of its name, and whether it is of an inner table."""
    bare = _OPAQUE.sub(lambda found: re.sub(r"[^\r\n]", "_", found[0]), text)
    depth = 0
    for at, line in enumerate(_LINE_END.split(bare)):
        header = _HEADER.match(lines[at]) if depth == 0 and line.lstrip().startswith("[") else None
        if header is not None:
            yield at, header[1] or header[2] or header[3] or "", header[4] is not None
        depth += sum(map(line.count, "[{")) - sum(map(line.count, "]}"))


def _offsets(lines: list[str]) -> list[int]:
    """Where each line begins, and where the text ends."""
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return offsets


def _comment_above(lines: list[str], at: int) -> int:
    """The first line of the comment right above a header, else the header's own."""
    first = at
    while first and _is_comment(lines[first - 1]):
        first -= 1
    return at if first == 0 else first


def _comment_below(lines: list[str], end: int) -> int:
    """The line after the comment right below a table, where it is not the next table's; else `end`."""
    after = end
    while after < len(lines) and _is_comment(lines[after]):
        after += 1
    return after if after == len(lines) or not lines[after].strip() else end


def _is_idle(line: str) -> bool:
    return not line.strip() or _is_comment(line)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")
