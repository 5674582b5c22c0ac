"""The servers of tools that need nothing but this program: a calculator, and Python in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)

from conductor.errors import FormatError, QueryError, WorkerError
from conductor.limited.command import LIMITS, run_program
from conductor.workers.calculator.calculator_worker import CANNOT, calculation

_Answer = tuple[str, bool]
"""A text, and whether it is an error."""


async def _calculate(expression: str) -> _Answer:
    try:
        lines = await asyncio.to_thread(calculation, expression)
    except (FormatError, QueryError) as error:
        return str(error), True
    return (str(CANNOT), True) if lines is None else ("\n".join(lines), False)


async def _run(code: str) -> _Answer:
    try:
        ended = await run_program(code)
    except WorkerError as error:
        return str(error), True
    why = ended.stopped or (f"exit code {ended.code}" if ended.code else "")
    lines = [ended.output.rstrip("\n"), f"[{why}]" if why else ""]
    return "\n".join(filter(None, lines)) or "[nothing was printed]", bool(why)


def _tool(name: str, parameter: str, description: str) -> Tool:
    hints = ToolAnnotations(
        read_only_hint=True, idempotent_hint=True, destructive_hint=False, open_world_hint=False
    )
    schema = {"type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}
    return Tool(name=name, description=description, input_schema=schema, annotations=hints)


_TOOLS: dict[str, tuple[Tool, Callable[[str], Awaitable[_Answer]]]] = {
    "calculator": (
        _tool("calculate", "expression", "Computes exactly: a formula, percent, units or dates, as 17 * 23."),
        _calculate,
    ),
    "python": (
        _tool(
            "run",
            "code",
            "Runs a program in Python, without a network and without files of its own; the result is what it "
            f"prints. It may take {LIMITS.seconds:g} seconds.",
        ),
        _run,
    ),
}


def built_in_server(name: str) -> Server[Any]:
    """The server of this name, with one tool that takes one text."""
    tool, answer = _TOOLS[name]
    [parameter] = tool.input_schema["required"]

    async def tools(_context: object, _params: object) -> ListToolsResult:
        return ListToolsResult(tools=[tool])

    async def call(_context: object, params: CallToolRequestParams) -> CallToolResult:
        argument = (params.arguments or {}).get(parameter)
        if params.name == tool.name and isinstance(argument, str):
            text, is_error = await answer(argument)
        else:
            text, is_error = f"Call {tool.name} with one text, {parameter!r}.", True
        return CallToolResult(content=[TextContent(text=text)], is_error=is_error)

    return Server(f"conductor-{name}", version="1", on_list_tools=tools, on_call_tool=call)
