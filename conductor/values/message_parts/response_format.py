"""The form that an answer is to have: JSON, of any kind or by a schema.

Knows what a request may ask for, and how OpenAI's protocol writes it; checks no answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

MAX_SCHEMA = 64_000
"""Characters of a schema, written as compact JSON."""


def _not_a_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


class ResponseFormat(BaseModel):
    """JSON that an answer is to be: an object (`json_object`), or what a schema allows (`json_schema`).

    A schema has a name and is written as JSON text, in the order of its members: models follow that order,
    and a text can neither be changed nor lose its nulls where it is stored.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

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
        """The form that this schema describes. Raises pydantic's `ValidationError` where it is too large."""
        text = json.dumps(schema, separators=(",", ":"))
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
        if not isinstance(self._parsed(), dict):
            raise ValueError("the schema is no JSON object")

    @property
    def schema_object(self) -> Mapping[str, Any]:
        """The schema, parsed at each call; that of `json_object` allows every object."""
        schema: Mapping[str, Any] = {"type": "object"} if self.schema_text is None else self._parsed()
        return schema

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
        given = {name: value for name, value in named.items() if value is not None}
        return {"type": "json_schema", "json_schema": {**given, "schema": self.schema_object}}

    @property
    def request(self) -> str:
        """The same in words, for an endpoint that has no `response_format`."""
        if self.schema_text is None:
            return "Answer with one JSON object and nothing else."
        return f"Answer with JSON that this JSON Schema allows, and with nothing else:\n{self.schema_text}"

    def _parsed(self) -> Any:
        assert self.schema_text is not None, "checked when it was made"
        try:
            return json.loads(self.schema_text, parse_constant=_not_a_number)
        except RecursionError:
            raise ValueError("the schema is nested too deeply") from None
