"""The tools that a request offers and chooses: all as functions, which every worker takes.

Knows OpenAI's shapes; knows no worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from conductor.values.message_parts.tools import (
    MAX_PARAMETERS,
    MAX_TOOLS,
    Tool,
    ToolChoice,
    ToolName,
    ToolOffer,
)
from studio.access.errors import ApiError
from studio.api.error_answers import unsupported
from studio.api.requests.request import EchoPart, LeftOut, RequestPart
from studio.api.requests.tool_definitions import (
    MAX_DESCRIPTION,
    CustomDefinition,
    CustomToolDefinition,
    FlatCustomTool,
    FlatTool,
    FunctionDefinition,
    Namespace,
    ToolDefinition,
    ToolNamespace,
    kind_of_tool,
)
from studio.api.tool_names import ToolNames


class NamedFunction(EchoPart):
    """A function or a custom tool by its name."""

    name: ToolName


class NamedToolChoice(EchoPart):
    """This tool of a chat completion is to be called."""

    type: Literal["function"]
    function: NamedFunction

    def functions(self, names: ToolNames) -> tuple[str, ...]:
        """The functions that may be called so."""
        return (names.function(self.function.name),)


class CustomToolChoice(EchoPart):
    """The same of a custom tool."""

    type: Literal["custom"]
    custom: NamedFunction

    def functions(self, names: ToolNames) -> tuple[str, ...]:
        return (names.function(self.custom.name),)


class FlatToolChoice(NamedFunction):
    """This tool of `/v1/responses` is to be called."""

    type: Literal["function", "custom"]
    namespace: Namespace | None = None

    def functions(self, names: ToolNames) -> tuple[str, ...]:
        """The functions that may be called so."""
        return (names.function(self.name, self.namespace),)


class NamespaceChoice(EchoPart):
    """A tool of this namespace is to be called."""

    type: Literal["namespace"]
    name: Namespace

    def functions(self, names: ToolNames) -> tuple[str, ...]:
        """All of its functions."""
        return names.in_namespace(self.name)


class UnusableChoice(RequestPart):
    """A tool that would run at a server is to be called: refused."""

    type: Literal["function"]


class OtherChoice(LeftOut):
    """A tool that would run at a server may be called."""

    def functions(self, names: ToolNames) -> tuple[str, ...]:  # noqa: ARG002 - as of the others
        """None of its functions."""
        return ()


AllowedTool = Annotated[
    Annotated[NamedToolChoice, Tag("Function")]
    | Annotated[CustomToolChoice, Tag("Custom")]
    | Annotated[OtherChoice, Tag("Other")]
    | Annotated[OtherChoice, Tag("Namespace")],
    Discriminator(kind_of_tool),
]
FlatAllowedTool = Annotated[
    Annotated[FlatToolChoice, Tag("Function")]
    | Annotated[FlatToolChoice, Tag("Custom")]
    | Annotated[NamespaceChoice, Tag("Namespace")]
    | Annotated[OtherChoice, Tag("Other")],
    Discriminator(kind_of_tool),
]
Mode = Literal["auto", "required"]


class AllowedTools(EchoPart):
    """One of these may be called, or is to be."""

    mode: Mode
    tools: Annotated[tuple[AllowedTool, ...], Field(fail_fast=True, min_length=1, max_length=MAX_TOOLS)]


class AllowedToolChoice(EchoPart):
    """No other tools of a chat completion may be called than these."""

    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


class FlatAllowedTools(EchoPart):
    """No other tools of `/v1/responses` may be called than these."""

    type: Literal["allowed_tools"]
    mode: Mode
    tools: Annotated[tuple[FlatAllowedTool, ...], Field(fail_fast=True, min_length=1, max_length=MAX_TOOLS)]


def _kind_of_choice(choice: object) -> str:
    if isinstance(choice, str):
        return "Word"
    kind = choice.get("type") if isinstance(choice, dict) else getattr(choice, "type", None)
    if kind is None:
        return "Function"
    kinds = {
        "function": "Function",
        "custom": "Custom",
        "namespace": "Namespace",
        "allowed_tools": "AllowedTools",
    }
    return kinds.get(str(kind), "Unusable")


Word = Annotated[Literal["none", "auto", "required"], Tag("Word")]
FlatChoice = Annotated[
    Word
    | Annotated[FlatToolChoice, Tag("Function")]
    | Annotated[FlatToolChoice, Tag("Custom")]
    | Annotated[NamespaceChoice, Tag("Namespace")]
    | Annotated[FlatAllowedTools, Tag("AllowedTools")]
    | Annotated[UnusableChoice, Tag("Unusable")],
    Discriminator(_kind_of_choice),
]
Choice = Annotated[
    Word
    | Annotated[NamedToolChoice, Tag("Function")]
    | Annotated[CustomToolChoice, Tag("Custom")]
    | Annotated[AllowedToolChoice, Tag("AllowedTools")]
    | Annotated[UnusableChoice, Tag("Unusable")]
    | Annotated[UnusableChoice, Tag("Namespace")],
    Discriminator(_kind_of_choice),
]
TOOL_REASONS = {
    "tools.type": "a tool has a type, such as function.",
    "tool_choice.type": "no tool runs at this server; choose a function, a custom tool, or allowed_tools.",
}
"""Why tools and choices are refused that are of no type, or choose what was left out."""

# -- offer -----------------------------------------------------------------------------------------


def offer(
    tools: Sequence[EchoPart], names: ToolNames, chosen: Choice | FlatChoice | None, *, parallel: bool | None
) -> ToolOffer | None:
    """What the request offers under these names, or None.

    Raises `ApiError` for a tool that is there twice or too large, and a choice of what is not offered.
    """
    offered: dict[str, Tool] = {}
    for place, function, definition, preface in _definitions(tools, names):
        if function in offered:
            message = f"The tool {definition.name!r} is offered twice; give each a name of its own."
            raise ApiError(message, param=place, code="invalid_value")
        offered[function] = _tool(function, definition, preface, place)
    if len(offered) > MAX_TOOLS:
        message = f"The request offers {len(offered):,} functions; the limit is {MAX_TOOLS}."
        raise ApiError(message, param="tools", code="invalid_value")
    kind, called = _chosen_functions(chosen, names)
    if not offered and (called or kind == "required"):
        raise unsupported("tool_choice", "no functions and no custom tools are offered.")
    for function in called:
        if function not in offered:
            message = f"No tool {function!r} is offered; the tools are {', '.join(offered)}."
            raise ApiError(message, param="tool_choice", code="invalid_value")
    if not offered:
        return None
    choice = _choice(kind, called)
    return ToolOffer(tools=tuple(offered.values()), choice=choice, parallel=parallel)


_Definition = FunctionDefinition | CustomDefinition


def _definitions(
    tools: Sequence[EchoPart], names: ToolNames
) -> Iterator[tuple[str, str, _Definition, str | None]]:
    """Each with its parameter, its function, and what stands before its description: of a namespace, that of
    all of its tools before the first one.
    """
    for at, tool in enumerate(tools):
        place = f"tools.{at}"
        if isinstance(tool, ToolNamespace):
            preface = tool.description and f"About all tools of {tool.name}: {tool.description}"
            for inside, each in enumerate(tool.tools):
                if isinstance(each, FlatTool | FlatCustomTool):
                    yield f"{place}.tools.{inside}", names.function(each.name, tool.name), each, preface
                    preface = None
            continue
        match tool:
            case ToolDefinition():
                definition: _Definition = tool.function
            case CustomToolDefinition():
                definition = tool.custom
            case FlatTool() | FlatCustomTool():
                definition = tool
            case _:
                continue
        yield place, definition.name, definition, None


_Kind = Literal["auto", "none", "required", "named"]


def _chosen_functions(
    chosen: Choice | FlatChoice | None, names: ToolNames
) -> tuple[_Kind | None, tuple[str, ...]]:
    """How the functions are chosen, and which; none for all of them."""
    match chosen:
        case None:
            return None, ()
        case str():
            return chosen, ()
        case AllowedToolChoice():
            return _allowed(chosen.allowed_tools.mode, chosen.allowed_tools.tools, names)
        case FlatAllowedTools():
            return _allowed(chosen.mode, chosen.tools, names)
        case NamespaceChoice():
            return _allowed("required", (chosen,), names)
        case NamedToolChoice() | CustomToolChoice() | FlatToolChoice():
            return "named", chosen.functions(names)
        case _:
            raise unsupported("tool_choice.type", TOOL_REASONS["tool_choice.type"])


def _allowed(
    mode: Mode, tools: Iterable[AllowedTool | FlatAllowedTool], names: ToolNames
) -> tuple[_Kind, tuple[str, ...]]:
    """A choice among tools that would all run at a server is one of none."""
    functions = tuple(dict.fromkeys(function for tool in tools for function in tool.functions(names)))
    if functions:
        return mode, functions
    if mode == "required":
        raise unsupported("tool_choice", "none of these tools is a function or a custom tool of the request.")
    return "none", ()


def _choice(kind: _Kind | None, functions: tuple[str, ...]) -> ToolChoice | None:
    if kind is None:
        return None
    return (
        ToolChoice(kind=kind, name=functions[0])
        if kind == "named"
        else ToolChoice(kind=kind, names=functions)
    )


def _tool(function: str, definition: _Definition, preface: str | None, place: str) -> Tool:
    texts = [text for text in (preface, definition.description) if text]
    try:
        return Tool.of(
            function,
            description="\n\n".join(texts) if texts else definition.description,
            parameters=definition.schema_of_parameters,
            strict=definition.strict if isinstance(definition, FunctionDefinition) else None,
        )
    except ValueError:
        message = (
            f"The description of the tool has more than {MAX_DESCRIPTION:,} characters, or its schema more "
            f"than {MAX_PARAMETERS:,}; make it smaller."
        )
        raise ApiError(message, param=place, code="invalid_value") from None
