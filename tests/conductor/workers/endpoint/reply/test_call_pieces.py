"""Calls of tools are read as they were made, in every form that servers stream them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conductor.workers.endpoint.reply.call_pieces import CallPieces
from conductor.workers.keys.mask import NO_KEYS

A, B = '{"a": 1}', '{"b": 2}'
Pieces = list[Any]


def _fn(
    index: object = None, id: str | None = None, name: str | None = None, arguments: object = None
) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": id, "type": "function", "function": function}


FORMS: list[tuple[str, Pieces, list[tuple[str, str]]]] = [
    ("OpenAI", [_fn(0, "c", "f", ""), _fn(0, None, None, '{"a"'), _fn(0, None, None, ": 1}")], [("f", A)]),
    ("DashScope, Mistral", [_fn(0, "c", "f", ""), _fn(0, "", "", A)], [("f", A)]),
    ("LiteLLM", [_fn(0, "c", "f", '{"a"'), _fn(0, "c", "f", ": 1}")], [("f", A)]),
    ("LiteLLM, null", [_fn(0, "c", "f", '{"a"'), _fn(0, "", "null", ": 1}")], [("f", A)]),
    ("vLLM: an id a piece", [_fn(0, "c", "f", '{"a"'), _fn(0, "d", None, ": 1}")], [("f", A)]),
    ("a name in parts", [_fn(0, "c", "list_", ""), _fn(0, None, "files", A)], [("list_files", A)]),
    ("vercel/ai#14722", [_fn(0, "c", None, '{"a"'), _fn(0, None, "f", ": 1}")], [("f", A)]),
    ("Mistral, Gemini", [_fn(None, "c", "f", A), _fn(None, "d", "g", B)], [("f", A), ("g", B)]),
    ("Gemini gateways", [_fn(0, "c", "f", A), _fn(0, "d", "g", B)], [("f", A), ("g", B)]),
    ("the same tool", [_fn(0, "c", "f", A), _fn(0, "d", "f", B)], [("f", A), ("f", B)]),
    ("omnigent", [_fn(0, "", "f", A), _fn(0, "", "g", B)], [("f", A), ("g", B)]),
    ("Anthropic", [_fn(1, "c", "f", ""), _fn(1, None, None, A)], [("f", A)]),
    (
        "in turns",
        [_fn(0, "c", "f", ""), _fn(1, "d", "g", ""), _fn(0, None, None, A), _fn(1, None, None, B)],
        [("f", A), ("g", B)],
    ),
    ("index a text", [_fn("0", "c", "f", ""), _fn("0", None, None, A)], [("f", A)]),
    ("Ollama", [_fn(0, "c", "f", {"a": 1})], [("f", A)]),
    ("null", [_fn(0, "c", "f", None)], [("f", "")]),
    ("Cloudflare", [{"index": 0, "id": "c", "name": "f", "arguments": A}], [("f", A)]),
    (
        "a summary at the end",
        [_fn(0, "c", "f", '{"a"'), _fn(0, None, None, ": 1}"), _fn(0, "c", "f", A)],
        [("f", A)],
    ),
    ("a summary of all", [_fn(0, "c", "f", A), _fn(0, "c", "f", A)], [("f", A)]),
    ("legacy", [{"function": {"name": "f", "arguments": ""}}, {"function": {"arguments": A}}], [("f", A)]),
    # llama.cpp server-task.cpp: a head with the first arguments; LM Studio, tool use: a head without any.
    ("llama.cpp", [_fn(0, "c", "f", "{"), _fn(0, None, None, '"a": 1}')], [("f", A)]),
    (
        "LM Studio",
        [
            {"index": 0, "id": "1", "type": "function", "function": {"name": "f"}},
            {"index": 0, "type": "function", "function": {"arguments": A}},
            {"index": 1, "id": "2", "type": "function", "function": {"name": "g"}},
            {"index": 1, "type": "function", "function": {"arguments": B}},
        ],
        [("f", A), ("g", B)],
    ),
    # open-webui/computer#224: arguments in parts without an index; a piece of a signature alone.
    (
        "Gemini, in parts",
        [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a"'}},
            {"function": {"arguments": ": 1}"}},
            {"id": "c", "extra_content": {"google": {"thought_signature": "AB"}}},
        ],
        [("f", A)],
    ),
    # mistralai's client: no type, an id of nine letters, all at once; two in one piece have places.
    ("Mistral", [{"id": "a1B2c3D4e", "function": {"name": "f", "arguments": A}, "index": 0}], [("f", A)]),
    ("Groq, at once", [_fn(0, "c", "f", A), _fn(1, "d", "g", B)], [("f", A), ("g", B)]),
    ("Kimi's id", [_fn(0, "functions.f:0", "f", A), _fn(1, "functions.f:1", "f", B)], [("f", A), ("f", B)]),
    ("Ollama, twice 0", [_fn(0, "call_1", "f", A), _fn(0, "call_2", "f", A)], [("f", A), ("f", A)]),
    ("vLLM, required", [_fn(0, "c", "f", ""), _fn(0, None, None, A), _fn(0, None, None, "")], [("f", A)]),
    ("MiniMax", [_fn(0, "call_function_x_1", "f", '{"a"'), _fn(0, "", "", ": 1}")], [("f", A)]),
    ("empty pieces", [None, {}, {"index": 0}, []], []),
    ("PHP", [{"index": 0, "id": "c", "function": []}, _fn(0, None, "f", A)], [("f", A)]),
]


@pytest.mark.parametrize(("server", "pieces", "calls"), FORMS, ids=[form[0] for form in FORMS])
def test_calls_are_read_in_every_form(server: str, pieces: Pieces, calls: list[tuple[str, str]]) -> None:
    reader = CallPieces(NO_KEYS, frozenset("fg"))
    deltas = [delta for piece in pieces for delta in reader.take([piece])[0]] + reader.end()
    assert [(call.name, call.arguments) for call in reader.whole] == calls, server
    for place, (name, arguments) in enumerate(calls):
        own = [delta for delta in deltas if delta.index == place]
        assert own[0].name == name
        assert "".join(delta.text for delta in own) == arguments


def test_a_call_without_a_name_is_none() -> None:
    reader = CallPieces(NO_KEYS, frozenset("f"))
    reader.take([{"index": 0, "id": "c", "function": "f"}])
    with pytest.raises(ValueError, match="a call of a tool has no name"):
        reader.end()


def test_a_call_in_many_pieces_is_read_in_linear_time() -> None:
    reader = CallPieces(NO_KEYS, frozenset("f"))
    text = json.dumps({"a": "{}" * 20_000})
    for character in text:
        reader.take([_fn(0, "c", "f", character)])
    reader.end()
    assert [call.arguments for call in reader.whole] == [text]
