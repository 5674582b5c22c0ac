"""One answer of a model that is offered tools: what it is offered, and what it calls.

Knows the tools of a worker by the names that its model sees; calls none of them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import replace

from conductor.values.message_parts.tool_use import ToolRequest
from conductor.values.message_parts.tools import Tool, ToolCall, ToolChoice, ToolOffer
from conductor.values.messages import CallDelta, Completion, Delta, Message, Part, Request, Retried, Thought
from conductor.workers.protocol import StreamItem, ToolsCalled, Worker
from conductor.workers.stream import Opened, called, unended
from conductor.workers.tools.tool_server import ServedTool

_NO_MORE = ToolChoice(kind="none")
_NOTHING = Delta("")


class ModelAnswer:
    """One answer of a model: its `text` so far, and at its end what it `called`, None if it called no tool.
    `clients` are the names of the client's tools, `own` the worker's by wire name.
    """

    def __init__(self, clients: Collection[str], own: Mapping[str, ServedTool]) -> None:
        self.text = ""
        self.called: ToolsCalled | None = None
        self._clients = clients
        self._own = own
        self._places: dict[int, int | None] = {}

    async def stream(self, worker: Worker, request: Request) -> AsyncGenerator[StreamItem, None]:
        """Its items as they are passed on. Raises `WorkerError`."""
        async with Opened(called(worker, request)) as items:
            async for item in items:
                if isinstance(item, Completion):
                    end = self._end(item)
                    if end != _NOTHING:
                        yield end
                    return
                if (passed := self.passed(item)) is not None:
                    yield passed
        raise unended(worker.card.name)

    def _end(self, completion: Completion) -> StreamItem:
        """The completion, or the rest of the text before the calls."""
        calls = tuple(call for call in completion.tool_calls if call.name not in self._clients)
        if not calls or len(calls) < len(completion.tool_calls):
            # A client that is to call its own tools would have to answer for these, too.
            others = tuple(call for call in completion.tool_calls if call not in calls)
            return replace(completion, tool_calls=others)
        before = (Part("turn", completion.text),) if completion.text.strip() else ()
        self.called = ToolsCalled(
            calls=tuple(_request_of(call, self._own) for call in calls),
            answer=Message("assistant", before, completion.tool_calls, thoughts=completion.thoughts),
            used=completion.usage,
            text=completion.text,
            reasoning=completion.reasoning,
        )
        return Delta(completion.text[len(self.text) :])

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


def offering(request: Request, own: Mapping[str, ServedTool]) -> Request:
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


def without_calls(request: Request) -> Request:
    """The request whose answer may call no tool."""
    return _with_offer(request, choice=_NO_MORE)


def _request_of(call: ToolCall, own: Mapping[str, ServedTool]) -> ToolRequest:
    """The call with the tool that it names; one that is not offered has no server."""
    tool = own.get(call.name)
    if tool is None:
        return ToolRequest(server="", tool=call.name, call=call)
    return ToolRequest(server=tool.server, tool=tool.name, call=call, acts=not tool.reads_only)
