"""The form that an answer is to have: JSON, of any kind or by a schema.

Knows what a request may ask for, and how OpenAI's protocol writes it; checks no answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NoReturn, Self

from pydantic import Field

from conductor.text.bounded_value import json_value, within_bounds
from conductor.values.portable_model import PortableModel

MAX_SCHEMA = 64_000
"""Characters of a schema, written as compact JSON."""


def schema_in(text: str) -> dict[str, Any]:
    """The JSON Schema that this text is. Raises `ValueError`."""
    schema = json_value(text, parse_constant=no_constant)
    if not isinstance(schema, dict):
        raise ValueError("the schema is no JSON object")
    return schema


def no_constant(name: str) -> NoReturn:
    """Refuses NaN and the infinities, which Python reads."""
    raise ValueError(f"{name} is no JSON")


class ResponseFormat(PortableModel):
    """JSON that an answer is to be: an object (`json_object`), or what a schema allows (`json_schema`).

    A schema has a name and is written as JSON text, in the order of its members: models follow that order,
    and a text can neither be changed nor lose its nulls where it is stored.
    """

    type: Literal["json_object", "json_schema"]
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")] | None = None
    description: Annotated[str, Field(max_length=2_000)] | None = None
    schema_text: Annotated[str, Field(max_length=MAX_SCHEMA)] | None = Field(
        default=None, description="the JSON Schema, as JSON text"
    )
    strict: bool | None = Field(default=None, strict=True)

    @classmethod
    def of_schema(
        cls,
        schema: Mapping[str, Any],
        *,
        name: str,
        description: str | None = None,
        strict: bool | None = None,
    ) -> Self:
        """The form that this schema describes. Raises `ValueError` where it is too large or too deep."""
        text = json.dumps(within_bounds(schema), separators=(",", ":"))
        return cls(type="json_schema", name=name, description=description, schema_text=text, strict=strict)

    def model_post_init(self, _context: object) -> None:
        """Check that a schema has its name and its text, and an object neither. Raises `ValueError`."""
        of_schema = (self.name, self.schema_text)
        if self.type == "json_object":
            if (*of_schema, self.description, self.strict) != (None,) * 4:
                raise ValueError("json_object has no name, description, schema and strict")
            return
        if None in of_schema:
            raise ValueError("json_schema needs a name and a schema")
        schema_in(self.schema_text or "")

    @property
    def schema_object(self) -> Mapping[str, Any]:
        """The schema, parsed at each call; that of `json_object` allows every object."""
        return {"type": "object"} if self.schema_text is None else schema_in(self.schema_text)

    @property
    def words(self) -> str:
        """What it is, for people."""
        return "a JSON object" if self.name is None else f"JSON by the schema {self.name}"

    @property
    def wire(self) -> dict[str, Any]:
        """`response_format` of a chat completion."""
        if self.type == "json_object":
            return {"type": "json_object"}
        named = {"name": self.name, "description": self.description, "strict": self.strict}
        fields = {name: value for name, value in named.items() if value is not None}
        return {"type": "json_schema", "json_schema": {**fields, "schema": self.schema_object}}

    @property
    def request(self) -> str:
        """The same in words, for an endpoint that has no `response_format`."""
        if self.schema_text is None:
            return "Answer with one JSON object and nothing else."
        return f"Answer with JSON that this JSON Schema allows, and with nothing else:\n{self.schema_text}"
