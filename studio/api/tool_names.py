"""The functions that workers are offered in the place of a client's tools, and which tool each function is.

Knows OpenAI's shapes of tools and of calls, as requests and stored responses have them, so that each process
reads the same from either; knows no store and no schema.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

Shape = Mapping[str, Any]

MAX_NAME = 64
_HASHED = 8
_NO_LETTER = re.compile(r"[^a-zA-Z0-9_-]")

INPUT = "input"
"""The one parameter of a function that stands for a custom tool, whose input is a text."""


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool by the name that its client gives it, which is unique in its `namespace`; `custom`: its input is
    a text.
    """

    name: str
    namespace: str | None = None
    custom: bool = False

    @property
    def named(self) -> dict[str, str]:
        """The name as a call among the items of a response has it."""
        namespace = {} if self.namespace is None else {"namespace": self.namespace}
        return {"name": self.name, **namespace}


class ToolNames:
    """The functions of the tools of one request, by `of`."""

    def __init__(self, tools: Iterable[ClientTool]) -> None:
        self._tools: dict[str, ClientTool] = {}
        self._functions: dict[tuple[str | None, str], str] = {}
        # A tool without a namespace has its own name, whatever stands before it.
        for tool in sorted(tools, key=lambda each: each.namespace is not None):
            if (tool.namespace, tool.name) not in self._functions:
                function = self._free(tool)
                self._tools[function] = tool
                self._functions[tool.namespace, tool.name] = function

    @classmethod
    def of(cls, tools: Iterable[Shape]) -> ToolNames:
        """Of the `tools` of a request or of a response."""
        return cls(each for tool in tools for each in _client_tools(tool))

    @property
    def offered(self) -> bool:
        return bool(self._tools)

    def function(self, name: str, namespace: str | None = None) -> str:
        """The function of the tool of that name. Clients may leave the namespace out of a call that they send
        back; a name that is in one namespace only is unique without it.
        """
        if (function := self._functions.get((namespace, name))) is not None:
            return function
        if namespace is not None:
            return _joined(namespace, name)
        inside = [self._functions[key] for key in self._functions if key[1] == name]
        return inside[0] if len(inside) == 1 else name

    def in_namespace(self, namespace: str) -> tuple[str, ...]:
        """The functions of all of its tools."""
        return tuple(function for key, function in self._functions.items() if key[0] == namespace)

    def tool(self, function: str) -> ClientTool:
        """The tool of that function; a worker may also call what is not offered."""
        return self._tools.get(function) or ClientTool(function)

    def _free(self, tool: ClientTool) -> str:
        if tool.namespace is None:
            return tool.name
        function = _joined(tool.namespace, tool.name)
        return _hashed(tool.namespace, tool.name) if function in self._tools else function


def _client_tools(tool: Shape, namespace: str | None = None) -> Iterator[ClientTool]:
    kind = tool.get("type")
    if kind == "namespace":
        for each in tool.get("tools") or ():
            yield from _client_tools(each, tool["name"])
    elif kind in ("function", "custom"):
        # A chat completion has the name one level down.
        own = tool.get(kind) or tool
        yield ClientTool(own["name"], namespace, custom=kind == "custom")


def _joined(namespace: str, name: str) -> str:
    """A function's name of both, which reads like them where it can."""
    own = _NO_LETTER.sub("_", namespace)
    function = f"{own}{name}" if own.endswith("__") else f"{own}__{name}"
    return function if len(function) <= MAX_NAME else _hashed(namespace, name)


def _hashed(namespace: str, name: str) -> str:
    both = json.dumps([namespace, name]).encode()
    end = f"_{hashlib.blake2s(both).hexdigest()[:_HASHED]}"
    return _NO_LETTER.sub("_", f"{namespace}__{name}")[: MAX_NAME - len(end)] + end


def arguments_of(text: str) -> str:
    """The arguments of a function's call that stands for a custom tool's with this input."""
    return json.dumps({INPUT: text}, ensure_ascii=False)


def input_of(arguments: str) -> str:
    """The input of a custom tool's call: as far as it was written, where the worker was cut off, and all that
    the worker wrote, where that is not the object that it was asked for.
    """
    try:
        read = from_json(arguments, allow_partial="trailing-strings")
    except ValueError:
        return arguments
    text = read.get(INPUT) if isinstance(read, dict) else None
    return text if isinstance(text, str) else arguments
