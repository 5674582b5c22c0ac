"""The lines of a TOML text's top-level tables, with the comments that belong to them. Pure.

The text must be valid TOML; the parser decides whether a line begins a table. Knows no pool.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple


class Table(NamedTuple):
    """A top-level table with its inner tables, as positions in the lines of the text, from 0.

    The comment right above it begins at `first`, its header is at `header`. Its last value ends before `end`,
    the comment right below that before `tail`, and the next table's header is at `following`.
    """

    name: str
    first: int
    header: int
    end: int
    tail: int
    following: int


def lines_of(text: str) -> list[str]:
    """The lines with their ends."""
    return re.split(r"(?<=\n)", text)


def tables_in(lines: Sequence[str]) -> list[Table]:
    """The tables in order. A comment that begins the text belongs to the text, not to the first table."""
    headers = [(at, name) for at, name, inner in _headers(lines) if not inner]
    ends = [*(at for at, _ in headers[1:]), len(lines)]
    found = []
    for (header, name), following in zip(headers, ends, strict=False):
        first = header
        while first and _is_comment(lines[first - 1]):
            first -= 1
        end = following
        while end > header + 1 and (_is_comment(lines[end - 1]) or not lines[end - 1].strip()):
            end -= 1
        tail = end
        while tail < len(lines) and _is_comment(lines[tail]):
            tail += 1
        if tail < len(lines) and lines[tail].strip():
            tail = end  # this comment is the next table's
        found.append(Table(name, first or header, header, end, tail, following))
    return found


def ends_before(lines: Sequence[str], start: int, at: int) -> bool:
    """Whether a statement ends before line `at`; false inside a text or a list of several lines.

    `start` is an earlier line that begins a statement.
    """
    return _parsed(lines[start:at]) is not None


def _headers(lines: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """The line of each header, the first part of its name, and whether it is of an inner table."""
    start = 0
    for at, line in enumerate(lines):
        own = _parsed([line]) if line.lstrip().startswith("[") and ends_before(lines, start, at) else None
        for name, table in (own or {}).items():
            start = at
            yield at, name, table not in ({}, [{}])


def _parsed(lines: Sequence[str]) -> dict[str, Any] | None:
    """The values in these lines; None where the lines are not valid TOML without the others."""
    try:
        return tomllib.loads("".join(lines))
    except (ValueError, RecursionError):
        return None


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")
