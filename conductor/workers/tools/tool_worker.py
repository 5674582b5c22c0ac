"""A worker that may call tools: its answer, the results of what it calls, and its answer to those.

Knows the worker protocol and the tools of servers; how a server is reached is in `connections`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from conductor.errors import ToolError, WorkerError
from conductor.own_settings import command_name
from conductor.text.bounded_value import json_object
from conductor.values.message_parts.tool_use import ToolDecision, ToolQuestion, ToolRequest, ToolTurn, ToolUse
from conductor.values.message_parts.tools import MAX_TOOLS
from conductor.values.messages import (
    NOTHING_USED,
    Message,
    Part,
    Request,
)
from conductor.workers.pool.fallback import FallbackWorker, limited_worker
from conductor.workers.protocol import (
    RunsWorkflows,
    StreamItem,
    ToolsContinued,
    ToolsHeld,
    ToolsOffered,
    ToolsReturned,
    Worker,
    WorkerCard,
)
from conductor.workers.tools.connections import ToolConnections, connections
from conductor.workers.tools.model_answer import ModelAnswer, offering, without_calls
from conductor.workers.tools.permissions import Permissions, RecordedResults, decided_use, without_call
from conductor.workers.tools.tool_server import ServedTool, ToolServer, allowed, wire_name

ROUNDS = 8
"""How often a worker may call tools before it must answer."""

_OUTAGE = "no tool server"


@dataclass(frozen=True)
class ToolWorker:
    """`worker` with the tools that `patterns` name (see `allowed`) of these `servers`, as far as
    `permissions` let it. `within`: of all these only those that a step names; each name has to fit one where
    the worker is the step's `own`. Calls that `recorded` has are answered from there. Before a tool acts it
    awaits `stored`, which returns once all that was yielded so far is durable. It goes on from `turn`, if
    there is one, with what a person decided of its calls, by their positions.
    """

    worker: Worker
    servers: tuple[ToolServer, ...]
    patterns: tuple[str, ...]
    permissions: Permissions = Permissions()
    rounds: int = ROUNDS
    within: tuple[str, ...] | None = None
    own: bool = True
    connections: ToolConnections = field(default_factory=connections)
    recorded: RecordedResults | None = None
    stored: Callable[[], Awaitable[None]] | None = None
    turn: ToolTurn | None = None
    decisions: Mapping[int, ToolDecision] = field(default_factory=dict)

    @cached_property
    def card(self) -> WorkerCard:
        own = self.worker.card
        tools = [*self.patterns, *(server.model_dump_json() for server in self.servers)]
        if self.permissions.limit is not None:
            tools.append(json.dumps(["only", *self.permissions.limit]))
        return own.model_copy(
            update={"tools": self.patterns, "parameters": json.dumps([own.parameters, *tools])}
        )

    def only(self, names: Collection[str]) -> Worker:
        """See `CallsOthers`."""
        return replace(self, worker=limited_worker(self.worker, names))

    async def stream(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        """See `Worker.stream`; its last item is a `ToolsHeld` where a person is to be asked. Raises
        `WorkerError` where a server does not answer.
        """
        own = await self._tools()
        offer = request.sampling.tools
        clients = frozenset(() if offer is None else (tool.name for tool in offer.tools))
        calls, rounds, turn, decisions = tuple[ToolRequest, ...](), 0, self.turn, self.decisions
        if turn is not None:
            rounds = _rounds(turn.request) - _rounds(request)
            request, calls = turn.request, turn.calls
            yield ToolsContinued(turn=turn)
        elif own:
            request = offering(request, own)
            yield ToolsOffered(request=request)
        unsure = turn is not None and not turn.waits
        while True:
            if not calls:
                if own and rounds >= self.rounds:
                    request = without_calls(request)
                answer = ModelAnswer(clients, own)
                async for item in answer.stream(self.worker, request):
                    yield item
                called = answer.called
                if called is None:
                    return
                if rounds >= self.rounds:
                    raise WorkerError(
                        f"{self.worker.card.name} called tools {self.rounds} times and gave no answer; raise "
                        "tool_rounds in the pool file, or change the instruction.",
                        used=called.used,
                    )
                yield called
                calls, rounds = called.calls, rounds + 1
                request = replace(request, messages=(*request.messages, called.answer))
            settled = self._settled(calls, decisions)
            questions = self.permissions.questions(calls, own, decided={*settled, *decisions}, unsure=unsure)
            if questions:
                if not self.permissions.attended:
                    raise WorkerError(_unanswered(calls[questions[0].at], questions[0]), used=NOTHING_USED)
                yield ToolsHeld(questions=questions)
                return
            if self.stored and any(call.acts for at, call in enumerate(calls) if at not in settled):
                await self.stored()
            uses = await self._results(calls, own, settled, decisions)
            request = replace(request, messages=(*request.messages, *map(_message, uses)))
            yield ToolsReturned(uses=uses, request=request)
            calls, decisions, unsure = (), {}, False

    async def _tools(self) -> Mapping[str, ServedTool]:
        """By the name that the model is offered. Raises `WorkerError` where a pattern gives none."""
        if self.within == ():
            return {}
        try:
            lists = [await self.connections.tools(server) for server in self.servers]
        except ToolError as error:
            reason = f"{self.worker.card.name} has no tools: {error}"
            raise WorkerError(reason, outage=_OUTAGE, used=NOTHING_USED) from error
        served = [tool for tools in lists for tool in tools]
        reached = self.permissions.within_limit(served)
        usable = [tool for tool in reached if self.permissions.offers(tool)]
        for pattern in self.patterns:
            limited = self.permissions.limit is not None and not allowed([pattern], reached)
            if not limited and not allowed([pattern], usable):
                raise WorkerError(self._missing(pattern, served), used=NOTHING_USED)
        tools = allowed(self.patterns, usable)
        if self.within is not None:
            others, tools = tools, allowed(self.within, tools)
            for pattern in self.within if self.own else ():
                if not allowed([pattern], tools):
                    raise WorkerError(_not_its_own(pattern, self.worker.card.name, others), used=NOTHING_USED)
        if (changed := next((tool for tool in tools if tool.changed_from is not None), None)) is not None:
            raise WorkerError(_changed(changed), used=NOTHING_USED)
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
                'their server states, and no person is asked here; ask = "never" in its [[tools]] table '
                "allows that."
            )
        server = pattern.partition(":")[0]
        others = ", ".join(tool.name for tool in served if tool.server == server) or "none"
        return (
            f"{self.worker.card.name} names the tools {pattern!r}, and the server {server} has "
            f"{others[:300]}; correct tools in the pool file."
        )

    def _settled(
        self, requests: Sequence[ToolRequest], decisions: Mapping[int, ToolDecision]
    ) -> dict[int, ToolUse]:
        """Those that are not to be made, by position: a person or a run before gave their results."""
        settled: dict[int, ToolUse] = {}
        for at, request in enumerate(requests):
            use = decided_use(request, decisions[at]) if at in decisions else None
            if use is None and at not in decisions and self.recorded is not None:
                use = self.recorded.use(request)
            if use is not None:
                settled[at] = use
        return settled

    async def _results(
        self,
        requests: Sequence[ToolRequest],
        tools: Mapping[str, ServedTool],
        settled: Mapping[int, ToolUse],
        decisions: Mapping[int, ToolDecision],
    ) -> tuple[ToolUse, ...]:
        """What the calls answer; those that are to be made are made at once. Raises `WorkerError`."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {
                    at: group.create_task(self._result(request, tools, decisions.get(at)))
                    for at, request in enumerate(requests)
                    if at not in settled
                }
        except* ToolError as errors:
            raise WorkerError(str(errors.exceptions[0]), outage=_OUTAGE, used=NOTHING_USED) from errors
        return tuple(settled[at] if at in settled else tasks[at].result() for at in range(len(requests)))

    async def _result(
        self, request: ToolRequest, tools: Mapping[str, ServedTool], decision: ToolDecision | None
    ) -> ToolUse:
        tool = tools.get(request.call.name)
        if tool is None:
            reason = f"There is no tool {request.call.name}; there are {', '.join(tools)}."
            return without_call(request, reason)
        sent = None if decision is None else decision.arguments
        arguments = json_object(request.call.arguments or "{}" if sent is None else sent)
        if arguments is None:
            return without_call(request, "The arguments are not a JSON object.")
        server = next(server for server in self.servers if server.name == tool.server)
        result = await self.connections.call(server, tool.name, arguments)
        return ToolUse(
            **dict(request),
            result=result.text,
            is_error=result.is_error,
            seconds=result.seconds,
            cut=result.cut,
            repeatable=tool.is_repeatable,
            allowed_by=self.permissions.of(tool) if decision is None else "person",
            sent=sent,
            server_version=tool.server_version,
        )


