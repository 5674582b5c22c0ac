"""The tools of a request as it defines them: functions, custom tools, namespaces, and tools of servers.

Knows OpenAI's shapes. A tool that would run at a server is left out: none does here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from conductor.values.message_parts.tools import MAX_TOOLS, ToolName
from studio.api.requests.request import EchoPart, LeftOut
from studio.api.tool_names import INPUT

MAX_DESCRIPTION = 20_000

_Description = Annotated[str, Field(max_length=MAX_DESCRIPTION)] | None
Namespace = Annotated[str, Field(min_length=1, max_length=200)]


class FunctionDefinition(EchoPart):
    """What can be called; `parameters` is a JSON Schema."""

    name: ToolName
    description: _Description = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None

    @property
    def schema_of_parameters(self) -> dict[str, Any] | None:
        """What the arguments of its function are."""
        return self.parameters


class Grammar(EchoPart):
    """The form of a text."""

    syntax: str
    definition: str


class TextForm(EchoPart):
    """The form of a custom tool's input: `grammar` is where chat completions have it."""

    type: Literal["text", "grammar"]
    syntax: str | None = None
    definition: str | None = None
    grammar: Grammar | None = None

    @property
    def words(self) -> str:
        """For the worker, whose endpoint takes no grammar."""
        own = self.grammar or self
        if not own.definition:
            return "The input as plain text."
        kind = f" of the kind {own.syntax}" if own.syntax else ""
        return f"The input as plain text, by this grammar{kind}:\n{own.definition}"


class CustomDefinition(EchoPart):
    """A tool whose input is a text: a function with that as its one parameter."""

    name: ToolName
    description: _Description = None
    format: TextForm | None = None

    @property
    def schema_of_parameters(self) -> dict[str, Any]:
        """What the arguments of its function are."""
        form = self.format or TextForm(type="text")
        properties = {INPUT: {"type": "string", "description": form.words}}
        return {
            "type": "object",
            "properties": properties,
            "required": [INPUT],
            "additionalProperties": False,
        }


class ToolDefinition(EchoPart):
    """A function of a chat completion."""

    type: Literal["function"]
    function: FunctionDefinition


class CustomToolDefinition(EchoPart):
    """A custom tool of a chat completion."""

    type: Literal["custom"]
    custom: CustomDefinition


class FlatTool(FunctionDefinition):
    """A function of `/v1/responses`."""

    type: Literal["function"]


class FlatCustomTool(CustomDefinition):
    """A custom tool of `/v1/responses`."""

    type: Literal["custom"]


class OtherTool(LeftOut):
    """A tool that would run at a server."""


def kind_of_tool(tool: object) -> str:
    """The tag of a tool, or of a choice of one, by its type."""
    kind = tool.get("type") if isinstance(tool, dict) else getattr(tool, "type", None)
    kinds = {"function": "Function", "custom": "Custom", "namespace": "Namespace"}
    return kinds.get(kind, "Other") if isinstance(kind, str) else "Function"


FlatInnerTool = Annotated[
    Annotated[FlatTool, Tag("Function")]
    | Annotated[FlatCustomTool, Tag("Custom")]
    | Annotated[OtherTool, Tag("Other")]
    | Annotated[OtherTool, Tag("Namespace")],
    Discriminator(kind_of_tool),
]


class ToolNamespace(EchoPart):
    """Tools whose names are unique among themselves; `description` is of all of them."""

    type: Literal["namespace"]
    name: Namespace
    description: _Description = None
    tools: Annotated[tuple[FlatInnerTool, ...], Field(fail_fast=True, max_length=MAX_TOOLS)] = ()


AnyFlatTool = Annotated[
    Annotated[FlatTool, Tag("Function")]
    | Annotated[FlatCustomTool, Tag("Custom")]
    | Annotated[ToolNamespace, Tag("Namespace")]
    | Annotated[OtherTool, Tag("Other")],
    Discriminator(kind_of_tool),
]
AnyTool = Annotated[
    Annotated[ToolDefinition, Tag("Function")]
    | Annotated[CustomToolDefinition, Tag("Custom")]
    | Annotated[OtherTool, Tag("Other")]
    | Annotated[OtherTool, Tag("Namespace")],
    Discriminator(kind_of_tool),
]
FlatTools = Annotated[tuple[AnyFlatTool, ...], Field(fail_fast=True, max_length=MAX_TOOLS)]
Tools = Annotated[tuple[AnyTool, ...], Field(fail_fast=True, max_length=MAX_TOOLS)]


def shapes_of(tools: Iterable[EchoPart]) -> list[dict[str, Any]]:
    """The tools as a response has them: of one that would run at a server its type alone, as the rest of it
    may be a secret.
    """
    return [_shape_of(tool) for tool in tools]


def _shape_of(tool: EchoPart) -> dict[str, Any]:
    match tool:
        case OtherTool():
            return {"type": tool.type}
        case ToolNamespace():
            return {**tool.model_dump(mode="json", exclude={"tools"}), "tools": shapes_of(tool.tools)}
        case _:
            return tool.model_dump(mode="json")
