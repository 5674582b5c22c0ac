"""The lines of a session file: format "conductor-session", version 2, JSON Lines, with a published schema.

    {"format":"conductor-session","version":2,"sessions":1}
    {"session":{"id":"…","title":"…",…}}
    {"revision":{…}}
    {"text":{"id":"…","text":"A text of 256 characters or more."}}
    {"output":{…,"text":{"$text":"…"},…}}
    {"event":{…}}
    {"end":{"lines":7}}

Each session begins with its `session`; its other entries follow in the order of `ENTRIES`. A long text stands
in a line of its own once in a session, before the first entry that refers to it. Knows the form of a line;
reads and writes none.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from conductor.values.messages import Value
from storage.copies.session_entries import ENTRIES

FORMAT = "conductor-session"
VERSION = 2

LONG = 256
"""Texts of so many characters get a separate line."""

REFERENCE = "$text"
"""The only name in the object that replaces a long text; no entry has a name like it."""

MAX_SESSIONS = 100_000
"""Sessions in one file."""

MAX_ENTRIES = 50_000
"""Entries of one kind in one session; events are not limited."""


class Header(Value):
    """The first line; `sessions` counts those that follow."""

    format: Literal["conductor-session"]
    version: Literal[2]
    sessions: Annotated[int, Field(ge=0, le=MAX_SESSIONS, strict=True)]


class Text(Value):
    """A long text of a session."""

    id: str
    text: str


class End(Value):
    """The last line; `lines` counts all of them, this one included."""

    lines: Annotated[int, Field(strict=True)]


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
    """The schema of an object with exactly these members."""
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
