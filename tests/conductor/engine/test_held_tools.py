"""A run waits where a tool may act, makes of its calls what a person decides, and makes none twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.continuation import continuation, rerun, resumed
from conductor.engine.known_outputs import KnownOutputs
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.errors import WorkerError, WorkflowError
from conductor.runs.events import (
    Event,
    RunFinished,
    StepStarted,
    StepToolsCalled,
    StepToolsHeld,
    StepToolsReturned,
)
from conductor.runs.scope import EDITED, FORCE, RunScope
from conductor.runs.state import RunState, fold
from conductor.values.budget import Budget
from conductor.values.message_parts.tool_use import ToolDecision
from conductor.values.message_parts.tools import ToolCall
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.tools.permissions import Permissions
from conductor.workers.tools.tool_server import ToolResult
from conductor.workflow.model import Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.tool_cases import Caller, ScriptedTools, calling, calls, contents, saying, with_tools
from tests.support.runs.worker_cases import events_of, run_of
from tests.support.runs.workflow_cases import workflow_of

NUMBERS = count()
ONE = workflow_of(())
WRITES = calling("files__write", '{"path": "a.txt"}', id="w1")
BOTH = calls(
    ToolCall(id="r", name="files__read", arguments='{"path": "r"}'),
    ToolCall(id="w", name="files__write", arguments='{"path": "w"}'),
)
ALLOW = ToolDecision(step=0, at=0, id="w1", verdict="allow")
NEVER = Permissions(never=frozenset({"files"}))


def pool_of(model: Caller, tools: ScriptedTools, **more: Any) -> Pool:
    return Pool(workers=(with_tools(model, tools, **more),))


async def played(
    pool: Pool, *before: RunState, scope: RunScope = EDITED, workflow: Workflow = ONE
) -> RunState:
    """The state after a run that knows the runs before it, the newest first."""
    run = f"run-{len(before)}-{next(NUMBERS)}"
    return fold(
        await events_of(run_of(workflow, pool, outputs=KnownOutputs.of(*before), scope=scope, run=run))
    )


async def decided(pool: Pool, paused: RunState, *decisions: ToolDecision) -> RunState:
    assert paused.workflow is not None
    return await played(
        pool, paused, scope=continuation(paused, paused.workflow, decisions), workflow=paused.workflow
    )


async def test_nothing_is_called_before_a_person_has_decided() -> None:
    model, tools = Caller([WRITES, saying("done")]), ScriptedTools(contents)
    events = await events_of(run_of(ONE, pool_of(model, tools)))
    state = fold(events)
    kinds = (StepStarted, StepToolsCalled, StepToolsHeld, StepToolsReturned, RunFinished)
    assert [type(event) for event in events if isinstance(event, kinds)] == [
        StepStarted,
        StepToolsCalled,
        StepToolsHeld,
        RunFinished,
    ]
    assert (state.status, state.held, tools.log, len(model.requests)) == ("paused", (0,), [], 1)
    (question,) = state.questions[0]
    assert (question.at, question.why, question.once) == (0, "acts", False)
    step = state.steps[0]
    assert [(call.words, call.call.arguments) for _, call, *_ in state.waiting_calls] == [
        ("files:write", '{"path": "a.txt"}')
    ]
    assert (step.calls, [charge.purpose for charge in step.charges]) == (1, ["step"])


@pytest.mark.parametrize(
    ("decision", "log", "result", "use"),
    [
        (
            ALLOW,
            [("write", {"path": "a.txt"})],
            "write gave a.txt",
            {"allowed_by": "person", "source": "server", "sent": None},
        ),
        (
            ALLOW.model_copy(update={"arguments": '{"path": "b.txt"}'}),
            [("write", {"path": "b.txt"})],
            "write gave b.txt",
            {"allowed_by": "person", "source": "server", "sent": '{"path": "b.txt"}'},
        ),
        (
            ALLOW.model_copy(update={"verdict": "refuse", "text": "not there"}),
            [],
            "Error: A person refused this call: not there",
            {"allowed_by": None, "source": "refusal", "sent": None},
        ),
        (
            ALLOW.model_copy(update={"verdict": "answer", "text": "It is written."}),
            [],
            "It is written.",
            {"allowed_by": None, "source": "person", "sent": None},
        ),
    ],
)
async def test_a_call_is_what_a_person_makes_of_it(
    decision: ToolDecision, log: list[Any], result: str, use: Mapping[str, Any]
) -> None:
    model, tools = Caller([WRITES, saying("done")]), ScriptedTools(contents)
    pool = pool_of(model, tools)
    state = await decided(pool, await played(pool), decision)
    assert (state.status, state.answer, tools.log) == ("finished", "done", log)
    # The model is not asked again for what it had answered.
    assert len(model.requests) == 2
    assert model.requests[1].messages[-1].content == result
    step = state.steps[0]
    assert (step.calls, [charge.purpose for charge in step.charges]) == (1, ["tools"])
    assert step.output is not None
    (own,) = step.output.tool_uses
    assert {name: getattr(own, name) for name in use} == use


async def test_calls_of_one_answer_wait_for_the_one_that_acts() -> None:
    model, tools = Caller([BOTH, saying("done")]), ScriptedTools(contents)
    pool = pool_of(model, tools)
    paused = await played(pool)
    assert tools.log == []
    state = await decided(pool, paused, ToolDecision(step=0, at=1, id="w", verdict="allow"))
    assert sorted(tools.log) == [("read", {"path": "r"}), ("write", {"path": "w"})]
    output = state.steps[0].output
    assert output is not None
    assert [use.allowed_by for use in output.tool_uses] == ["reads", "person"]


async def test_what_does_not_read_the_step_goes_on_and_the_rest_follows() -> None:
    tools = ScriptedTools(contents)
    model = Caller([WRITES, saying("done")])
    pool = Pool(workers=(with_tools(model, tools), SimulatedWorker(name="beta", tokens=3)))
    workflow = workflow_of((), (), (0, 1)).with_worker(1, "beta").with_worker(2, "beta")
    paused = await played(pool, workflow=workflow)
    assert [step.status for step in paused.steps] == ["paused", "finished", "waiting"]
    state = await decided(pool, paused, ALLOW)
    assert [(step.status, step.reused) for step in state.steps] == [
        ("finished", False),
        ("finished", True),
        ("finished", False),
    ]


async def test_each_further_call_asks_again_but_where_the_first_yes_counts_for_all() -> None:
    answers = [WRITES, calling("files__write", '{"path": "b.txt"}', id="w2"), saying("done")]
    for ask, status in ((Permissions(), "paused"), (Permissions(first=frozenset({"files"})), "finished")):
        tools = ScriptedTools(contents)
        pool = pool_of(Caller(answers), tools, permissions=ask)
        state = await decided(pool, await played(pool), ALLOW)
        assert (state.status, len(tools.log)) == (status, 1 + (status == "finished"))
    output = state.steps[0].output
    assert output is not None
    assert [use.allowed_by for use in output.tool_uses] == ["person", "earlier"]
    # The yes stays one in a later run.
    scope = rerun(state, ONE)
    assert scope.grants == ("files:write",)
    assert (await played(pool, state, scope=scope)).status == "finished"


async def test_a_run_that_allows_its_tools_does_not_wait() -> None:
    tools = ScriptedTools(contents)
    pool = pool_of(Caller([WRITES, saying("done")]), tools)
    state = await played(pool, scope=RunScope(allows=("files:wr*",)))
    assert (state.status, tools.log) == ("finished", [("write", {"path": "a.txt"})])
    assert (
        await played(pool_of(Caller([WRITES]), tools), scope=RunScope(allows=("web",)))
    ).status == "paused"


async def test_where_no_person_is_asked_tools_that_act_are_not_offered() -> None:
    tools, model = ScriptedTools(contents), Caller([saying("done")])
    state = await played(pool_of(model, tools).unattended)
    offer = model.requests[0].sampling.tools
    assert offer is not None
    assert [tool.name for tool in offer.tools] == ["files__read", "files__look"]
    assert state.status == "finished"


async def test_the_gates_of_a_plan_and_of_its_tools_are_passed_together() -> None:
    tools = ScriptedTools(contents)
    pool = Pool(
        workers=(with_tools(Caller([WRITES, saying("done")]), tools), SimulatedWorker(name="beta", tokens=3))
    )
    workflow = workflow_of((), ()).with_worker(1, "beta").with_gate(1)
    paused = await played(pool, workflow=workflow)
    assert paused.held == (0, 1)
    state = await decided(pool, paused)
    # Without a decision its call goes on waiting, and the model is not asked again.
    assert (state.status, [step.status for step in state.steps]) == ("paused", ["paused", "finished"])


# -- what broke off ------------------------------------------------------------------------------------


class Stopped:
    """Tools whose call never ends, so that a run is stopped in the middle of it."""

    def __init__(self) -> None:
        self.called = asyncio.Event()
        self.tools = ScriptedTools(self._answer)
        self.hangs = True

    async def _answer(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.called.set()
        if self.hangs:
            await asyncio.Event().wait()
        return await contents(tool, arguments)


async def broken_off(pool: Pool, stopped: Stopped) -> tuple[RunState, list[Event]]:
    """A run as far as its events came when its program ended in the middle of a call."""
    run = run_of(ONE, pool, scope=RunScope(allows=("files",)))
    events: list[Event] = []

    async def note() -> None:
        async for event in run.events():
            events.append(event)

    task = asyncio.create_task(note())
    await stopped.called.wait()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    end = RunFinished(
        run=events[0].run,
        seq=events[-1].seq + 1,
        at=events[-1].at,
        outcome="interrupted",
        answer=None,
        answer_step=None,
    )
    return fold([*events, end]), events


@pytest.mark.parametrize("going_on", [rerun, partial(resumed, resumption=1)], ids=["rerun", "by itself"])
async def test_a_call_that_was_under_way_is_not_made_again_without_a_question(
    going_on: Callable[[RunState, Workflow], RunScope],
) -> None:
    stopped = Stopped()
    model = Caller([WRITES, saying("done")])
    pool = pool_of(model, stopped.tools, permissions=NEVER)
    before, _ = await broken_off(pool, stopped)
    assert (before.status, before.steps[0].status) == ("interrupted", "interrupted")
    stopped.hangs = False
    paused = await played(pool, before, scope=going_on(before, ONE))
    (question,) = paused.questions[0]
    assert (paused.status, question.why, len(stopped.tools.log)) == ("paused", "unsure", 1)
    decision = ALLOW.model_copy(update={"verdict": "answer", "text": "It had written."})
    state = await played(pool, paused, before, scope=continuation(paused, ONE, [decision]))
    assert (state.status, len(stopped.tools.log), len(model.requests)) == ("finished", 1, 2)


async def test_where_no_person_is_asked_such_a_call_fails_its_step() -> None:
    stopped = Stopped()
    pool = pool_of(
        Caller([WRITES, saying("done")]),
        stopped.tools,
        permissions=NEVER,
    )
    before, _ = await broken_off(pool, stopped)
    state = await played(pool.unattended, before)
    assert state.steps[0].message == (
        "files:write was under way when the program ended, and may have acted; no person is asked here. See "
        "what it did, and run this again in the app or by the command."
    )


async def test_a_call_that_reads_is_made_again_where_nothing_acted() -> None:
    stopped = Stopped()
    model = Caller([calling("files__read"), calling("files__read"), saying("done")])
    before, _ = await broken_off(pool_of(model, stopped.tools), stopped)
    stopped.hangs = False
    state = await played(pool_of(model, stopped.tools), before)
    assert (state.status, len(model.requests)) == ("finished", 3)


async def test_calls_that_have_ended_are_not_made_again_after_a_failure() -> None:
    tools = ScriptedTools(contents)
    model = Caller([WRITES, RuntimeError("gone"), saying("done")])
    pool = pool_of(model, tools)
    failed = await played(pool, scope=RunScope(allows=("files",)))
    assert (failed.status, len(tools.log)) == ("failed", 1)
    state = await played(pool, failed)
    assert (state.status, state.answer, len(tools.log)) == ("finished", "done", 1)
    assert model.requests[2] == model.requests[1]
    output = state.steps[0].output
    assert output is not None
    assert [use.result for use in output.tool_uses] == ["write gave a.txt"]
    # A run of every step begins its answers afresh.
    again = pool_of(Caller([WRITES, saying("done")]), tools)
    assert (await played(again, state, scope=FORCE)).status == "paused"


async def test_an_answer_after_that_one_counts_and_an_edit_begins_afresh() -> None:
    tools = ScriptedTools(contents)
    failed = await played(
        pool_of(Caller([WRITES, RuntimeError("gone")]), tools), scope=RunScope(allows=("files",))
    )
    pool = pool_of(Caller([saying("done")]), tools)
    done = await played(pool, failed)
    assert done.status == "finished"
    edited = ONE.with_instruction(0, "another one")
    model = Caller([WRITES, saying("done")])
    state = await played(pool_of(model, tools), failed, workflow=edited)
    assert (state.status, len(model.requests)) == ("paused", 1)
    late = Caller([saying("late")])
    assert (await played(pool_of(late, tools), done, failed)).steps[0].tool_uses == ()


async def test_a_fallback_that_acted_goes_on_itself() -> None:
    tools = ScriptedTools(contents)
    second = Caller([WRITES, saying("done")], name="beta")
    pool = Pool(
        workers=(FallbackWorker(SimulatedWorker(name="alpha", fail_on=""), with_tools(second, tools)),)
    )
    pool = replace(pool, workers=(*pool.workers, with_tools(second, tools)))
    paused = await played(pool)
    state = await decided(pool, paused, ALLOW)
    assert (state.answer, len(tools.log), len(second.requests)) == ("done", 1, 2)
    output = state.steps[0].output
    assert output is not None
    assert (output.worker, output.instead_of) == ("beta", "alpha")


async def test_each_of_equal_steps_goes_on_with_its_own_call() -> None:
    tools = ScriptedTools(contents)
    own = [calling("files__write", json.dumps({"path": path}), id="w1") for path in ("a", "b")]
    pool = Pool(
        workers=(
            with_tools(Caller([*own, saying("done")]), tools),
            SimulatedWorker(name="beta", tokens=3),
        )
    )
    workflow = workflow_of((), (), (0, 1)).with_instruction(1, "task 1").with_worker(2, "beta")
    paused = await played(pool, workflow=workflow)
    await decided(pool, paused, ALLOW, ALLOW.model_copy(update={"step": 1}))
    assert sorted(tools.log, key=str) == [("write", {"path": "a"}), ("write", {"path": "b"})]


@pytest.mark.parametrize("scope", [FORCE, RunScope(kind="from", step=0), RunScope(kind="only", step=0)])
async def test_a_step_that_is_to_be_called_again_goes_on_where_that_answer_stood(scope: RunScope) -> None:
    old = await played(pool_of(Caller([saying("old")]), ScriptedTools(contents)))
    model, tools = Caller([WRITES, saying("done")]), ScriptedTools(contents)
    pool = pool_of(model, tools)
    paused = await played(pool, old, scope=scope)
    state = await played(pool, paused, old, scope=continuation(paused, ONE, [ALLOW]))
    assert (state.answer, len(model.requests), len(tools.log)) == ("done", 2, 1)
    # The same where it broke off, also in the run that goes on.
    model = Caller([WRITES, RuntimeError("gone"), RuntimeError("gone"), saying("done")])
    pool = pool_of(model, tools, permissions=NEVER)
    failed = await played(pool, old, scope=scope)
    twice = await played(pool, failed, old, scope=rerun(failed, ONE))
    assert (failed.status, twice.status) == ("failed", "failed")
    state = await played(pool, twice, failed, old, scope=rerun(twice, ONE))
    assert (state.answer, len(model.requests), len(tools.log)) == ("done", 4, 2)


async def test_a_text_of_a_rule_is_no_end_of_an_answer_that_acted() -> None:
    tools = ScriptedTools(contents)
    model = Caller([WRITES, RuntimeError("gone"), saying("done")])
    pool = pool_of(model, tools, permissions=NEVER)
    workflow = ONE.with_on_failure(0, OnFailure(output="no answer"))
    first = await played(pool, workflow=workflow)
    assert first.answer == "no answer"
    state = await played(pool, first, workflow=workflow, scope=rerun(first, workflow))
    assert (state.answer, len(tools.log)) == ("done", 1)
    assert model.requests[2] == model.requests[1]


async def test_a_replay_hides_no_call_that_was_under_way() -> None:
    stopped = Stopped()
    model = Caller([WRITES, WRITES, saying("replayed")])
    pool = pool_of(model, stopped.tools, permissions=NEVER)
    before, _ = await broken_off(pool, stopped)
    replayed = await played(pool, before, scope=RunScope(kind="from", step=0, recorded="only"))
    assert replayed.answer == "replayed"
    state = await played(pool, replayed, before, scope=rerun(replayed, ONE))
    assert (state.status, len(stopped.tools.log)) == ("paused", 1)
    # The same after one that did not come to its end.
    failed = await played(
        pool_of(Caller([RuntimeError("gone")]), stopped.tools, permissions=NEVER),
        before,
        scope=RunScope(kind="from", step=0, recorded="only"),
    )
    state = await played(pool, failed, before, scope=rerun(failed, ONE))
    assert (state.status, len(stopped.tools.log)) == ("paused", 1)


async def test_no_other_worker_answers_after_a_fallback_that_acted_and_is_gone() -> None:
    tools = ScriptedTools(contents)
    first = with_tools(Caller([WorkerError("down"), WRITES, saying("done")]), tools, permissions=NEVER)
    second = Caller([WRITES, RuntimeError("gone")], name="beta")
    both = FallbackWorker(first, with_tools(second, tools, permissions=NEVER))
    failed = await played(Pool(workers=(both, both.second)))
    state = await played(Pool(workers=(first,)), failed)
    assert (state.status, len(tools.log)) == ("failed", 1)
    assert state.steps[0].message == (
        "beta called tools for this step, and may not answer it any more; let it, or rerun all steps, which "
        "begins the answer afresh."
    )


@pytest.mark.parametrize(("fault", "status", "call_count"), [(None, "finished", 2), ("full", "failed", 1)])
async def test_no_tool_acts_before_what_it_is_called_with_is_stored(
    fault: str | None, status: str, call_count: int
) -> None:
    tools = ScriptedTools(contents)
    answers = [calling("files__read"), WRITES, saying("done")]
    seen: list[int] = []

    async def stored() -> None:
        seen.append(len(tools.log))
        if fault is not None:
            raise WorkerError(fault)

    run = run_of(ONE, pool_of(Caller(answers), tools), scope=RunScope(allows=("files",)))
    state = fold([event async for event in run.events(stored=stored)])
    assert (state.status, len(tools.log)) == (status, call_count)
    # The one that reads does not wait.
    assert seen == [1]


async def test_a_rule_for_failures_repeats_nothing_that_acted() -> None:
    tools = ScriptedTools(contents)
    model = Caller([WRITES, RuntimeError("gone"), saying("twice")])
    workflow = ONE.with_on_failure(0, OnFailure(retries=2))
    pool = pool_of(model, tools)
    paused = await played(pool, workflow=workflow)
    state = await decided(pool, paused, ALLOW)
    assert (state.status, len(tools.log), len(model.requests)) == ("failed", 1, 2)


async def test_a_budget_of_calls_counts_requests_and_no_tools() -> None:
    tools = ScriptedTools(contents)
    pool = pool_of(Caller([WRITES, saying("done")]), tools)
    paused = await played(pool)
    run = WorkflowRun(
        BoundWorkflow.of(ONE, query="why?", pool=pool),
        pool,
        run="last",
        reusable=KnownOutputs.of(paused),
        scope=continuation(paused, ONE, [ALLOW]),
        meter=Meter(Budget(calls=1)),
    )
    assert fold(await events_of(run)).status == "finished"


# -- decisions that are none ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decisions", "reason"),
    [
        ([ALLOW, ALLOW], "A call is decided twice; decide it once."),
        (
            [ALLOW.model_copy(update={"step": 1})],
            "Step 2 does not wait with a call of a tool, so there is nothing to decide.",
        ),
        (
            [ALLOW.model_copy(update={"at": 4})],
            "Step 1 does not wait with call 5, 'w1'; look at what it waits with now.",
        ),
        (
            [ALLOW.model_copy(update={"id": "older"})],
            "Step 1 does not wait with call 1, 'older'; look at what it waits with now.",
        ),
        (
            [ALLOW.model_copy(update={"arguments": "[1]"})],
            "Step 1: the arguments of call 1 are not a JSON object; correct them.",
        ),
        ([ALLOW], "Step 1 waits with call 2 as well; decide it, too."),
    ],
)
async def test_a_decision_of_what_does_not_wait_is_refused(
    decisions: list[ToolDecision], reason: str
) -> None:
    two = calls(
        ToolCall(id="w1", name="files__write", arguments="{}"),
        ToolCall(id="w2", name="files__write", arguments="{}"),
    )
    paused = await played(pool_of(Caller([two]), ScriptedTools(contents)))
    with pytest.raises(WorkflowError) as error:
        continuation(paused, ONE, decisions)
    assert str(error.value) == reason


async def test_a_decision_counts_for_the_call_that_a_person_saw_and_for_no_other_of_its_id() -> None:
    first, second = (calling("files__write", json.dumps({"path": path}), id="") for path in ("a", "b"))
    model, tools = Caller([first, second, saying("done")]), ScriptedTools(contents)
    pool = pool_of(model, tools)
    paused = await played(pool)
    [waiting] = paused.waiting_calls
    decision = waiting.decided("allow")
    later = await decided(pool, paused, decision)
    assert (later.status, tools.log) == ("paused", [("write", {"path": "a"})])
    with pytest.raises(WorkflowError, match="look at what it waits with now"):
        continuation(later, ONE, [decision])


async def test_an_edit_that_is_taken_back_takes_no_decision_along() -> None:
    first, second = (calling("files__write", json.dumps({"path": path}), id="w1") for path in ("a", "b"))
    model, tools = Caller([first, second, saying("done")]), ScriptedTools(contents)
    pool = pool_of(model, tools)
    before = await played(pool)
    paused = await played(pool, before, workflow=ONE.with_instruction(0, "another one"))
    state = await played(pool, paused, before, scope=continuation(paused, ONE, [ALLOW]))
    assert (state.status, tools.log) == ("paused", [])
