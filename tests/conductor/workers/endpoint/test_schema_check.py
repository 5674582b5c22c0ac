"""An answer is held against its schema within bounds, whatever the schema and the answer are."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from conductor.errors import FormatError
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.workers.endpoint import schema_check
from conductor.workers.endpoint.schema_check import check_schema, schema_fault

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "age": {"type": ["integer", "null"]}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def form(schema: dict[str, Any]) -> ResponseFormat:
    return ResponseFormat.of_schema(schema, name="person")


def nested(depth: int) -> dict[str, Any]:
    return {} if depth == 0 else {"properties": {"x": nested(depth - 1)}}


def doubling(levels: int) -> dict[str, Any]:
    """A schema of a few lines whose check takes 9 to the power of `levels` steps."""
    steps = {f"s{at}": {"allOf": [{"$ref": f"#/$defs/s{at - 1}"}] * 9} for at in range(1, levels)}
    return {"$defs": {"s0": {"type": "integer"}, **steps}, "$ref": f"#/$defs/s{levels - 1}"}


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        (PERSON, '{"name": "Ann", "age": null}'),
        (PERSON, '{"name": "Ann", "age": 3.0}'),
        ({"$schema": DRAFT_7, **PERSON}, '{"name": "Ann", "age": 3}'),
        ({"const": None}, "null"),
        ({"uniqueItems": True}, "[1, true]"),
        ({"$defs": {"n": {"type": "null"}}, "items": {"$ref": "#/$defs/n"}}, "[null]"),
        ({"$id": "http://localhost/a", "$defs": {"n": {"const": 1}}, "$ref": "#/$defs/n"}, "1"),
        (nested(25), "{}"),
    ],
)
def test_what_the_schema_allows_is_no_fault(schema: dict[str, Any], answer: str) -> None:
    check_schema(form(schema))
    assert schema_fault(answer, form(schema)) is None


@pytest.mark.parametrize(
    ("schema", "answer", "fault"),
    [
        (PERSON, '{"name": "Ann"}', "'age' is a required property"),
        (PERSON, '{"name": "Ann", "age": "x"}', "at age, 'x' is not of type 'integer', 'null'"),
        (PERSON, '{"name": "ann", "age": 1}', "at name, 'ann' does not match '^[A-Z]'"),
        (PERSON, '{"name": "Ann", "age": 1, "b": 2}', "Additional properties are not allowed"),
        (PERSON, "```json\n{}\n```", "it is no JSON"),
        (PERSON, "", "it is no JSON"),
        (PERSON, "NaN", "it is no JSON (NaN is no JSON)"),
        (PERSON, "[" * 100_000, "it is no JSON"),
        ({"const": None}, "1", "None was expected"),
        ({"uniqueItems": True}, "[1, 1.0]", "an item stands in the list twice"),
        ({"type": "string"}, json.dumps(["x" * 5_000]), "is not of type 'string'"),
        ({}, '"' + "x" * schema_check.MAX_ANSWER + '"', "more than the 1,000,000 that can be checked"),
    ],
)
def test_what_it_does_not_allow_is_named_with_its_place(
    schema: dict[str, Any], answer: str, fault: str
) -> None:
    sentence = schema_fault(answer, form(schema))
    assert sentence is not None
    assert fault in sentence
    assert len(sentence) < 600


@pytest.mark.parametrize(
    ("answer", "fault"), [("{}", None), ("[]", "is not of type 'object'"), ("x", "JSON")]
)
def test_without_a_schema_it_is_an_object(answer: str, fault: str | None) -> None:
    sentence = schema_fault(answer, ResponseFormat(type="json_object"))
    assert (sentence is None) if fault is None else (sentence is not None and fault in sentence)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "person"}, "not a JSON Schema at type"),
        ({"required": [1]}, "not a JSON Schema at required/0"),
        ({"$ref": "http://127.0.0.1:1/x"}, "nothing is fetched"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "nothing is fetched"),
        ({"default": {"$dynamicRef": "other.json"}}, "nothing is fetched"),
        ({"items": {"$schema": DRAFT_7}}, "$schema may stand at its root only"),
        ({"patternProperties": {"(a+)+$": {}}}, "patternProperties is not supported"),
        ({"items": {"unevaluatedItems": False}}, "unevaluatedItems is not supported"),
        ({"unevaluatedProperties": False}, "unevaluatedProperties is not supported"),
        ({"pattern": "(?=a)b"}, "is not supported"),
        ({"pattern": "x" * 1_001}, "a pattern has 1,001 characters"),
        ({"pattern": "((a{0,100}){0,100}){0,100}"}, "too large"),
        ({"enum": list(range(1_001))}, "a list of it has 1,001 items"),
    ],
)
def test_a_schema_without_a_bound_is_refused_before_any_call(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(FormatError) as refused:
        check_schema(form(schema))
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("schema", "answer", "reason"),
    [
        ({"$ref": "#"}, "{}", "nested too deeply"),
        ({"$schema": DRAFT_7, "$ref": "#"}, "{}", "nested too deeply"),
        ({"$ref": "#/const", "const": {"type": 5}}, "{}", "see where its references point"),
        ({"$ref": "#/nowhere"}, "{}", "see where its references point"),
        ({"pattern": "(a{0,100}){0,100}b"}, json.dumps("a" * 300_000), "is too long for"),
    ],
)
def test_a_check_that_has_no_end_is_given_up(schema: dict[str, Any], answer: str, reason: str) -> None:
    with pytest.raises(FormatError) as refused:
        schema_fault(answer, form(schema))
    assert reason in str(refused.value)


@pytest.mark.slow
def test_a_check_ends_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_check, "SECONDS", 0.01)
    with pytest.raises(FormatError, match="it takes more than"):
        schema_fault("3", form(doubling(30)))
    assert schema_fault("3", form(doubling(1))) is None


def test_the_expressions_of_a_schema_take_their_time_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_check, "SECONDS", 0.1)
    schema = {"allOf": [{"pattern": f"\\w{{100}}\\d{{50}}{at}"} for at in range(900)]}
    with pytest.raises(FormatError, match="it takes more than"):
        check_schema(form(schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"type": "integer"}] * 99},
        {"oneOf": [{"const": at} for at in range(99)]},
        {"if": {"type": "integer"}, "else": {"anyOf": [{"maxLength": 9}] * 99}},
        {"$defs": {"a": {"anyOf": [{"enum": [1]}] * 9}}, "anyOf": [{"$ref": "#/$defs/a"}] * 9},
    ],
)
def test_an_answer_is_not_written_once_for_each_alternative(schema: dict[str, Any]) -> None:
    answer = json.dumps("x" * 500_000)
    tracemalloc.start()
    try:
        assert schema_fault(answer, form(schema)) is not None
        assert tracemalloc.get_traced_memory()[1] < 10 * len(answer)
    finally:
        tracemalloc.stop()


def test_an_expression_that_others_take_ages_for_takes_none() -> None:
    fault = schema_fault(json.dumps("a" * 100_000 + "!"), form({"pattern": "^(a+)+$"}))
    assert fault is not None
    assert fault.endswith("does not match '^(a+)+$'")
