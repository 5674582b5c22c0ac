"""A run that waits for a yes is over: it survives a restart, is decided by a person, can be stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.scope import RunScope
from conductor.runs.state import RunState
from conductor.values.message_parts.tool_use import ToolDecision
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.tools.permissions import Permissions
from storage import SessionStore
from studio.workbench import Contender, Workbench
from tests.support.runs.tool_cases import Caller, ScriptedTools, calling, contents, saying, with_tools
from tests.support.runs.waiting import until
from tests.support.runs.workflow_cases import workflow_of
from tests.support.stores.session_files import exported, imported

pytestmark = pytest.mark.slow

CHAIN = workflow_of((), (0,)).with_worker(1, "beta")
WRITES = calling("files__write", '{"path": "a.txt"}', id="w1")
ALLOW = ToolDecision(step=0, at=0, id="w1", verdict="allow")
ONCE = Permissions(first=frozenset({"files"}))


@contextmanager
def opened(url: str, model: Caller, tools: ScriptedTools, **more: Permissions) -> Iterator[Workbench]:
    pool = Pool(workers=(with_tools(model, tools, **more), SimulatedWorker(name="beta", tokens=3)))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    try:
        yield bench
    finally:
        bench.close()


def waiting_session(bench: Workbench) -> str:
    """A session in which the workflow ran as far as it goes."""
    session = bench.ask("Which?").id
    bench.editing.edit(session, CHAIN, note="Written")
    run(bench, session)
    return session


def run(bench: Workbench, session: str, scope: RunScope | None = None) -> RunState:
    bench.running.start(session, scope)
    bench.activities.wait(session)
    last = bench.store.runs.latest(session)
    assert last is not None
    return bench.state(last)


def test_it_is_decided_after_a_restart_and_the_model_is_not_asked_again(url: str) -> None:
    model, tools = Caller([WRITES, saying("done")]), ScriptedTools(contents)
    with opened(url, model, tools) as bench:
        session = waiting_session(bench)
        [listed] = bench.store.sessions.listed()
        assert listed.state == "paused"
    with opened(url, model, tools) as bench:
        waiting = bench.running.waiting(session)
        assert waiting is not None
        [call] = waiting.waiting_calls
        assert call.shape == {
            "step": 0,
            "at": 0,
            "id": "w1",
            "turn": call.turn,
            "tool": "files:write",
            "arguments": '{"path": "a.txt"}',
            "why": "acts",
        }
        state = run(bench, session, bench.running.next_scope(session, decisions=[ALLOW]))
        assert (state.status, tools.log) == ("finished", [("write", {"path": "a.txt"})])
        assert len(model.requests) == 2
        assert bench.running.waiting(session) is None


def test_a_run_that_is_stopped_while_it_waits_asks_again_without_another_request(url: str) -> None:
    model, tools = Caller([WRITES, saying("done")]), ScriptedTools(contents)
    with opened(url, model, tools) as bench:
        session = waiting_session(bench)
        bench.running.stop(session)
        state = run(bench, session)
        assert (state.status, len(model.requests), tools.log) == ("paused", 1, [])


def test_the_first_yes_counts_for_every_later_run_of_the_session(url: str) -> None:
    model, tools = Caller([WRITES, saying("done")]), ScriptedTools(contents)
    with opened(url, model, tools, permissions=ONCE) as bench:
        session = waiting_session(bench)
        run(bench, session, bench.running.next_scope(session, decisions=[ALLOW]))
        model.answers = [*model.answers, WRITES, saying("again")]
        state = run(bench, session, RunScope(kind="from", step=0))
        assert (state.status, len(tools.log)) == ("finished", 2)


def test_a_yes_in_a_file_lets_no_tool_act(url: str) -> None:
    model, tools = Caller([WRITES, saying("done")]), ScriptedTools(contents)
    with opened(url, model, tools, permissions=ONCE) as bench:
        session = waiting_session(bench)
        run(bench, session, bench.running.next_scope(session, decisions=[ALLOW]))
        copy = imported(bench.store, exported(bench.store, session)).id
        model.answers = [*model.answers, WRITES, saying("again")]
        state = run(bench, copy, RunScope(kind="from", step=0))
        assert (state.status, len(tools.log)) == ("paused", 1)


def test_a_question_of_no_call_is_passed_over(url: str) -> None:
    with opened(url, Caller([WRITES]), ScriptedTools(contents)) as bench:
        file = exported(bench.store, waiting_session(bench)).replace(b'"at":0,"why"', b'"at":7,"why"')
        waiting = bench.running.waiting(imported(bench.store, file).id)
        assert waiting is not None
        assert (waiting.held, waiting.waiting_calls) == ((0,), ())


def test_an_edit_of_a_later_step_leaves_the_call_waiting_and_one_of_its_own_step_begins_afresh(
    url: str,
) -> None:
    model, tools = Caller([WRITES, saying("done")]), ScriptedTools(contents)
    with opened(url, model, tools) as bench:
        session = waiting_session(bench)
        bench.editing.edit(session, CHAIN.with_instruction(1, "Another one."), note="Edit")
        state = run(bench, session, bench.running.next_scope(session, decisions=[ALLOW]))
        assert (state.status, len(model.requests), len(tools.log)) == ("finished", 2, 1)
        model.answers = [*model.answers, WRITES, saying("again")]
        bench.editing.edit(session, CHAIN.with_instruction(0, "Another one."), note="Edit")
        assert run(bench, session).status == "paused"
        assert (len(model.requests), len(tools.log)) == (3, 1)


def test_a_step_that_acted_and_failed_goes_on_also_after_a_run_with_an_answer(url: str) -> None:
    model, tools = Caller([WRITES, RuntimeError("gone"), saying("done")]), ScriptedTools(contents)
    with opened(url, model, tools, permissions=Permissions(never=frozenset({"files"}))) as bench:
        session = bench.ask("Which?").id
        bench.editing.edit(session, workflow_of((), ()).with_worker(1, "beta"), note="Written")
        assert [step.status for step in run(bench, session).steps] == ["failed", "finished"]
        assert run(bench, session).steps[0].text == "done"
    assert (len(model.requests), len(tools.log)) == (3, 1)
    assert model.requests[2] == model.requests[1]


def test_a_race_waits_for_no_person(url: str) -> None:
    model, tools = Caller([saying("done")]), ScriptedTools(contents)
    with opened(url, model, tools) as bench:
        session = waiting_session(bench)
        contender = Contender(session=session, name="it", workflow=CHAIN)
        for live in bench.racing.start(contender, contender):
            until(lambda run=live.run: bench.store.runs.find(run).status != "running")
    offers = [request.sampling.tools for request in model.requests]
    assert [len(offer.tools) for offer in offers if offer is not None] == [3, 2, 2]
