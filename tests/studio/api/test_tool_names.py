"""The functions that stand for a client's tools: unique, short, and read back to their tools."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.api.tool_names import ClientTool, ToolNames, arguments_of, input_of

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def inside(namespace: str, *names: str) -> dict[str, Any]:
    return {"type": "namespace", "name": namespace, "tools": [{"type": "function", "name": n} for n in names]}


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name}


@pytest.mark.parametrize(
    ("tools", "functions"),
    [
        ([function("read"), inside("fs", "read")], {"read", "fs__read"}),
        ([inside("mcp__fs__", "read")], {"mcp__fs__read"}),
        ([inside("a", "read"), inside("b", "read")], {"a__read", "b__read"}),
        ([inside("web.search", "find")], {"web_search__find"}),
        ([{"type": "custom", "name": "patch"}], {"patch"}),
        ([{"type": "custom", "custom": {"name": "patch"}}], {"patch"}),
        ([{"type": "function", "function": {"name": "read"}}], {"read"}),
        ([{"type": "web_search"}, inside("empty")], set()),
    ],
)
def test_a_function_reads_like_its_tool(tools: list[Any], functions: set[str]) -> None:
    names = ToolNames.of(tools)
    assert {name for name in functions if names.tool(name).named} == functions
    assert names.offered is bool(functions)
    for name in functions:
        tool = names.tool(name)
        assert names.function(tool.name, tool.namespace) == name


SHORT = st.text("ab_", min_size=1, max_size=4)
LONG = st.text("ab_-", min_size=60, max_size=64)
NAMESPACES = st.none() | st.text("ab_.é", min_size=1, max_size=3) | st.text("ab", min_size=50, max_size=70)


@given(st.lists(st.builds(ClientTool, SHORT | LONG, NAMESPACES, st.booleans()), max_size=12))
def test_each_tool_has_a_function_of_its_own(tools: list[ClientTool]) -> None:
    own = list({(tool.namespace, tool.name): tool for tool in reversed(tools)}.values())
    names, again = ToolNames(tools), ToolNames(tools)
    functions = [names.function(tool.name, tool.namespace) for tool in own]
    assert len(set(functions)) == len(functions)
    assert all(NAME.fullmatch(each) for each in functions)
    assert [(names.tool(each).namespace, names.tool(each).name) for each in functions] == [
        (tool.namespace, tool.name) for tool in own
    ]
    assert functions == [again.function(tool.name, tool.namespace) for tool in own], "in every process"


def test_a_name_in_one_namespace_needs_no_namespace() -> None:
    names = ToolNames.of([inside("a", "read", "list"), inside("b", "read")])
    assert names.function("list") == "a__list"
    assert names.function("read") == "read", "it is in two"
    assert names.function("read", "c") == "c__read", "of an earlier request"
    assert names.tool("made_up") == ClientTool("made_up")


@pytest.mark.parametrize(
    "text", ["", "*** Begin Patch\n+é \\n\"'", "{}", '{"input": "x"}', "\u2028 \U0001f600"]
)
def test_an_input_is_the_same_behind_its_arguments(text: str) -> None:
    assert input_of(arguments_of(text)) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("*** Begin Patch", "*** Begin Patch"),
        ('{"input": "cut of', "cut of"),
        ('{"input": 1}', '{"input": 1}'),
        ('{"patch": "x"}', '{"patch": "x"}'),
        ('["x"]', '["x"]'),
        ("", ""),
        ("{" * 2_000, "{" * 2_000),
    ],
)
def test_what_a_worker_writes_in_its_own_way_is_the_input(arguments: str, text: str) -> None:
    assert input_of(arguments) == text
