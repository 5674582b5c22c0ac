"""Tools in a request: the functions that it offers, calls of them and their results.

Knows OpenAI's shapes and which of them belong together; knows no worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

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
from studio.api.requests.request import EchoPart, RequestPart, Unsupported

MAX_DESCRIPTION = 20_000


class FunctionDefinition(RequestPart):
    """What can be called; `parameters` is a JSON Schema."""

    name: ToolName
    description: Annotated[str, Field(max_length=MAX_DESCRIPTION)] | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolDefinition(EchoPart):
    """A tool; other kinds than functions are refused."""

    type: Literal["function"]
    function: FunctionDefinition


class NamedFunction(RequestPart):
    """A function by its name."""

    name: ToolName


class NamedToolChoice(RequestPart):
    """This tool is to be called."""

    type: Literal["function"]
    function: NamedFunction

    @property
    def choice(self) -> ToolChoice:
        return ToolChoice(kind="named", name=self.function.name)


class AllowedTools(RequestPart):
    """One of these may be called, or is to be."""

    mode: Literal["auto", "required"]
    tools: Annotated[tuple[NamedToolChoice, ...], Field(fail_fast=True, min_length=1, max_length=MAX_TOOLS)]


class AllowedToolChoice(RequestPart):
    """No other tools may be called than these."""

    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools

    @property
    def choice(self) -> ToolChoice:
        names = tuple(tool.function.name for tool in self.allowed_tools.tools)
        return ToolChoice(kind=self.allowed_tools.mode, names=names)


class CalledFunction(EchoPart):
    """What was called; arguments are the text that a worker wrote."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    arguments: str

    def goes_on(self, name: str, value: object) -> bool:
        return bool(call_extra({name: value}))


class MessageToolCall(EchoPart):
    """A call in an earlier answer."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    type: Literal["function"] | None = None
    function: CalledFunction

    def goes_on(self, name: str, value: object) -> bool:
        return self.function.goes_on(name, value)

    @property
    def call(self) -> ToolCall:
        """The call with all that its worker sent beside it."""
        extra = opaque(call_extra(self.model_dump()))
        function = self.function
        return ToolCall(id=self.id, name=function.name, arguments=function.arguments, extra=extra)


class CallItem(EchoPart):
    """A call among the items of a response, as its own output has it."""

    type: Literal["function_call"]
    call_id: Annotated[str, Field(min_length=1, max_length=200)]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    arguments: str
    caller: Unsupported = None
    namespace: Unsupported = None

    def goes_on(self, name: str, value: object) -> bool:
        return is_opaque(name, value)

    @property
    def call(self) -> ToolCall:
        """The call with what of its other members are signatures."""
        extra = {name: value for name, value in (self.model_extra or {}).items() if is_opaque(name, value)}
        return ToolCall(id=self.call_id, name=self.name, arguments=self.arguments, extra=opaque(extra))


class _OfFunctions(RequestPart):
    """Other kinds than functions are refused."""

    type: Literal["function"]


class FlatTool(EchoPart, FunctionDefinition, _OfFunctions):
    """A tool of `/v1/responses`."""


class FlatToolChoice(NamedFunction, _OfFunctions):
    """This tool is to be called."""

    @property
    def choice(self) -> ToolChoice:
        return ToolChoice(kind="named", name=self.name)


class FlatAllowedTools(RequestPart):
    """No other tools may be called than these."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Annotated[tuple[FlatToolChoice, ...], Field(fail_fast=True, min_length=1, max_length=MAX_TOOLS)]

    @property
    def choice(self) -> ToolChoice:
        return ToolChoice(kind=self.mode, names=tuple(tool.name for tool in self.tools))


def _kind_of_choice(choice: object) -> str:
    if isinstance(choice, str):
        return "Word"
    kind = choice.get("type") if isinstance(choice, dict) else None
    return "AllowedTools" if kind == "allowed_tools" else "NamedTool"


Word = Annotated[Literal["none", "auto", "required"], Tag("Word")]


FlatTools = Annotated[tuple[FlatTool, ...], Field(fail_fast=True, max_length=MAX_TOOLS)]
FlatChoice = Annotated[
    Word | Annotated[FlatToolChoice, Tag("NamedTool")] | Annotated[FlatAllowedTools, Tag("AllowedTools")],
    Discriminator(_kind_of_choice),
]
Tools = Annotated[tuple[ToolDefinition, ...], Field(fail_fast=True, max_length=MAX_TOOLS)]
Choice = Annotated[
    Word | Annotated[NamedToolChoice, Tag("NamedTool")] | Annotated[AllowedToolChoice, Tag("AllowedTools")],
    Discriminator(_kind_of_choice),
]


def offer(
    functions: Sequence[FunctionDefinition], chosen: Choice | FlatChoice | None, *, parallel: bool | None
) -> ToolOffer | None:
    """What the request offers, or None.

    Raises `ApiError` for a tool that is there twice or too large, and a choice of what is not offered.
    """
    names = [function.name for function in functions]
    for at, name in enumerate(names):
        if name in names[:at]:
            message = f"The tool {name!r} is offered twice; give each a name of its own."
            raise ApiError(message, param=f"tools.{at}", code="invalid_value")
    choice = _choice(chosen)
    if not names:
        if choice is not None and (choice.called or choice.kind == "required"):
            raise unsupported("tool_choice", "no tools are offered.")
        return None
    for name in () if choice is None else choice.called:
        if name not in names:
            message = f"No tool {name!r} is offered; the tools are {', '.join(names)}."
            raise ApiError(message, param="tool_choice", code="invalid_value")
    tools = tuple(_tool(function, at) for at, function in enumerate(functions))
    return ToolOffer(tools=tools, choice=choice, parallel=parallel)


def _choice(chosen: Choice | FlatChoice | None) -> ToolChoice | None:
    if chosen is None:
        return None
    return ToolChoice(kind=chosen) if isinstance(chosen, str) else chosen.choice


def _tool(function: FunctionDefinition, at: int) -> Tool:
    try:
        return Tool.of(
            function.name,
            description=function.description,
            parameters=function.parameters,
            strict=function.strict,
        )
    except ValueError:
        message = f"The schema of the tool has more than {MAX_PARAMETERS:,} characters; make it smaller."
        raise ApiError(message, param=f"tools.{at}", code="invalid_value") from None


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
