"""The words of a call of a tool: what it was, who allowed it, and who gave its result."""

from __future__ import annotations

from typing import Any

import pytest

from conductor.values.message_parts.tool_use import ToolRequest, ToolUse, indented
from conductor.values.message_parts.tools import ToolCall

CALL = ToolCall(id="c", name="files__read", arguments='{"path": "a.txt"}')


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ()),
        ({"allowed_by": "reads"}, ("the server marks it as reading",)),
        ({"allowed_by": "pool"}, ("the pool file never asks",)),
        ({"allowed_by": "person"}, ("allowed by a person",)),
        ({"allowed_by": "earlier"}, ("allowed before",)),
        (
            {"allowed_by": "person", "sent": '{"path":\n"b.txt"}'},
            ("allowed by a person", 'changed by a person: {"path": "b.txt"}'),
        ),
        ({"source": "person"}, ("answered by a person",)),
        ({"source": "refusal"}, ("refused by a person",)),
        ({"source": "record"}, ("recorded result, not called",)),
    ],
)
def test_who_allowed_a_call_and_gave_its_result_is_in_words(
    fields: dict[str, Any], words: tuple[str, ...]
) -> None:
    assert ToolUse(server="files", tool="read", call=CALL, result="text", **fields).origin == words


@pytest.mark.parametrize(
    ("server", "arguments", "line"),
    [
        ("files", '{"path": "a.txt"}', 'files:read {"path": "a.txt"}'),
        ("", "", "read"),
        ("files", "one\n\ttwo", "files:read one two"),
        ("files", "a" * 500, f"files:read {'a' * 79}…"),
    ],
)
def test_a_call_is_one_line_of_bounded_length(server: str, arguments: str, line: str) -> None:
    call = ToolCall(id="c", name="read", arguments=arguments)
    assert ToolRequest(server=server, tool="read", call=call).line == line


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"a":[1,"é"]}', '{\n  "a": [\n    1,\n    "é"\n  ]\n}'),
        ('{"a": ', '{"a": '),
        ("", ""),
        ("[" * 100 + "]" * 100, "[" * 100 + "]" * 100),
        ('"\\ud800"', '"\ufffd"'),
        ('{"a": "x\u202ey"}', '{\n  "a": "x\\u202ey"\n}'),
    ],
)
def test_arguments_are_indented_where_they_are_json(arguments: str, text: str) -> None:
    assert indented(arguments) == text
