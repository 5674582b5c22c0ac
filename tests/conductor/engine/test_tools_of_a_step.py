"""A step narrows the tools of its worker, of fallbacks and of a workflow inside it; its address has them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.meter import Meter
from conductor.errors import WorkerError
from conductor.orchestration.runtime import with_conductor
from conductor.runs.state import RunState
from conductor.values.budget import Budget
from conductor.values.presets import Settings
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Worker
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.tools.tool_server import ServedTool
from conductor.workers.tools.tool_worker import without_tools
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text
from tests.support.runs.tool_cases import READ, Caller, ScriptedTools, contents, saying, with_tools
from tests.support.runs.worker_cases import outputs_of, played
from tests.support.runs.workflow_cases import workflow_of

ONE = workflow_of(())


def offered(model: Caller) -> list[list[str]]:
    """The tools of each request."""
    offers = [request.sampling.tools for request in model.requests]
    return [[] if offer is None else [tool.name for tool in offer.tools] for offer in offers]


def run(tools: Sequence[str] | None, *workers: Worker, rule: OnFailure | None = None) -> RunState:
    workflow = ONE.with_tools(0, tools).with_on_failure(0, rule)
    return asyncio.run(played(workflow, Pool(workers=workers).unattended))


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        (None, ["files__read", "files__look"]),
        (("files",), ["files__read", "files__look"]),
        (("files:l*",), ["files__look"]),
        ((), []),
    ],
)
def test_a_step_may_call_just_the_tools_that_it_names(tools: Sequence[str] | None, names: list[str]) -> None:
    model = Caller([saying("so")])
    assert run(tools, with_tools(model)).answer == "so"
    assert offered(model) == [names]


class _Down(ScriptedTools):
    async def tools(self, _: object) -> tuple[ServedTool, ...]:
        raise AssertionError("the server is not needed")


def test_a_step_without_tools_starts_no_server() -> None:
    assert run((), with_tools(Caller([saying("so")]), _Down(contents))).answer == "so"


@pytest.mark.parametrize(
    ("tools", "there"),
    [
        (("files:read", "web"), "'web', and alpha may call files:read, files:look;"),
        (("files:write",), "'files:write', and alpha may call files:read, files:look;"),
    ],
)
def test_a_name_without_a_tool_of_the_worker_fails_the_step(tools: Sequence[str], there: str) -> None:
    model = Caller([saying("never")])
    [step] = run(tools, with_tools(model)).steps
    assert (step.status, model.requests) == ("failed", [])
    assert f"The step names the tools {there} change the step's tools, or its worker." in (step.message or "")


def test_a_step_of_a_worker_without_tools_cannot_name_any() -> None:
    plain = SimulatedWorker("alpha", answer="so")
    assert run((), plain).answer == "so"
    [step] = run(("web",), plain).steps
    assert "'web', and alpha may call none;" in (step.message or "")


@pytest.mark.parametrize("by_rule", [True, False])
@pytest.mark.parametrize(
    ("tools", "names"), [(("files:read",), ["files__read"]), ((), []), (None, ["files__read", "files__look"])]
)
def test_a_fallback_has_no_other_tools(by_rule: bool, tools: Sequence[str] | None, names: list[str]) -> None:
    model = Caller([saying("from beta")], name="beta")
    first, second = with_tools(Caller([WorkerError("alpha is down.")])), with_tools(model)
    rule = OnFailure(fallback="beta") if by_rule else None
    state = run(tools, first if by_rule else FallbackWorker(first, second), second, rule=rule)
    assert (state.answer, offered(model)) == ("from beta", [names])


def test_a_fallback_without_these_tools_answers_by_itself() -> None:
    model = Caller([saying("from beta")], name="beta")
    second = with_tools(model, ScriptedTools(contents, offered=(READ,)))
    first = with_tools(Caller([WorkerError("alpha is down.")]))
    assert run(("files:look",), FallbackWorker(first, second), second).answer == "from beta"
    assert offered(model) == [[]]


def test_a_step_without_tools_has_none_in_its_own_workflow_either() -> None:
    model = Caller([saying("so")])
    conductor = ScriptedConductor([plan_text((0, "inside", "[]"))])
    pool = with_conductor(
        Pool(workers=(with_tools(model),)), conductor, settings=Settings(), meter=Meter(Budget())
    )
    outer = Workflow.of([Step(instruction="the hard part", worker="conductor", tools=())])
    assert asyncio.run(played(outer, pool)).answer == "so"
    assert asyncio.run(played(outer.with_tools(0, None), pool)).answer == "so"
    assert offered(model) == [[], ["files__read", "files__look"]]
    [step] = asyncio.run(played(outer.with_tools(0, ["files"]), pool)).steps
    assert "'files', and conductor may call none" in (step.message or "")


def test_the_tools_of_a_step_are_a_part_of_its_address_where_it_names_some() -> None:
    pool = Pool(workers=(with_tools(Caller([])),))
    plain = Pool(workers=(without_tools(pool["alpha"]),))
    all_tools, none, one = (
        BoundWorkflow.of(ONE.with_tools(0, tools), query="why?", pool=pool).fingerprint(0, {})
        for tools in (None, (), ("files:read",))
    )
    assert len({all_tools, none, one}) == 3
    # As it was before steps could name tools.
    identity = pool.cards["alpha"].identity
    assert BoundWorkflow.of(ONE, query="why?", pool=pool)._identities == (identity,)
    assert BoundWorkflow.of(ONE, query="why?", pool=plain).fingerprint(0, {}) != all_tools


def test_an_output_counts_again_where_the_same_tools_may_be_called() -> None:
    model = Caller([saying("so")])
    pool = Pool(workers=(with_tools(model),))
    narrow = ONE.with_tools(0, ["files:read"])
    before = asyncio.run(played(narrow, pool))
    assert asyncio.run(played(narrow, pool, outputs=outputs_of(before), run="later")).steps[0].reused
    assert not asyncio.run(played(ONE, pool, outputs=outputs_of(before), run="other")).steps[0].reused
    assert len(model.requests) == 2
