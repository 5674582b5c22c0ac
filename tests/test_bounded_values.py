"""What is read from outside has the same bounds in every Python: depth, digits and size of a number.

A Python reads JSON some hundred, some thousand or ten thousand levels deep, depending on its version.
"""

from __future__ import annotations

import ast
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conductor.baselines.fitted import Fitted, read_fitted
from conductor.errors import ConductorError
from conductor.evaluation.data_file import read_data
from conductor.evaluation.sets.programs import livecodebench
from conductor.learning.corrections.lessons import read_rows
from conductor.llama.checkpoint import read_checkpoint
from conductor.text.bounded_value import MAX_DEPTH, MAX_DIGITS, BoundsError, json_value, toml_value
from conductor.text.json_text import parsed
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.message_parts.tools import Tool
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.reply.error_forms import error_message
from conductor.workers.endpoint.schema_check import check_schema, schema_fault
from conductor.workers.endpoint.wire import read_chunk
from conductor.workers.keys.secret import secrets_in
from conductor.workers.pool.pool import parse_pool
from conductor.workers.pool.toml_file import named_files
from pages.components.pool.fields import entry_of
from studio.access.errors import ApiError
from studio.api.requests.chat_request import ChatRequest

pytestmark = pytest.mark.usefixtures("no_collection")

ROOT = Path(__file__).parent.parent

LISTS: list[tuple[str, str]] = [
    *((f"{depth} lists", "[" * depth + "]" * depth) for depth in (MAX_DEPTH + 1, 500, 5_000, 200_000)),
    ("500 objects", '{"a":' * 500 + "1" + "}" * 500),
    ("an open list", "[" * 5_000),
    *((f"{digits} digits", "-" + "1" * digits) for digits in (MAX_DIGITS + 1, 5_000)),
]
BEYOND = [pytest.param(text, id=name) for name, text in LISTS]
"""JSON that no Python is to read; none of it is a schema."""

TABLES = [
    *(pytest.param(f"a = {text}\n", id=name) for name, text in LISTS if name != "500 objects"),
    pytest.param(f"{'a.' * 70}b = 1\n", id="70 keys"),
    pytest.param(f"{'a.' * 5_000}b = 1\n", id="5000 keys"),
    pytest.param(f"[{'a.' * 5_000}b]\n", id="a header of 5000 keys"),
    pytest.param(f"a = 0x{'f' * 5_000}\n", id="hexadecimal"),
]
"""TOML that no Python is to read."""

REFUSED = (
    "nested too deeply|more than 640 digits|not JSON|JSON that can|Expecting|whole safetensors|must be TOML|"
    "64,?000 characters"
)
"""The reasons of the readers; some do not show what they could not read."""


def schema(text: str) -> str:
    return f'{{"const": {text}}}'


def _answered(answer: str) -> None:
    if fault := schema_fault(answer, ResponseFormat.of_schema({}, name="a")):
        raise ValueError(fault)


def _rows(
    write: Callable[[str], str], name: str, read: Callable[[Path], object]
) -> Callable[[str, Path], object]:
    """What reads a file `name` with such content."""

    def reading(text: str, folder: Path) -> object:
        file = folder / name
        file.write_text(write(text))
        return read(file)

    return reading


def _tensors(text: str, folder: Path) -> None:
    (folder / "config.json").write_bytes((ROOT / "conductor/llama/shipped/orchard/config.json").read_bytes())
    header = text.encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    read_checkpoint(folder)


JSON_READERS: dict[str, Callable[[str, Path], object]] = {
    "any": lambda text, _: json_value(text),
    "a file": lambda text, _: parsed(text, where="The file"),
    "a schema": lambda text, _: ResponseFormat(type="json_schema", name="a", schema_text=schema(text)),
    "a tool": lambda text, _: Tool(name="a", parameters=schema(text)),
    "an answer": lambda text, _: _answered(text),
    "a piece of an answer": lambda text, _: read_chunk(f'["\\ud83d", {text}]'),
    "a request": lambda text, _: ChatRequest.read(
        f'{{"model": "a", "messages": [{{"role": "user", "content": {text}}}]}}'.encode()
    ),
    "a request's tools": lambda text, _: ChatRequest.read(
        '{"model": "a", "messages": [{"role": "user", "content": "b"}], "tools": [{"type": "function", '
        f'"function": {{"name": "c", "parameters": {schema(text)}}}}}]}}'.encode()
    ),
    "questions": _rows(lambda text: f'{{"input": "a", "target": "b", "c": {text}}}', "a.jsonl", read_data),
    "programs": lambda text, _: livecodebench(
        {
            "question_content": "a",
            "public_test_cases": "[]",
            "private_test_cases": f'[{{"input": "", "output": {text}}}]',
        }
    ),
    "corrections": _rows(schema, "a.jsonl", lambda file: list(read_rows(file))),
    "fitted parameters": _rows(
        lambda text: f'{{"format": "{Fitted.model_fields["format"].default}", "parameters": {text}}}',
        "a.json",
        lambda file: read_fitted(file, baseline="knn"),
    ),
    "a model": _rows(
        lambda text: f'{{"model_type": {text}}}', "config.json", lambda file: read_checkpoint(file.parent)
    ),
    "its weights": lambda text, folder: _tensors(f'{{"a": {text}}}', folder),
}


