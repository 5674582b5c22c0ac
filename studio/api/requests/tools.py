"""Tools in a request: the functions that it offers, calls of them and their results.

Knows OpenAI's shapes and which of them belong together; knows no worker. Other tools than functions and
custom ones would run at a server: none do here, so they are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from conductor.values.conversation import Turn
from conductor.values.message_parts.opaque import is_opaque, opaque
from conductor.values.message_parts.tools import (
    MAX_PARAMETERS,
    MAX_TOOLS,
    Tool,
    ToolCall,
    ToolChoice,
    ToolName,
    ToolOffer,
    call_extra,
)
from studio.access.errors import ApiError
from studio.api.error_answers import unsupported
from studio.api.requests.request import EchoPart, LeftOut, RequestPart
from studio.api.tool_names import INPUT, ToolNames, arguments_of

MAX_DESCRIPTION = 20_000

_Description = Annotated[str, Field(max_length=MAX_DESCRIPTION)] | None
_CallId = Annotated[str, Field(min_length=1, max_length=200)]
_CalledName = Annotated[str, Field(min_length=1, max_length=200)]
_Namespace = Annotated[str, Field(min_length=1, max_length=200)]

# -- definitions -----------------------------------------------------------------------------------


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


def _kind_of_tool(tool: object) -> str:
    kind = tool.get("type") if isinstance(tool, dict) else getattr(tool, "type", None)
    kinds = {"function": "Function", "custom": "Custom", "namespace": "Namespace"}
    return kinds.get(kind, "Other") if isinstance(kind, str) else "Function"


FlatInnerTool = Annotated[
    Annotated[FlatTool, Tag("Function")]
    | Annotated[FlatCustomTool, Tag("Custom")]
    | Annotated[OtherTool, Tag("Other")]
    | Annotated[OtherTool, Tag("Namespace")],
    Discriminator(_kind_of_tool),
]


class ToolNamespace(EchoPart):
    """Tools whose names are unique among themselves; `description` is of all of them."""

    type: Literal["namespace"]
    name: _Namespace
    description: _Description = None
    tools: Annotated[tuple[FlatInnerTool, ...], Field(fail_fast=True, max_length=MAX_TOOLS)] = ()


AnyFlatTool = Annotated[
    Annotated[FlatTool, Tag("Function")]
    | Annotated[FlatCustomTool, Tag("Custom")]
    | Annotated[ToolNamespace, Tag("Namespace")]
    | Annotated[OtherTool, Tag("Other")],
    Discriminator(_kind_of_tool),
]
AnyTool = Annotated[
    Annotated[ToolDefinition, Tag("Function")]
    | Annotated[CustomToolDefinition, Tag("Custom")]
    | Annotated[OtherTool, Tag("Other")]
    | Annotated[OtherTool, Tag("Namespace")],
    Discriminator(_kind_of_tool),
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


# -- choice ----------------------------------------------------------------------------------------


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
        """As of a function."""
        return (names.function(self.custom.name),)


class FlatToolChoice(NamedFunction):
    """This tool of `/v1/responses` is to be called."""

    type: Literal["function", "custom"]
    namespace: _Namespace | None = None

    def functions(self, names: ToolNames) -> tuple[str, ...]:
        """The functions that may be called so."""
        return (names.function(self.name, self.namespace),)


class NamespaceChoice(EchoPart):
    """A tool of this namespace is to be called."""

    type: Literal["namespace"]
    name: _Namespace

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
    Discriminator(_kind_of_tool),
]
FlatAllowedTool = Annotated[
    Annotated[FlatToolChoice, Tag("Function")]
    | Annotated[FlatToolChoice, Tag("Custom")]
    | Annotated[NamespaceChoice, Tag("Namespace")]
    | Annotated[OtherChoice, Tag("Other")],
    Discriminator(_kind_of_tool),
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


# -- calls -----------------------------------------------------------------------------------------


class CalledFunction(EchoPart):
    """What was called; arguments are the text that a worker wrote."""

    name: _CalledName
    arguments: str

    def goes_on(self, name: str, value: object) -> bool:
        return bool(call_extra({name: value}))


class CalledCustomTool(EchoPart):
    """The same of a custom tool."""

    name: _CalledName
    input: str


class MessageToolCall(EchoPart):
    """A call in an earlier answer."""

    id: _CallId
    type: Literal["function"] | None = None
    function: CalledFunction

    def goes_on(self, name: str, value: object) -> bool:
        return self.function.goes_on(name, value)

    def call(self, names: ToolNames) -> ToolCall:
        """As its worker made it, with all that it sent beside."""
        extra = opaque(call_extra(self.model_dump()))
        name = names.function(self.function.name)
        return ToolCall(id=self.id, name=name, arguments=self.function.arguments, extra=extra)


class MessageCustomCall(EchoPart):
    """A call of a custom tool in an earlier answer."""

    id: _CallId
    type: Literal["custom"]
    custom: CalledCustomTool

    def goes_on(self, name: str, value: object) -> bool:
        return bool(call_extra({name: value}))

    def call(self, names: ToolNames) -> ToolCall:
        """As its worker made it, with all that it sent beside."""
        extra = opaque(call_extra(self.model_extra or {}))
        name = names.function(self.custom.name)
        return ToolCall(id=self.id, name=name, arguments=arguments_of(self.custom.input), extra=extra)


def _kind_of_call(call: object) -> str:
    kind = call.get("type") if isinstance(call, dict) else getattr(call, "type", None)
    return "Custom" if kind == "custom" else "Function"


AnyMessageCall: TypeAlias = Annotated[
    Annotated[MessageToolCall, Tag("Function")] | Annotated[MessageCustomCall, Tag("Custom")],
    Discriminator(_kind_of_call),
]


class CallItem(EchoPart):
    """A call among the items of a response, as its own output has it."""

    type: Literal["function_call"]
    call_id: _CallId
    name: _CalledName
    arguments: str
    namespace: _Namespace | None = None

    def goes_on(self, name: str, value: object) -> bool:
        return is_opaque(name, value)

    def call(self, names: ToolNames) -> ToolCall:
        """As its worker made it, with what of its other members are signatures."""
        name = names.function(self.name, self.namespace)
        return ToolCall(id=self.call_id, name=name, arguments=self.arguments, extra=_signatures(self))


class CustomCallItem(EchoPart):
    """A call of a custom tool among the items of a response."""

    type: Literal["custom_tool_call"]
    call_id: _CallId
    name: _CalledName
    input: str
    namespace: _Namespace | None = None

    def goes_on(self, name: str, value: object) -> bool:
        return is_opaque(name, value)

    def call(self, names: ToolNames) -> ToolCall:
        """As its worker made it, with what of its other members are signatures."""
        name, arguments = names.function(self.name, self.namespace), arguments_of(self.input)
        return ToolCall(id=self.call_id, name=name, arguments=arguments, extra=_signatures(self))


def _signatures(item: EchoPart) -> str | None:
    return opaque({name: part for name, part in (item.model_extra or {}).items() if is_opaque(name, part)})


CallIds = Sequence[str] | str | None
"""What a message has to do with calls: the ids of those that it makes, that of the one whose result it is, or
nothing."""


def call_ids(turn: Turn) -> CallIds:
    """What the message has to do with calls."""
    return turn.tool_call_id if turn.role == "tool" else [call.id for call in turn.tool_calls]


def check_calls(messages: Iterable[tuple[int, CallIds]], *, place: str, result: str) -> None:
    """Raise `ApiError` unless each result stands behind its call, and each call has its one result before
    anything else follows.

    Each message stands beside its index in the parameter `place`; `result` is the name of the id in a result.
    """
    unanswered: list[str] = []
    last = 0
    for at, ids in messages:
        last = at
        if isinstance(ids, str):
            if ids not in unanswered:
                param = f"{place}.{at}.{result}"
                message = f"Invalid value for '{param}': no call {ids[:200]!r} before it waits for a result."
                raise ApiError(message, param=param, code="unknown_tool_call")
            unanswered.remove(ids)
            continue
        if unanswered:
            break
        unanswered = list(ids or ())
        if len(set(unanswered)) < len(unanswered):
            param = f"{place}.{at}.tool_calls"
            message = f"Invalid value for '{param}': two calls of one message have the same id."
            raise ApiError(message, param=param, code="invalid_value")
    if unanswered:
        param = f"{place}.{last}"
        message = (
            f"Invalid value for '{param}': the call {unanswered[0][:200]!r} has no result; each call needs "
            "one, in a message right behind it."
        )
        raise ApiError(message, param=param, code="missing_tool_result")
