"""Which tools patterns name, and the names that a model sees."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from conductor.workers.tools.tool_server import ServedTool, allowed, wire_name

TOOLS = tuple(
    ServedTool(server=server, name=name)
    for server, name in (
        ("files", "read_file"), ("files", "read_folder"), ("files", "Read_all"), ("files", "write_file"),
        ("web", "search"), ("calculator", "calculate"),
    )
)  # fmt: skip

PATTERNS = [
    ([], []),
    (["files:read_*"], ["read_file", "read_folder"]),
    (["files:?ead_file", "web:search"], ["read_file", "search"]),
    (["calculator"], ["calculate"]),
    (["calculator:*"], ["calculate"]),
    (["web", "files:write_file"], ["write_file", "search"]),
    (["files:*", "files:read_file"], ["read_file", "read_folder", "Read_all", "write_file"]),
    (["*:*_file"], ["read_file", "write_file"]),
    (["files:[Rr]ead_f*"], ["read_file", "read_folder"]),
    (["Files", "files:", "file", "search", ""], []),
]


@pytest.mark.parametrize(("patterns", "names"), PATTERNS, ids=str)
def test_patterns_name_tools_in_their_order(patterns: Sequence[str], names: Sequence[str]) -> None:
    assert [tool.name for tool in allowed(patterns, TOOLS)] == names


def test_a_usual_name_is_readable() -> None:
    assert [wire_name(tool) for tool in TOOLS[:2]] == ["files__read_file", "files__read_folder"]


ODD = [
    ("a__b", "c"), ("a", "b__c"), ("a", "_b"), ("a_", "b"), ("a__", "b"), ("a_", "_b"), ("_", "_"),
    ("_", "__"),
    ("files", "read.file"), ("files", "read_file"), ("files", "read file"), ("files", "lesen-ü"),
    ("a__b", "ü"), ("a", "b__ü"), ("files", "x" * 200), ("files", "x" * 201), ("f" * 32, "x" * 31),
    ("files", "x" * 57), ("files", "x" * 58), ("files", "\n"),
]  # fmt: skip


def test_every_name_fits_an_endpoint_and_no_two_are_the_same() -> None:
    tools = [ServedTool(server=server, name=name) for server, name in ODD]
    tools += [ServedTool(server="a", name=f"b__{wire_name(tool)}") for tool in tools]
    tools += [ServedTool(server="a", name=wire_name(tool).removeprefix("a_")) for tool in tools[:4]]
    names = {(tool.server, tool.name): wire_name(tool) for tool in tools}
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names.values())
    assert len(set(names.values())) == len(names)
