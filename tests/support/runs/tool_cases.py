"""A model that calls tools, and the servers of those tools, as tests script them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conductor.runs.events import (
    Event,
    RunFinished,
    RunStarted,
    StepCancelled,
    StepFinished,
    StepStarted,
    StepToolsCalled,
    StepToolsReturned,
)
from conductor.values.charge import Charge
from conductor.values.message_parts.tool_use import ToolRequest, ToolUse
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Completion, Delta, Message, Part, Request, Usage
from conductor.values.output import Output
from conductor.workers.protocol import StreamItem, WorkerCard
from conductor.workers.tools.connections import ToolConnections
from conductor.workers.tools.tool_server import ServedTool, ToolResult, ToolServer
from conductor.workers.tools.tool_worker import ToolWorker
from conductor.workflow.model import Step, Workflow
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


HOSTILE = '<img src=x onerror="alert(1)"> **bold** [a](javascript:1) `$x$`'


def tool_uses(text: str = HOSTILE) -> tuple[ToolUse, ToolUse]:
    """A call with a result, and one whose arguments a person changed and that failed; all is this text."""
    arguments = json.dumps({"path": text})
    one = ToolCall(id="c1", name="files__read", arguments=arguments)
    other = ToolCall(id="c2", name="files__write", arguments=text)
    return (
        ToolUse(
            server="files", tool="read", call=one, result=text, seconds=0.5, cut=60_000, repeatable=True,
            allowed_by="reads", server_version="files 1.2",
        ),
        ToolUse(
            server="files", tool=text, call=other, result=text, seconds=1.5, is_error=True,
            allowed_by="person", sent=arguments,
        ),
    )  # fmt: skip


def tool_events(text: str = HOSTILE, *, end: str = "finished") -> list[Event]:
    """A step with a request whose answer calls two tools at once, from second 1 to 4, and one whose answer is
    the step's or, where `end` is "cancelled", calls one more and is stopped; from the Unix second 1000 on.
    """
    uses = tool_uses(text)
    request = Request(messages=(Message("user", (Part("query", "Why?"), Part("instruction", "Look."))),))
    calling = Message("assistant", (Part("turn", text),), tuple(use.call for use in uses))
    results = (Message("tool", (Part("turn", use.result),), tool_call_id=use.call.id) for use in uses)
    then = replace(request, messages=(*request.messages, calling, *results))
    calls = tuple(ToolRequest(server=use.server, tool=use.tool, call=use.call) for use in uses)
    workflow = Workflow.of([Step(instruction="Look.", worker="alpha")])
    of_step: dict[str, Any] = {"run": "r", "step": 0}
    charge = Charge(worker="alpha", kind="model", purpose="step", usage=Usage(prompt_tokens=9))
    before: list[Event] = [
        RunStarted(run="r", seq=0, at=1_000, query="Why?", workflow=workflow),
        StepStarted(
            **of_step, seq=1, at=1_000, worker="alpha", worker_kind="model", fingerprint="f", request=request
        ),
        StepToolsCalled(**of_step, seq=2, at=1_001, calls=calls, charge=charge),
        StepToolsReturned(**of_step, seq=3, at=1_004, uses=uses, request=then),
    ]
    if end == "cancelled":
        return [
            *before,
            StepToolsCalled(**of_step, seq=4, at=1_005, calls=calls[:1], charge=charge),
            StepCancelled(**of_step, seq=5, at=1_006, seconds=6),
            RunFinished(run="r", seq=6, at=1_006, outcome="cancelled", answer=None, answer_step=None),
        ]
    output = Output(
        fingerprint="f",
        text="So it is.",
        worker="alpha",
        worker_kind="model",
        seconds=6,
        run="r",
        step=0,
        tool_uses=uses,
    )
    return [
        *before,
        StepFinished(**of_step, seq=4, at=1_006, output=output, charge=charge),
        RunFinished(run="r", seq=5, at=1_006, outcome="finished", answer="So it is.", answer_step=0),
    ]
