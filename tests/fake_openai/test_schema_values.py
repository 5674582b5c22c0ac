"""Values for a JSON Schema are valid under it, and are the wish as far as it allows."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from conductor.fake_openai.refusal import Refusal
from conductor.fake_openai.schema import allowed
from conductor.fake_openai.text import seeded

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 18, "maximum": 20}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}},
        }
    },
    "$ref": "#/$defs/node",
    "required": ["next"],
}
LIST = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["children"],
        }
    },
    "$ref": "#/$defs/node",
}
SCHEMAS: list[Any] = [
    True,
    {},
    PERSON,
    TREE,
    LIST,
    {"const": {"a": 1}},
    {"enum": ["x", 2, None]},
    {"type": ["null", "string"], "minLength": 300},
    {"type": "string", "maxLength": 3},
    {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"},
    {"type": "number", "exclusiveMinimum": 0.5, "maximum": 2},
    {"type": "integer", "maximum": -5},
    {"type": "boolean"},
    {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 5},
    {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 1, "uniqueItems": True},
    {"type": "array", "prefixItems": [{"const": "a"}, {"type": "integer"}], "items": False},
    {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    {"allOf": [PERSON, {"properties": {"note": {"type": "string"}}, "required": ["note"]}][::-1]}
    | {"type": "object"},
    {"type": "object", "properties": {"a": {"type": "array", "items": PERSON}}, "required": ["a"]},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: str(schema)[:40])
def test_a_value_is_valid(schema: Any) -> None:
    if isinstance(schema, dict) and "allOf" in schema:
        schema = {**schema, "allOf": [{**part, "additionalProperties": True} for part in schema["allOf"]]}
    validator = jsonschema.Draft202012Validator(schema)
    for seed in range(20):
        validator.validate(allowed(schema, seeded(str(seed))))


WISHES: list[tuple[Any, Any, Any]] = [
    (PERSON, {"name": "Ada", "age": 19, "more": 1}, {"name": "Ada", "age": 19}),
    ({"type": "array", "items": {"type": "integer"}, "maxItems": 2}, [1, 2, 3], [1, 2]),
    ({"type": "array", "items": {"enum": [4, 5]}}, [5, 4, 5], [5, 4, 5]),
    ({"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "integer"}}]}, [0, 1], [0, 1]),
    ({"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "integer"}}]}, "all", "all"),
    ({"anyOf": [{"type": "array", "maxItems": n, "minItems": n} for n in (1, 2, 3)]}, ["a", "b"], ["a", "b"]),
    ({"enum": [True, 1]}, 1, 1),
    ({"type": "number"}, 2.5, 2.5),
    ({"type": ["string", "integer"]}, 3, 3),
    ({"type": "string", "maxLength": 2}, "abc", "ab"),
    ({}, [1, "two"], [1, "two"]),
]


@pytest.mark.parametrize(("schema", "wish", "value"), WISHES)
def test_a_wish_is_granted_as_far_as_it_is_allowed(schema: Any, wish: Any, value: Any) -> None:
    got = allowed(schema, seeded("x"), wish=wish)
    assert (got, type(got)) == (value, type(value))
    jsonschema.validate(got, schema)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (False, "allows nothing"),
        ("text", "not an object"),
        ({"not": {}}, "keyword not"),
        ({"type": "text"}, "'text' is not one"),
        ({"enum": []}, "empty"),
        ({"anyOf": []}, "empty"),
        ({"$ref": "#/nowhere"}, "leads nowhere"),
        ({"$ref": "https://example.org/schema"}, "outside"),
        ({"$ref": "#"}, "lead nowhere"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no number"),
        ({"type": "array", "minItems": 3, "uniqueItems": True, "items": {"const": 1}}, "different items"),
        ({"type": "array", "minItems": "three"}, "wrong kind"),
        ({"type": "object", "properties": 3}, "wrong kind"),
        ({"type": "string", "pattern": "(?=a)"}, "look around"),
        (
            {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
            "nested too deep",
        ),
    ],
)
def test_a_schema_that_cannot_be_met_is_refused(schema: Any, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        allowed(schema, seeded("x"))
