"""What a tool answered may have changed: which answers are reused, which are given again, and on what."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.known_outputs import KnownOutputs
from conductor.engine.schedule import blast_radius
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState, fold
from conductor.values.message_parts.tool_use import ToolRequest, ToolUse
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Completion
from conductor.workers.pool.pool import Pool
from conductor.workers.tools.permissions import Permissions, RecordedResults
from tests.support.runs.tool_cases import (
    LOOK,
    READ,
    WRITE,
    Caller,
    ScriptedTools,
    calling,
    contents,
    saying,
    with_tools,
)
from tests.support.runs.worker_cases import events_of, run_of
from tests.support.runs.workflow_cases import workflow_of

NUMBERS = count()
ONE = workflow_of(())
READS = calling("files__read", '{"path": "a.txt"}')
LOOKS = calling("files__look", '{"deep": true, "path": "b"}')
WRITES = calling("files__write", "{}")
FREE = Permissions(never=frozenset({"files"}))


def pool_of(*answers: Completion, version: str = "files 1") -> tuple[Pool, Caller, ScriptedTools]:
    """A pool whose worker gives these answers, with the tools of a server of that version."""
    offered = [replace_version(tool, version) for tool in (READ, LOOK, WRITE)]
    model, tools = Caller(answers), ScriptedTools(contents, offered=offered)
    return Pool(workers=(with_tools(model, tools, permissions=FREE),)), model, tools


def replace_version(tool: Any, version: str) -> Any:
    return tool.model_copy(update={"server_version": version})


async def played(pool: Pool, *before: RunState, scope: RunScope = EDITED) -> RunState:
    run = f"run-{next(NUMBERS)}"
    reusable = KnownOutputs.of(*before)
    return fold(await events_of(run_of(ONE, pool, outputs=reusable, scope=scope, run=run)))


def doubt_of(pool: Pool, *before: RunState) -> str | None:
    bound = BoundWorkflow.of(ONE, query="why?", pool=pool)
    return blast_radius(ONE, bound, KnownOutputs.of(*before)).doubts.get(0)


@pytest.mark.parametrize(
    ("call", "version", "doubt"),
    [
        (READS, "files 1", None),
        (READS, "files 2", "the tool server files was files 1 and is files 2"),
        (LOOKS, "files 1", "files:look may give another result"),
        (WRITES, "files 1", "files:write may give another result"),
    ],
)
async def test_a_step_is_called_again_where_its_tools_may_give_another_result(
    call: Completion, version: str, doubt: str | None
) -> None:
    first = await played(pool_of(call, saying("one"))[0])
    pool, model, _ = pool_of(call, saying("two"), version=version)
    assert doubt_of(pool, first) == doubt
    state = await played(pool, first)
    assert (state.answer, state.steps[0].reused) == (("one", True) if doubt is None else ("two", False))
    assert bool(model.requests) == (doubt is not None)


async def test_the_version_of_a_server_is_looked_up_where_its_results_could_be_taken_over() -> None:
    first = await played(pool_of(READS, saying("one"))[0])

    class Late(ScriptedTools):
        listed = False

        async def tools(self, server: Any) -> Any:
            self.listed = True
            return await super().tools(server)

        def version(self, server: Any) -> str | None:
            return super().version(server) if self.listed else None

    tools = Late(contents, offered=[replace_version(READ, "files 2")])
    pool = Pool(workers=(with_tools(Caller([READS, saying("two")]), tools, patterns=("files:read",)),))
    pool = replace(pool, workers=(replace(pool.workers[0], patterns=("files",), permissions=FREE),))
    assert doubt_of(pool, first) is None, "not known yet"
    assert (await played(pool, first)).answer == "two"


@pytest.mark.parametrize("written", ['{"path": "b", "deep": true}', '{"deep":true,"path":"b"}'])
async def test_a_replay_gives_recorded_results_and_calls_nothing(written: str) -> None:
    first = await played(pool_of(LOOKS, saying("one"))[0])
    pool, model, tools = pool_of(calling("files__look", written), WRITES, saying("two"))
    state = await played(pool, first, scope=RunScope(kind="from", step=0, recorded="only"))
    assert (state.answer, tools.log) == ("two", [])
    recorded, missing = state.steps[0].tool_uses
    assert (recorded.source, recorded.result, recorded.seconds) == ("record", "look gave b", 0.0)
    assert (missing.source, missing.is_error) == ("record", True)
    assert model.requests[2].messages[-1].content == (
        "Error: This call was not made before, and a replay calls no tool."
    )
    # What a replay gave is no answer of the tools.
    pool, *_ = pool_of(LOOKS, saying("three"))
    assert doubt_of(pool, state, first) == "files:look was not called, but answered as in a run before"


async def test_an_evaluation_gives_recorded_results_first_and_makes_other_calls() -> None:
    first = await played(pool_of(LOOKS, saying("one"))[0])
    scope = RunScope(recorded="first")
    assert (await played(pool_of(saying("two"))[0], first, scope=scope)).answer == "one"
    pool, _, tools = pool_of(LOOKS, READS, saying("two"))
    scope = RunScope(kind="force", recorded="first")
    state = await played(pool, first, scope=scope)
    assert [use.source for use in state.steps[0].tool_uses] == ["record", "server"]
    assert tools.log == [("read", {"path": "a.txt"})]


def test_what_a_person_gave_is_no_result_of_a_tool() -> None:
    def use(**more: Any) -> ToolUse:
        call = ToolCall(id="c", name="files__look", arguments="{}")
        return ToolUse(**{"server": "files", "tool": "look", "call": call, "result": "r", **more})

    by_person, refused, outcome = use(source="person"), use(source="refusal"), use(result="made")
    changed = use(sent='{"path": "other"}')
    results = RecordedResults.of([by_person, refused, changed, outcome], only=False)
    request = ToolRequest(server="files", tool="look", call=outcome.call)
    answer = results.use(request)
    assert answer is not None
    assert (answer.result, answer.source) == ("made", "record")
    assert results.use(request.model_copy(update={"tool": "read"})) is None
