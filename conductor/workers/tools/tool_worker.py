"""A worker that may call tools: its answer, the results of what it calls, and its answer to those.

Knows the worker protocol and the tools of servers; how a server is reached is in `connections`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from conductor.errors import ToolError, WorkerError
from conductor.text.bounded_value import json_value
from conductor.values.message_parts.tool_use import ToolRequest, ToolUse
from conductor.values.message_parts.tools import MAX_TOOLS, Tool, ToolCall, ToolChoice, ToolOffer
from conductor.values.messages import (
    NOTHING_USED,
    CallDelta,
    Completion,
    Delta,
    Message,
    Part,
    Request,
    Retried,
    Thought,
)
from conductor.workers.pool.fallback import FallbackWorker, limited
from conductor.workers.protocol import (
    RunsWorkflows,
    StreamItem,
    ToolsCalled,
    ToolsOffered,
    ToolsReturned,
    Worker,
    WorkerCard,
)
from conductor.workers.stream import Opened, called, unended
from conductor.workers.tools.connections import ToolConnections, connections
from conductor.workers.tools.named_tools import allowed, wire_name
from conductor.workers.tools.tool_server import ServedTool, ToolServer

ROUNDS = 8
"""How often a worker may call tools before it must answer."""

_NO_MORE = ToolChoice(kind="none")


@dataclass(frozen=True)
class ToolWorker:
    """`worker` with the tools that `patterns` name (see `allowed`) of these `servers`. Of a server that is
    not among the `acting` ones it gets only tools that read. `within`: of all these only those that a step
    names; each name has to fit one where the worker is the step's `own`.
    """

    worker: Worker
    servers: tuple[ToolServer, ...]
    patterns: tuple[str, ...]
    acting: frozenset[str] = frozenset()
    rounds: int = ROUNDS
    within: tuple[str, ...] | None = None
    own: bool = True
    connections: ToolConnections = field(default_factory=connections)

    @cached_property
    def card(self) -> WorkerCard:
        own = self.worker.card
        tools = [*self.patterns, *(server.model_dump_json() for server in self.servers)]
        return own.model_copy(
            update={"tools": self.patterns, "parameters": json.dumps([own.parameters, *tools])}
        )

    def only(self, names: Collection[str]) -> Worker:
        """See `CallsOthers`."""
        return replace(self, worker=limited(self.worker, names))

    async def stream(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        """See `Worker.stream`. Raises `WorkerError` where a server does not answer."""
        own = await self._tools()
        offer = request.sampling.tools
        clients = frozenset(() if offer is None else (tool.name for tool in offer.tools))
        if own:
            request = _offering(request, own)
            yield ToolsOffered(request=request)
        for left in range(self.rounds, -1, -1):
            if own and not left:
                request = _with_offer(request, choice=_NO_MORE)
            answer, completion = _Answer(clients), None
            async with Opened(called(self.worker, request)) as items:
                async for item in items:
                    if isinstance(item, Completion):
                        completion = item
                        break
                    if (passed := answer.passed(item)) is not None:
                        yield passed
            if completion is None:
                raise unended(self.worker.card.name)
            calls = tuple(call for call in completion.tool_calls if call.name not in clients)
            if not calls or len(calls) < len(completion.tool_calls):
                # A client that is to call its own tools would have to answer for these, too.
                others = tuple(call for call in completion.tool_calls if call not in calls)
                yield replace(completion, tool_calls=others)
                return
            if not left:
                raise WorkerError(
                    f"{self.worker.card.name} called tools {self.rounds} times and gave no answer; raise "
                    "tool_rounds in the pool file, or change the instruction.",
                    used=completion.usage,
                )
            if rest := completion.text[len(answer.text) :]:
                yield Delta(rest)
            requests = tuple(_request_of(call, own) for call in calls)
            yield ToolsCalled(
                calls=requests, used=completion.usage, text=completion.text, reasoning=completion.reasoning
            )
            uses = await self._results(requests, own)
            request = _going_on(request, completion, uses)
            yield ToolsReturned(uses=uses, request=request)

    async def _tools(self) -> Mapping[str, ServedTool]:
        """By the name that the model is offered. Raises `WorkerError` where a pattern gives none."""
        if self.within == ():
            return {}
        try:
            lists = [await self.connections.tools(server) for server in self.servers]
        except ToolError as error:
            raise WorkerError(f"{self.worker.card.name} has no tools: {error}", used=NOTHING_USED) from error
        served = [tool for tools in lists for tool in tools]
        usable = [tool for tool in served if tool.reads_only or tool.server in self.acting]
        for pattern in self.patterns:
            if not allowed([pattern], usable):
                raise WorkerError(self._missing(pattern, served), used=NOTHING_USED)
        tools = allowed(self.patterns, usable)
        if self.within is not None:
            others, tools = tools, allowed(self.within, tools)
            for pattern in self.within if self.own else ():
                if not allowed([pattern], tools):
                    raise WorkerError(_not_its_own(pattern, self.worker.card.name, others), used=NOTHING_USED)
        if len(tools) > MAX_TOOLS:
            raise WorkerError(
                f"{self.worker.card.name} has {len(tools)} tools, and a model takes {MAX_TOOLS}; name "
                "fewer in its tools.",
                used=NOTHING_USED,
            )
        return {wire_name(tool): tool for tool in tools}

    def _missing(self, pattern: str, served: Sequence[ServedTool]) -> str:
        """Why a pattern names no tool that may be called."""
        named = ", ".join(tool.name for tool in allowed([pattern], served))
        if named:
            return (
                f"{self.worker.card.name} may call no tool of {pattern!r}: {named[:300]} may act, as far as "
                'their server states; ask = "never" in its [[tools]] table allows that.'
            )
        server = pattern.partition(":")[0]
        others = ", ".join(tool.name for tool in served if tool.server == server) or "none"
        return (
            f"{self.worker.card.name} names the tools {pattern!r}, and the server {server} has "
            f"{others[:300]}; correct tools in the pool file."
        )

    async def _results(
        self, requests: tuple[ToolRequest, ...], tools: Mapping[str, ServedTool]
    ) -> tuple[ToolUse, ...]:
        """What the calls answer, which are made at once. Raises `WorkerError`."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._result(request, tools)) for request in requests]
        except* ToolError as errors:
            raise WorkerError(str(errors.exceptions[0]), used=NOTHING_USED) from errors
        return tuple(task.result() for task in tasks)

    async def _result(self, request: ToolRequest, tools: Mapping[str, ServedTool]) -> ToolUse:
        tool = tools.get(request.call.name)
        if tool is None:
            return _refused(request, f"There is no tool {request.call.name}; there are {', '.join(tools)}.")
        arguments = _arguments(request.call)
        if arguments is None:
            return _refused(request, "The arguments are not a JSON object.")
        server = next(server for server in self.servers if server.name == tool.server)
        result = await self.connections.call(server, tool.name, arguments)
        return ToolUse(
            **dict(request),
            result=result.text,
            is_error=result.is_error,
            seconds=result.seconds,
            cut=result.cut,
            repeatable=bool(tool.idempotent),
            allowed_by="reads" if tool.reads_only else "pool",
            server_version=tool.server_version,
        )


