"""Calls of tools in a request, and their results.

Knows OpenAI's shapes and which of them belong together; knows no worker.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag

from conductor.values.conversation import Turn
from conductor.values.message_parts.opaque import is_opaque, opaque
from conductor.values.message_parts.tools import ToolCall, call_extra
from studio.access.errors import ApiError
from studio.api.requests.request import EchoPart
from studio.api.requests.tool_definitions import Namespace
from studio.api.tool_names import ToolNames, arguments_of

_CallId = Annotated[str, Field(min_length=1, max_length=200)]
_CalledName = Annotated[str, Field(min_length=1, max_length=200)]


def _arguments(written: object) -> object:
    """The text of arguments that a client has read, as Ollama's and LangChain's, or left out."""
    return json.dumps(written or {}, ensure_ascii=False) if isinstance(written, dict | None) else written


_Arguments = Annotated[str, BeforeValidator(_arguments)]


class CalledFunction(EchoPart):
    """What was called; arguments are the text that a worker wrote."""

    name: _CalledName
    arguments: _Arguments

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


class _AnyCallItem(EchoPart):
    """A call among the items of a response, as its own output has it. Some of its other members are
    signatures.
    """

    call_id: _CallId
    name: _CalledName
    namespace: Namespace | None = None

    def goes_on(self, name: str, value: object) -> bool:
        return is_opaque(name, value)

    def _tool_call(self, arguments: str, names: ToolNames) -> ToolCall:
        members = (self.model_extra or {}).items()
        extra = opaque({name: part for name, part in members if is_opaque(name, part)})
        name = names.function(self.name, self.namespace)
        return ToolCall(id=self.call_id, name=name, arguments=arguments, extra=extra)


class CallItem(_AnyCallItem):
    """A call of a function."""

    type: Literal["function_call"]
    arguments: _Arguments

    def call(self, names: ToolNames) -> ToolCall:
        return self._tool_call(self.arguments, names)


class CustomCallItem(_AnyCallItem):
    """A call of a custom tool."""

    type: Literal["custom_tool_call"]
    input: str

    def call(self, names: ToolNames) -> ToolCall:
        return self._tool_call(arguments_of(self.input), names)


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