@pytest.mark.parametrize("text", BEYOND)
@pytest.mark.parametrize("kind", JSON_READERS)
def test_json_beyond_the_bounds_is_refused_wherever_it_is_read(kind: str, text: str, tmp_path: Path) -> None:
    with pytest.raises((ConductorError, ApiError, ValueError), match=REFUSED) as refused:
        JSON_READERS[kind](text, tmp_path)
    assert len(str(refused.value)) < 1_000


TOML_READERS: dict[str, Callable[[str], object]] = {
    "any": toml_value,
    "keys": secrets_in,
    "a pool": lambda text: parse_pool(text, source="pool.toml"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("text", TABLES)
@pytest.mark.parametrize("kind", TOML_READERS)
def test_toml_beyond_the_bounds_is_refused_wherever_it_is_read(kind: str, text: str) -> None:
    with pytest.raises((ConductorError, ValueError), match=REFUSED) as refused:
        TOML_READERS[kind](text)
    assert len(str(refused.value)) < 1_000
    assert named_files(text, Path()) == ()
    _, faults = entry_of("model", {"extra": text}, old={})
    assert "write lines like top_k = 40" in faults["extra"]


def nested(depth: int) -> Any:
    """So many lists, as a library's caller may make them."""
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("value", [nested(MAX_DEPTH + 1), nested(100_000), (nested(5_000),), 10**MAX_DIGITS])
def test_values_of_a_caller_have_the_same_bounds(value: object) -> None:
    for read in (
        lambda: ResponseFormat.of_schema({"const": value}, name="a"),
        lambda: Tool.of("a", parameters={"const": value}),
        lambda: Endpoint(base_url="http://localhost:1/v1", model="a", extra={"a": value}),
    ):
        with pytest.raises(ValueError, match=r"nested too deeply|more than 640 digits"):
            read()


def test_what_is_within_the_bounds_is_read_and_checked() -> None:
    deep = nested(MAX_DEPTH)
    assert json_value(json.dumps(deep)) == deep
    assert json_value("-" + "9" * MAX_DIGITS) == 1 - 10**MAX_DIGITS
    assert toml_value(f"a = {json.dumps(nested(MAX_DEPTH - 1))}") == {"a": nested(MAX_DEPTH - 1)}
    items: dict[str, Any] = {}
    for _ in range(MAX_DEPTH - 1):
        items = {"items": items}
    form = ResponseFormat.of_schema(items, name="a")
    check_schema(form)
    assert schema_fault(json.dumps(deep), form) is None


def test_a_number_that_is_larger_than_all_others_is_none() -> None:
    for text in ("1e400", "-1e999"):
        with pytest.raises(BoundsError, match="is too large"):
            json_value(text)
        with pytest.raises(ValueError, match="is too large"):
            ResponseFormat(type="json_schema", name="a", schema_text=schema(text))


def test_an_error_of_any_depth_is_shown_as_it_came() -> None:
    for text in (f'{{"error": {text}}}' for _, text in LISTS):
        assert error_message(text.encode()) == text


CAUGHT = {
    "conductor/text/bounded_value.py",
    "conductor/files/pdf_text.py",  # what pypdf raises
    "conductor/workers/endpoint/reply/call_texts.py",  # what is too deep for a call is text
    "studio/mcp/arguments.py",  # Python's own text of a value, whose part of limited length is read
    "conductor/workers/endpoint/schema_check.py",  # references that go in a circle
}


@pytest.mark.slow
def test_no_other_place_leaves_it_to_python_how_deep_is_too_deep() -> None:
    files = set()
    for place in ("conductor", "storage", "studio", "pages"):
        for file in (ROOT / place).rglob("*.py"):
            source = file.read_text(encoding="utf-8")
            if "RecursionError" in source and any(
                isinstance(node, ast.Name) and node.id == "RecursionError"
                for node in ast.walk(ast.parse(source))
            ):
                files.add(str(file.relative_to(ROOT)))
    assert files == CAUGHT