def without_tools(worker: Worker) -> Worker:
    """The worker, and its fallbacks, that answer by themselves."""
    if isinstance(worker, FallbackWorker):
        return FallbackWorker(without_tools(worker.first), without_tools(worker.second))
    if isinstance(worker, RunsWorkflows):
        return worker.without_tools()
    return worker.worker if isinstance(worker, ToolWorker) else worker


def with_step_tools(worker: Worker, tools: tuple[str, ...] | None, *, own: bool = True) -> Worker:
    """The worker, and its fallbacks, with those of their tools that a step names; None: with all.

    Raises `WorkerError` where a step's `own` worker has no tools, and the step names some. Of others, which
    answer in its place, each has those that it has.
    """
    if tools is None:
        return worker
    if isinstance(worker, FallbackWorker):
        first = with_step_tools(worker.first, tools, own=own)
        return FallbackWorker(first, with_step_tools(worker.second, tools, own=False))
    if isinstance(worker, ToolWorker):
        return replace(worker, within=tools, own=own)
    if tools and own:
        raise WorkerError(_not_its_own(tools[0], worker.card.name, ()), used=NOTHING_USED)
    return without_tools(worker)


def _not_its_own(pattern: str, worker: str, others: Sequence[ServedTool]) -> str:
    there = ", ".join(f"{tool.server}:{tool.name}" for tool in others) or "none"
    return (
        f"The step names the tools {pattern!r}, and {worker} may call {there[:300]}; change the step's "
        "tools, or its worker."
    )


