"""Arguments as models write them, in the types of a tool's schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from studio.mcp.arguments import clean_line, fitted

TEXT, NUMBER, NAMES = {"type": "string"}, {"type": "integer"}, {"type": "array", "items": {"type": "string"}}
NULL = {"type": "null"}
SCHEMA = {
    "$defs": {
        "Budget": {"type": "object", "properties": {"calls": {"anyOf": [NUMBER, NULL]}}},
        "Target": {"anyOf": [TEXT, NUMBER, {"type": "number"}, NAMES]},
        "Question": {
            "type": "object",
            "properties": {"target": {"$ref": "#/$defs/Target"}, "choices": {"anyOf": [NAMES, NULL]}},
            "required": ["target"],
        },
    },
    "properties": {
        "query": TEXT,
        "search": TEXT,
        "limit": NUMBER,
        "wide": {"type": "boolean"},
        "share": {"type": "number"},
        "workers": {"anyOf": [NAMES, NULL]},
        "budget": {"anyOf": [{"$ref": "#/$defs/Budget"}, NULL]},
        "questions": {"type": "array", "items": {"$ref": "#/$defs/Question"}},
        "workflow": {"type": "object", "additionalProperties": True},
    },
    "required": ["query"],
}


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ({"search": None, "limit": None}, {}),  # langchain-ai/langsmith-mcp-server#69
        ({"query": None}, {"query": None}),
        ({"search": "", "workers": "", "limit": "null"}, {}),  # PrefectHQ/fastmcp#3265
        ({"query": ""}, {"query": ""}),
        ({"query": 42, "search": True}, {"query": "42", "search": "true"}),  # inspector#187
        ({"query": 0.5}, {"query": "0.5"}),
        ({"query": ["a"]}, {"query": ["a"]}),
        ({"limit": "5", "share": "0.5", "wide": "true"}, {"limit": 5, "share": 0.5, "wide": True}),
        ({"limit": "all", "share": 1}, {"limit": "all", "share": 1}),
        ({"workers": "calc"}, {"workers": ["calc"]}),
        ({"workers": '["calc"]'}, {"workers": ["calc"]}),  # langflow#9359
        ({"workers": ["calc", 7]}, {"workers": ["calc", "7"]}),
        ({"budget": {"calls": "3"}}, {"budget": {"calls": 3}}),
        ({"budget": '{"calls": 3}'}, {"budget": {"calls": 3}}),
        ({"budget": {"calls": None}}, {"budget": {}}),
        ({"budget": 3}, {"budget": 3}),
        ({"questions": {"target": 5}}, {"questions": [{"target": 5}]}),
        ({"questions": '[{"target": true}]'}, {"questions": [{"target": "true"}]}),
        ({"questions": [{"target": []}]}, {"questions": [{"target": []}]}),
        (
            {"questions": [{"target": [1, 2], "choices": [1]}]},
            {"questions": [{"target": ["1", "2"], "choices": ["1"]}]},
        ),
        ({"workflow": {"a": [None, "1"]}, "reason": "x"}, {"workflow": {"a": [None, "1"]}, "reason": "x"}),
        # Python's writing, fences and JavaScript's nothing, as small models have them.
        ({"limit": "None", "workers": "none", "budget": "undefined", "search": []}, {}),
        ({"wide": "True", "budget": "{'calls': 3}"}, {"wide": True, "budget": {"calls": 3}}),
        ({"workers": "['calc', \"it's\"]"}, {"workers": ["calc", "it's"]}),
        ({"questions": '```json\n[{"target": 5}]\n```'}, {"questions": [{"target": 5}]}),
        ({"questions": ['{"target": "5"}']}, {"questions": [{"target": "5"}]}),
        ({"workflow": "{'steps': [None, True]}"}, {"workflow": {"steps": [None, True]}}),
        ({"workflow": "```\n{}\n```", "limit": " 5 "}, {"workflow": {}, "limit": 5}),
        ({"limit": "5_000", "wide": "yes"}, {"limit": "5_000", "wide": "yes"}),
        (
            {"limit": "__import__('os')", "workflow": "{" * 5_000},
            {"limit": "__import__('os')", "workflow": "{" * 5_000},
        ),
        ({"search": "None", "query": "null"}, {"search": "None", "query": "null"}),
        ({"workers": "a,b"}, {"workers": ["a,b"]}),
        ({"limit": "9" * 5_000, "workflow": "[" * 5_000}, {"limit": "9" * 5_000, "workflow": "[" * 5_000}),
    ],
)
def test_arguments_are_read_as_the_schema_has_them(arguments: dict[str, Any], read: dict[str, Any]) -> None:
    assert fitted(arguments, SCHEMA) == read


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ('{"a": "Zürich"}\n', {"a": "Zürich"}),
        ('\ufeff{"a": 1}\n', {"a": 1}),  # PowerShell
        ('{"a": "x\\ud83d"}\n', {"a": "x\ufffd"}),  # a model that was cut
        ('{"a": "\\udc00", "b": "\\ud83d\\ude00"}\n', {"a": "\ufffd", "b": "😀"}),
        ('{"a": "\\\\ud83d"}\n', {"a": "\\ud83d"}),
    ],
)
def test_a_line_is_one_that_can_be_read(line: str, read: dict[str, Any]) -> None:
    assert json.loads(clean_line(line)) == read
    assert clean_line(line).endswith("\n")


def test_a_line_that_is_no_json_stays() -> None:
    assert clean_line('{"a": "\\ud83d"\n') == '{"a": "\\ud83d"\n'
    assert clean_line("[" * 100_000 + '"\\ud83d"\n').startswith("[[")
