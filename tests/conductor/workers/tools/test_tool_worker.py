"""A worker calls its tools, is sent their results, and answers; it reads why it may not call one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.errors import ToolError, WorkerError
from conductor.runs.events import (
    Event,
    StepThought,
    StepToolsCalled,
    StepToolsOffered,
    StepToolsReturned,
)
from conductor.runs.state import RunState, fold
from conductor.values.budget import Budget
from conductor.values.message_parts.tools import Tool, ToolCall, ToolChoice, ToolOffer
from conductor.values.messages import CallDelta, Completion, Message, Part, Request, Sampling
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.tools.permissions import Permissions
from conductor.workers.tools.tool_server import ToolResult
from conductor.workers.tools.tool_worker import ToolWorker
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.tool_cases import (
    Caller,
    ScriptedTools,
    calling,
    calls,
    contents,
    saying,
    with_tools,
)
from tests.support.runs.worker_cases import events_of, outputs_of, played, run_of
from tests.support.runs.workflow_cases import workflow_of

ONE = workflow_of(())
ALONE = Permissions(attended=False)
READS = calling("files__read", '{"path": "a.txt"}', text="Let me look.", thought="hm ")
QUESTION = Request(messages=(Message("user", (Part("query", "why?"),)),))


def pool_of(worker: ToolWorker) -> Pool:
    return Pool(workers=(worker,))


def happened(worker: ToolWorker, workflow: Workflow = ONE) -> tuple[list[Event], RunState]:
    events = asyncio.run(events_of(run_of(workflow, pool_of(worker))))
    return events, fold(events)


def test_a_result_is_sent_to_the_model_which_then_answers() -> None:
    model = Caller([READS, saying("It is a.")])
    events, state = happened(with_tools(model))
    step = state.steps[0]
    assert (step.status, step.text, step.calls) == ("finished", "It is a.", 2)
    first, second = model.requests
    offer = first.sampling.tools
    assert offer is not None
    assert [tool.name for tool in offer.tools] == ["files__read", "files__look", "files__write"]
    assert [(message.role, message.content) for message in second.messages[-2:]] == [
        ("assistant", "Let me look."),
        ("tool", "read gave a.txt"),
    ]
    assert second.messages[-1].tool_call_id == "c1"
    kinds = (StepToolsOffered, StepToolsCalled, StepToolsReturned)
    assert [type(event) for event in events if isinstance(event, kinds)] == list(kinds)
    assert step.request == second
    output = step.output
    assert output is not None
    assert [(use.words, use.result, use.seconds, use.repeatable) for use in output.tool_uses] == [
        ("files:read", "read gave a.txt", 0.5, True)
    ]


def test_each_request_has_a_charge_and_the_output_has_the_sum() -> None:
    _, state = happened(with_tools(Caller([READS, saying("It is a.")])))
    assert [(charge.purpose, charge.usage.cost) for charge in state.steps[0].charges] == [
        ("step", 0.5),
        ("tools", 0.25),
    ]
    output = state.steps[0].output
    assert output is not None
    assert (output.usage.cost, output.usage.prompt_tokens) == (0.75, 30)


def test_what_is_written_before_a_call_is_a_thought_and_no_answer() -> None:
    events, state = happened(with_tools(Caller([READS, saying("It is a.")])))
    assert [event.recalls for event in events if isinstance(event, StepThought)] == [12]
    output = state.steps[0].output
    assert output is not None
    assert (output.text, output.reasoning) == ("It is a.", "hm Let me look.")


def test_what_was_sent_on_before_a_call_stays_in_the_answer() -> None:
    pool = pool_of(with_tools(Caller([READS, saying("It is a.")])))
    bound = BoundWorkflow.of(ONE, query="why?", pool=pool)
    state = fold(asyncio.run(events_of(WorkflowRun(bound, pool, run="r", sent_on=True))))
    assert state.steps[0].text == state.answer == "Let me look.It is a."


def test_calls_of_one_answer_are_made_at_once_and_answered_in_order() -> None:
    both = asyncio.Barrier(2)

    async def together(tool: str, _: Mapping[str, Any]) -> ToolResult:
        async with asyncio.timeout(5):
            await both.wait()
        return ToolResult(text=tool)

    model = Caller([calls(ToolCall(id="x", name="files__look", arguments=""),
                          ToolCall(id="y", name="files__read", arguments="{}")), saying("so")])  # fmt: skip
    _, state = happened(with_tools(model, ScriptedTools(together)))
    assert state.answer == "so"
    assert [(message.tool_call_id, message.content) for message in model.requests[1].messages[-2:]] == [
        ("x", "look"),
        ("y", "read"),
    ]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (
            calling("files__write"),
            "Error: There is no tool files__write; there are files__read, files__look.",
        ),
        (calling("weather"), "Error: There is no tool weather; there are files__read, files__look."),
        (calling("files__read", "[1]"), "Error: The arguments are not a JSON object."),
        (calling("files__read", '{"path": '), "Error: The arguments are not a JSON object."),
    ],
)
def test_a_call_that_cannot_be_made_is_answered_with_the_reason(call: Completion, reason: str) -> None:
    model, tools = Caller([call, saying("well")]), ScriptedTools(contents)
    _, state = happened(with_tools(model, tools, permissions=ALONE))
    assert (state.answer, tools.log) == ("well", [])
    assert model.requests[1].messages[-1].content == reason


def test_a_tool_that_fails_is_an_error_for_the_model() -> None:
    async def failing(_: str, __: Mapping[str, Any]) -> ToolResult:
        return ToolResult(text="no such file", is_error=True)

    model = Caller([READS, saying("well")])
    happened(with_tools(model, ScriptedTools(failing)))
    assert model.requests[1].messages[-1].content == "Error: no such file"


def test_a_tool_that_may_act_is_offered_only_where_its_server_may() -> None:
    model, tools = Caller([calling("files__write"), saying("done")]), ScriptedTools(contents)
    _, state = happened(with_tools(model, tools, permissions=Permissions(never=frozenset({"files"}))))
    assert (state.answer, tools.log) == ("done", [("write", {})])


def test_a_model_that_calls_tools_for_ever_is_asked_for_its_answer_and_then_fails() -> None:
    model = Caller([READS])
    _, state = happened(with_tools(model, rounds=2))
    assert state.steps[0].status == "failed"
    assert state.steps[0].message is not None
    assert "called tools 2 times and gave no answer" in state.steps[0].message
    assert len(model.requests) == 3
    offer = model.requests[-1].sampling.tools
    assert offer is not None
    assert offer.choice == ToolChoice(kind="none")
    assert len(state.steps[0].charges) == 3


@pytest.mark.parametrize(
    ("patterns", "reason"),
    [
        (("files:read", "files:w*"), "may call no tool of 'files:w*': write may act, as far as their server"),
        (("files:red",), "names the tools 'files:red', and the server files has read, look, write; correct"),
    ],
)
def test_a_pattern_without_a_tool_that_may_be_called_fails_the_step(
    patterns: tuple[str, ...], reason: str
) -> None:
    model = Caller([saying("plain")])
    _, state = happened(with_tools(model, patterns=patterns, permissions=ALONE))
    assert state.steps[0].status == "failed"
    assert reason in (state.steps[0].message or "")
    assert model.requests == []


def test_a_server_without_any_tool_fails_the_step() -> None:
    _, state = happened(with_tools(Caller([]), ScriptedTools(contents, offered=())))
    assert "the server files has none" in (state.steps[0].message or "")


async def _items(worker: ToolWorker, request: Request) -> list[Any]:
    return [item async for item in worker.stream(request)]


def test_a_call_of_the_clients_tool_goes_to_the_client_alone() -> None:
    class Both(Caller):
        async def stream(self, _: Request) -> Any:
            yield CallDelta(0, "{}", id="a", name="files__read")
            yield CallDelta(1, "{", id="b", name="weather")
            yield CallDelta(1, "}")
            yield calls(
                ToolCall(id="a", name="files__read", arguments="{}"),
                ToolCall(id="b", name="weather", arguments="{}"),
            )

    offer = ToolOffer(tools=(Tool.of("weather"),))
    request = Request(messages=QUESTION.messages, sampling=Sampling(tools=offer))
    tools = ScriptedTools(contents)
    items = asyncio.run(_items(with_tools(Both([]), tools), request))
    assert [(item.index, item.text) for item in items if isinstance(item, CallDelta)] == [(0, "{"), (0, "}")]
    assert [call.name for call in items[-1].tool_calls] == ["weather"]
    assert tools.log == []


def _unreachable(_: str, __: Mapping[str, Any]) -> Any:
    raise ToolError("The server files died; start it again.")


def test_a_server_that_does_not_answer_costs_its_step() -> None:
    pool = Pool(workers=(with_tools(Caller([READS]), ScriptedTools(_unreachable)), SimulatedWorker("beta")))
    workflow = Workflow.of([Step(instruction="one", worker="alpha"), Step(instruction="two", worker="beta")])
    state = fold(asyncio.run(events_of(run_of(workflow, pool))))
    assert [step.status for step in state.steps] == ["failed", "finished"]
    assert state.steps[0].message == "The server files died; start it again."
    assert [charge.usage.cost for charge in state.steps[0].charges] == [0.5]


@pytest.mark.parametrize("rule", [None, OnFailure(retries=2), OnFailure(fallback="beta")])
def test_an_answer_that_failed_after_it_had_called_tools_is_not_tried_again(rule: OnFailure | None) -> None:
    model = Caller([READS, WorkerError("alpha broke off."), saying("again")])
    beta = SimulatedWorker("beta")
    pool = Pool(workers=(FallbackWorker(with_tools(model), beta), beta))
    workflow = Workflow.of([Step(instruction="one", worker="alpha", on_failure=rule)])
    state = fold(asyncio.run(events_of(run_of(workflow, pool))))
    assert state.steps[0].status == "failed"
    assert (len(model.requests), beta.requests) == (2, [])


def test_a_worker_that_failed_before_any_call_has_its_fallback() -> None:
    beta = SimulatedWorker("beta", answer="from beta")
    first = with_tools(Caller([WorkerError("alpha is down.")]))
    state = fold(asyncio.run(events_of(run_of(ONE, Pool(workers=(FallbackWorker(first, beta), beta))))))
    assert state.answer == "from beta"


def test_a_budget_without_room_for_the_next_request_ends_the_step() -> None:
    model = Caller([READS, saying("never")])
    pool = pool_of(with_tools(model))
    bound = BoundWorkflow.of(ONE, query="why?", pool=pool)
    run = WorkflowRun(bound, pool, run="r", meter=Meter(Budget(calls=1)))
    state = fold(asyncio.run(events_of(run)))
    assert (state.status, len(model.requests)) == ("over_budget", 1)


def test_a_run_that_is_stopped_stops_the_call_of_a_tool() -> None:
    ends = []

    async def hanging(_: str, __: Mapping[str, Any]) -> ToolResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append(True)
            raise
        raise AssertionError

    async def stopping() -> RunState:
        run = run_of(ONE, pool_of(with_tools(Caller([READS]), ScriptedTools(hanging))))
        events = []
        async for event in run.events():
            events.append(event)
            if isinstance(event, StepToolsCalled):
                asyncio.get_running_loop().call_later(0.01, run.cancel)
        return fold(events)

    state = asyncio.run(stopping())
    assert (state.steps[0].status, ends) == ("cancelled", [True])
    assert [call.tool.words for call in state.steps[0].timed_calls if call.tool] == ["files:read"]
    assert [charge.stopped for charge in state.steps[0].charges] == [False]


@pytest.mark.parametrize(("tool", "again"), [("files__read", 0), ("files__look", 2)])
def test_an_output_is_reused_only_where_its_tools_give_the_same_each_time(tool: str, again: int) -> None:
    model = Caller([calling(tool), saying("so"), calling(tool), saying("so")])
    pool = pool_of(with_tools(model))
    before = asyncio.run(played(ONE, pool))
    after = asyncio.run(played(ONE, pool, outputs=outputs_of(before), run="later"))
    assert len(model.requests) == 2 + again
    assert after.steps[0].reused is (not again)
    assert [use.tool for use in after.steps[0].tool_uses] == [tool.removeprefix("files__")]


def test_other_tools_are_another_worker() -> None:
    model = Caller([])
    identities = {
        with_tools(model).card.identity,
        with_tools(model, patterns=("files:read",)).card.identity,
        model.card.identity,
    }
    assert len(identities) == 3