class _Answer:
    """An answer while it comes: its `text` so far. `clients` are the names of the client's tools."""

    def __init__(self, clients: Collection[str]) -> None:
        self.text = ""
        self._clients = clients
        self._places: dict[int, int | None] = {}

    def passed(self, item: StreamItem) -> StreamItem | None:
        """The item as it is passed on; None for a piece of a call that is not the client's."""
        if isinstance(item, CallDelta):
            if item.index not in self._places:
                place = sum(place is not None for place in self._places.values())
                self._places[item.index] = place if item.name in self._clients else None
            own = self._places[item.index]
            return None if own is None else replace(item, index=own)
        if isinstance(item, Delta):
            self.text += item.text
        elif isinstance(item, Thought) and item.recalls:
            self.text = self.text[: -item.recalls]
        elif isinstance(item, Retried) and item.withdrawn:
            self.text = ""
            self._places.clear()
        return item


def _with_offer(request: Request, **changes: object) -> Request:
    """The request with an offer of tools that has these changes."""
    offer = request.sampling.tools
    assert offer is not None, "tools are offered"
    sampling = request.sampling.model_copy(update={"tools": offer.model_copy(update=changes)})
    return replace(request, sampling=sampling)


def _offering(request: Request, own: Mapping[str, ServedTool]) -> Request:
    """The request with these tools, after those of the client."""
    tools = tuple(
        Tool(name=name, description=tool.description or None, parameters=tool.parameters)
        for name, tool in own.items()
    )
    offer = request.sampling.tools
    if offer is None:
        sampling = request.sampling.model_copy(update={"tools": ToolOffer(tools=tools)})
        return replace(request, sampling=sampling)
    choice = offer.choice
    if choice is not None and choice.names:
        choice = choice.model_copy(update={"names": (*choice.names, *own)})
    return _with_offer(request, tools=(*offer.tools, *tools), choice=choice)


def _request_of(call: ToolCall, own: Mapping[str, ServedTool]) -> ToolRequest:
    """The call with the tool that it names; one that is not offered has no server."""
    tool = own.get(call.name)
    if tool is None:
        return ToolRequest(server="", tool=call.name, call=call)
    return ToolRequest(server=tool.server, tool=tool.name, call=call)


def _arguments(call: ToolCall) -> dict[str, Any] | None:
    """The arguments of a call; None if they are not a JSON object."""
    try:
        arguments = json_value(call.arguments or "{}")
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None


def _refused(request: ToolRequest, reason: str) -> ToolUse:
    """The use of a tool that no server was asked for."""
    return ToolUse(**dict(request), result=reason, is_error=True, repeatable=True)


def _going_on(request: Request, completion: Completion, uses: Collection[ToolUse]) -> Request:
    """The request with the answer that called tools, and their results."""
    before = (Part("turn", completion.text),) if completion.text.strip() else ()
    answer = Message("assistant", before, completion.tool_calls, thoughts=completion.thoughts)
    results = (Message("tool", (Part("turn", _words(use)),), tool_call_id=use.call.id) for use in uses)
    return replace(request, messages=(*request.messages, answer, *results))


def _words(use: ToolUse) -> str:
    return f"Error: {use.result}" if use.is_error else use.result
