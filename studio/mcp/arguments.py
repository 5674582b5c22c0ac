"""The arguments of a call as models write them, in the types that a tool's schema names.

Knows JSON Schema as pydantic writes it; knows no tool. What cannot be read stays, for pydantic to refuse.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from conductor.text.bounded_value import json_value
from conductor.text.json_text import portable

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
_NOTHING = ("", "null", "none", "undefined")
_FENCED = re.compile(r"\s*```\w{0,10}\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_MOST_PYTHON = 20_000


def clean_line(line: str) -> str:
    """A line of JSON without a byte order mark, and with U+FFFD for each half of a letter: pydantic reads
    neither, so the client would wait for an answer for ever.
    """
    line = line.removeprefix("\ufeff")
    if not _HALF.search(line):
        return line
    try:
        return portable(json.dumps(json_value(line), ensure_ascii=False)) + "\n"
    except ValueError:
        return line


def fitted(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool with that schema: null or an empty text for what may be left out is left out, a
    number is a text and a text a number, and a single value a list, where the schema has only the other.
    """
    return _object(arguments, schema, schema.get("$defs", {}))


def _object(value: Mapping[str, Any], schema: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    required = schema.get("required", ())
    read = {
        name: _value(each, schema.get("properties", {}).get(name, {}), kinds) for name, each in value.items()
    }
    return {name: each for name, each in read.items() if each not in (None, "") or name in required}


def _value(value: Any, schema: Mapping[str, Any], kinds: Mapping[str, Any]) -> Any:
    forms = _forms(schema, kinds)
    types = {form.get("type") for form in forms}
    if None in types:
        return value
    if "string" not in types and isinstance(value, str):
        if value.strip().lower() in _NOTHING:
            return None
        value = _read(value)
    kind = _TYPES.get(type(value))
    if "string" in types and value in ([], {}) and kind not in types:
        return None
    if kind in (None, *types) or (kind == "integer" and "number" in types):
        pass
    elif "string" in types and kind in ("boolean", "integer", "number"):
        return json.dumps(value)
    elif "array" in types:
        value, kind = [value], "array"
    form = next((form for form in forms if form["type"] == kind), {})
    if kind == "array":
        return [_value(each, form.get("items", {}), kinds) for each in value]
    return _object(value, form, kinds) if kind == "object" else value


def _read(text: str) -> Any:
    """The value that a text is in JSON, or in Python with True and single quotes; else the text."""
    inner = fenced[1] if (fenced := _FENCED.fullmatch(text)) else text
    with suppress(ValueError):
        return json_value(inner)
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        value = ast.literal_eval(inner.strip()[:_MOST_PYTHON])
        return value if isinstance(value, list | dict | bool) else text
    return text


def _forms(schema: Mapping[str, Any], kinds: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "$ref" in schema:
        return _forms(kinds[schema["$ref"].rpartition("/")[2]], kinds)
    return [form for one in schema.get("anyOf", ()) for form in _forms(one, kinds)] or [schema]
