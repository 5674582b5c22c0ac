"""A model that calls tools, and the servers of those tools, as tests script them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Completion, Delta, Request, Usage
from conductor.workers.protocol import StreamItem, WorkerCard
from conductor.workers.tools.connections import ToolConnections
from conductor.workers.tools.tool_server import ServedTool, ToolResult, ToolServer
from conductor.workers.tools.tool_worker import ToolWorker
from tests.support.runs.worker_cases import card_of

FILES = ToolServer(name="files", command=("files",))

READ = ServedTool(server="files", name="read", description="Reads a file.", reads_only=True, idempotent=True)
LOOK = ServedTool(server="files", name="look", description="Looks what is there.", reads_only=True)
WRITE = ServedTool(server="files", name="write", description="Writes a file.", reads_only=False)


def calling(
    name: str, arguments: str = "{}", *, id: str = "c1", text: str = "", thought: str = ""
) -> Completion:
    """An answer that calls a tool."""
    return calls(ToolCall(id=id, name=name, arguments=arguments), text=text, thought=thought)


def calls(*own: ToolCall, text: str = "", thought: str = "") -> Completion:
    usage = Usage(prompt_tokens=10, completion_tokens=2, cost=0.5)
    return Completion(text, reasoning=thought, usage=usage, finish_reason="tool_calls", tool_calls=own)


def saying(text: str) -> Completion:
    return Completion(text, usage=Usage(prompt_tokens=20, completion_tokens=1, cost=0.25))


@dataclass
class Caller:
    """A model that gives these answers in turn, each in one piece; the last one for ever."""

    answers: Sequence[Completion | Exception]
    name: str = "alpha"
    requests: list[Request] = field(default_factory=list)

    @property
    def card(self) -> WorkerCard:
        return card_of(self.name).model_copy(update={"kind": "model", "takes_tools": True})

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
        self.requests.append(request)
        if isinstance(answer, Exception):
            raise answer
        if answer.text:
            yield Delta(answer.text)
        yield answer


@dataclass
class ScriptedTools(ToolConnections):
    """Servers that offer these tools; `answer` is awaited for each call, which `log` has in order."""

    answer: Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]
    offered: Sequence[ServedTool] = (READ, LOOK, WRITE)
    log: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    async def tools(self, server: ToolServer) -> tuple[ServedTool, ...]:
        return tuple(tool for tool in self.offered if tool.server == server.name)

    def version(self, server: ToolServer) -> str | None:
        return next((tool.server_version for tool in self.offered if tool.server == server.name), None)

    async def call(self, server: ToolServer, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        assert server == FILES
        self.log.append((tool, arguments))
        return await self.answer(tool, arguments)


async def contents(tool: str, arguments: Mapping[str, Any]) -> ToolResult:
    """What a tool of these answers, at once."""
    return ToolResult(text=f"{tool} gave {arguments.get('path', 'nothing')}", seconds=0.5)


def with_tools(
    model: Caller, tools: ScriptedTools | None = None, *, patterns: Sequence[str] = ("files",), **more: Any
) -> ToolWorker:
    """The model with the tools of one server."""
    return ToolWorker(model, (FILES,), tuple(patterns), connections=tools or ScriptedTools(contents), **more)
