"""Tools that an answer may call, and such calls. Values only.

Tools are the client's: this program offers them to a worker and passes its calls on, and calls none itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from conductor.text.bounded_value import within_bounds
from conductor.values.message_parts.opaque import members_of
from conductor.values.message_parts.response_format import schema_in
from conductor.values.portable_model import PortableModel

MAX_TOOLS = 128
"""Tools of one request, and calls of one answer, as many as OpenAI takes."""

MAX_PARAMETERS = 64_000
"""Characters of the schema of one tool's parameters, written as compact JSON."""

ToolName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]


class Tool(PortableModel):
    """A function that a client offers. The schema of its parameters is JSON text, in the client's order."""

    name: ToolName
    description: Annotated[str, Field(max_length=20_000)] | None = None
    parameters: Annotated[str, Field(max_length=MAX_PARAMETERS)] | None = Field(
        default=None, description="the JSON Schema of the parameters, as JSON text"
    )
    strict: bool | None = Field(default=None, strict=True)

    @classmethod
    def of(
        cls,
        name: str,
        *,
        description: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        strict: bool | None = None,
    ) -> Self:
        """The tool with this schema. Raises `ValueError` where it is too large or too deep."""
        text = None if parameters is None else json.dumps(within_bounds(parameters), separators=(",", ":"))
        return cls(name=name, description=description, parameters=text, strict=strict)

    def model_post_init(self, _context: object) -> None:
        """Check that the parameters are a schema. Raises `ValueError`."""
        if self.parameters is not None:
            schema_in(self.parameters)

    @property
    def function(self) -> dict[str, Any]:
        """What is set of it, in OpenAI's names."""
        named = {"name": self.name, "description": self.description, "strict": self.strict}
        fields = {name: value for name, value in named.items() if value is not None}
        return fields if self.parameters is None else {**fields, "parameters": schema_in(self.parameters)}


class ToolChoice(PortableModel):
    """`auto`: the worker decides; `none`: it calls none; `required`: at least one; `named`: the one of this
    name. With `names` the first and the third are about the tools of these names alone.
    """

    kind: Literal["auto", "none", "required", "named"]
    name: ToolName | None = None
    names: Annotated[
        tuple[ToolName, ...], Field(max_length=MAX_TOOLS, exclude_if=lambda names: not names)
    ] = ()

    @property
    def called(self) -> tuple[str, ...]:
        """The names in it."""
        return self.names if self.name is None else (self.name,)

    @property
    def wire(self) -> str | dict[str, Any]:
        """`tool_choice` of a chat completion."""
        tools = [{"type": "function", "function": {"name": name}} for name in self.called]
        if self.names:
            return {"type": "allowed_tools", "allowed_tools": {"mode": self.kind, "tools": tools}}
        return tools[0] if self.kind == "named" else self.kind


class ToolOffer(PortableModel):
    """The tools that an answer may call, and what the client wants of that; None leaves it to the worker."""

    tools: Annotated[tuple[Tool, ...], Field(min_length=1, max_length=MAX_TOOLS)]
    choice: ToolChoice | None = None
    parallel: bool | None = Field(default=None, strict=True)

    @property
    def allowed(self) -> ToolOffer:
        """The same for every endpoint: an offer of those alone that may be called."""
        if self.choice is None or not self.choice.names:
            return self
        tools = tuple(tool for tool in self.tools if tool.name in self.choice.names)
        return self.model_copy(update={"tools": tools, "choice": ToolChoice(kind=self.choice.kind)})

    @property
    def words(self) -> str:
        """What is offered, for people."""
        names = ", ".join(tool.name for tool in self.tools)
        return f"tool{'s' if len(self.tools) > 1 else ''} {names}"

    @property
    def wire(self) -> dict[str, Any]:
        """The parameters of a chat completion."""
        offered = {"tools": [{"type": "function", "function": tool.function} for tool in self.tools]}
        choice = {} if self.choice is None else {"tool_choice": self.choice.wire}
        return {
            **offered,
            **choice,
            **({} if self.parallel is None else {"parallel_tool_calls": self.parallel}),
        }


class ToolCall(PortableModel):
    """A call that a worker wants its client to make. `arguments` are as the worker wrote them, which need not
    be JSON. `extra` are its other members, such as Gemini's signatures, as JSON text (see `opaque`).
    """

    id: str
    name: str
    arguments: str
    extra: str | None = Field(default=None, exclude_if=lambda extra: extra is None)

    @property
    def wire(self) -> dict[str, Any]:
        """An element of `tool_calls` in a message."""
        extra = members_of(self.extra)
        function = {**extra.pop("function", {}), "name": self.name, "arguments": self.arguments}
        return {**extra, "id": self.id, "type": "function", "function": function}

    @property
    def words(self) -> str:
        """The call in Markdown, for people."""
        ticks = max(map(len, re.findall("`+", self.arguments)), default=0)
        fence = "`" * max(3, ticks + 1)
        return f"Calls the tool {self.name!r} with\n\n{fence}json\n{self.arguments}\n{fence}"


_CALL_MEMBERS = frozenset(("id", "type", "index", "function", "name", "arguments", "parameters", "input"))


def call_extra(call: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a `tool_calls` entry that `ToolCall.extra` has."""
    extra = {name: part for name, part in call.items() if name not in _CALL_MEMBERS and part is not None}
    function = call.get("function")
    inner = call_extra(function) if isinstance(function, Mapping) else {}
    return {**extra, "function": inner} if inner else extra
