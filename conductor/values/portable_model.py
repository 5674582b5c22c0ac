"""The base of every value: frozen, validated, and of texts that every store and protocol can hold.

Here the texts of models, people and files enter: what runs, what is shown and what is stored is the same
text. Knows pydantic; knows no particular value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from conductor.text.bounded_value import within_bounds
from conductor.text.json_text import portable

_NO_PARTS = frozenset({"metadata", "default", "serialization", "config"})
"""Members of a schema that are not schemas of a value's parts."""


class PortableModel(BaseModel):
    """A frozen, validated value; unknown fields are refused. Its schema is built when it is first used.

    Every text in it is as `portable` returns it, names and values of its JSON objects included, and those of
    dataclasses that are read; a dataclass that is given as an object stays as it is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: CoreSchema = _with_portable_texts(handler(source), handler, set())
        return schema

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with these members changed; only their texts are made portable, the rest is not checked."""
        changed = {name: portable(to) if isinstance(to, str) else to for name, to in (update or {}).items()}
        return super().model_copy(update=changed, deep=deep)


def _portable(value: Any) -> Any:
    if isinstance(value, str):
        return portable(value)
    within_bounds(value)
    if isinstance(value, dict):
        return {_portable(name): _portable(part) for name, part in value.items()}
    return [_portable(part) for part in value] if isinstance(value, list) else value


def _with_portable_texts(schema: Any, handler: GetCoreSchemaHandler, seen: set[str]) -> Any:
    """The schema, whose texts are made portable before they are validated."""
    match schema:
        case {"type": "str" | "any"}:
            return core_schema.no_info_before_validator_function(_portable, schema)
        case {"type": "function-before", "function": {"function": function}} if function is _portable:
            return schema
        case {"type": "definition-ref", "schema_ref": name}:
            # Other values have schemas of this kind already; dataclasses are changed where they are.
            if name not in seen and (part := handler.resolve_ref_schema(schema))["type"] == "dataclass":
                _with_portable_texts(part, handler, seen | {name})
        case dict():
            left = _NO_PARTS if isinstance(schema.get("type"), str) else ()
            for name in schema.keys() - left:
                schema[name] = _with_portable_texts(schema[name], handler, seen)
        case list() | tuple():
            return type(schema)(_with_portable_texts(part, handler, seen) for part in schema)
    return schema
