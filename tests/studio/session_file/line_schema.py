"""The JSON Schema of a session file's line, as `docs/` publishes it, made of the forms that are read.

Run as a program it prints it.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from storage.session_entries import ENTRIES
from studio.session_file.format import REFERENCE, End, Header, Text


def line_schema() -> dict[str, Any]:
    """The published JSON Schema of a line."""
    forms: dict[str, TypeAdapter[Any]] = {
        **{str(kind): form for kind, form in ENTRIES.items()},
        "header": TypeAdapter(Header),
        "text": TypeAdapter(Text),
        "end": TypeAdapter(End),
    }
    schemas, shared = TypeAdapter.json_schemas([(name, "validation", form) for name, form in forms.items()])
    lines = [{"$ref": "#/$defs/Header"}]
    lines += [_object({name: schema}) for (name, _), schema in schemas.items() if name != "header"]
    definitions = {
        name: schema if name in ("Header", "Text", "End") else _with_references(schema)
        for name, schema in shared["$defs"].items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a Conductor session file",
        "anyOf": lines,
        "$defs": {**definitions, "Reference": _object({REFERENCE: {"type": "string"}})},
    }


def _object(members: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": [*members], "additionalProperties": False}


def _with_references(schema: Any) -> Any:
    """The schema, in which a reference may stand in the place of any free text."""
    if isinstance(schema, list):
        return [_with_references(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "string" and not {"const", "enum"} & schema.keys():
        return {"anyOf": [schema, {"$ref": "#/$defs/Reference"}]}
    return {name: _with_references(part) for name, part in schema.items()}


if __name__ == "__main__":
    print(json.dumps(line_schema(), indent=2))