def without_tools(worker: Worker) -> Worker:
    """The worker, and its fallbacks, that answer by themselves."""

    def alone(own: Worker) -> Worker:
        if isinstance(own, RunsWorkflows):
            return own.without_tools()
        return own.worker if isinstance(own, ToolWorker) else own

    return each_worker(worker, alone)


def each_worker(worker: Worker, change: Callable[[Worker], Worker]) -> Worker:
    """The worker, and its fallbacks, with `change` made of each."""
    if isinstance(worker, FallbackWorker):
        return FallbackWorker(each_worker(worker.first, change), each_worker(worker.second, change))
    return change(worker)


def going_on(workers: Sequence[Worker], turn: ToolTurn, decisions: Mapping[int, ToolDecision]) -> Worker:
    """The worker of these that goes on from `turn` with what was decided of its calls. Raises `WorkerError`
    where it is not there: another one might act twice.
    """
    for worker in workers:
        if isinstance(worker, ToolWorker) and worker.card.name == turn.worker:
            return replace(worker, turn=turn, decisions=decisions)
    raise WorkerError(
        f"{turn.worker} called tools for this step, and may not answer it any more; let it, or rerun all "
        "steps, which begins the answer afresh.",
        used=NOTHING_USED,
    )


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


def _changed(tool: ServedTool) -> str:
    return (
        f"The tool {tool.server}:{tool.name} describes itself otherwise than when it was allowed on this "
        f"machine, so no step gets it. `{command_name()} doctor` shows both descriptions; accept the new one "
        f"by `{command_name()} doctor --accept-tools`."
    )


def _not_its_own(pattern: str, worker: str, others: Sequence[ServedTool]) -> str:
    there = ", ".join(f"{tool.server}:{tool.name}" for tool in others) or "none"
    return (
        f"The step names the tools {pattern!r}, and {worker} may call {there[:300]}; change the step's "
        "tools, or its worker."
    )


def _rounds(request: Request) -> int:
    """How many of its messages call tools."""
    return sum(bool(message.tool_calls) for message in request.messages)


def _unanswered(call: ToolRequest, question: ToolQuestion) -> str:
    """Why a call is not made that no person can be asked about."""
    if question.why == "unsure":
        return (
            f"{call.words} was under way when the program ended, and may have acted; no person is asked "
            "here. See what it did, and run this again in the app or by the command."
        )
    return f"{call.words} needs a person's yes, and no person is asked here."


def _message(use: ToolUse) -> Message:
    """The result as its worker is sent it."""
    words = f"Error: {use.result}" if use.is_error else use.result
    return Message("tool", (Part("turn", words),), tool_call_id=use.call.id)
