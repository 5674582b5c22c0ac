"""The server over streamable HTTP on the loopback address, as the SDK's own client meets it, with tokens."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from conductor.runs.request import Asker
from conductor.values.messages import Completion, Delta, Request, Usage
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Worker, WorkerCard
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from storage.api_token import TokenLimits, new_secret
from studio.access.auth import TokenAuthenticator
from studio.api.backend import Backend
from studio.mcp.callers import Callers
from studio.mcp.http import McpHttpServer
from studio.workbench import Workbench
from tests.support.runs.charges import took
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text
from tests.support.runs.rerun_cases import Wire, check_cards, remembered_pool
from tests.support.runs.tool_cases import Caller, ScriptedTools, calling, contents, saying, with_tools
from tests.support.runs.waiting import until_async

pytestmark = pytest.mark.slow

MODES = ("auto", "legacy")


@dataclass(frozen=True)
class Agents:
    """A running server; `machine` is the token of this machine."""

    server: McpHttpServer
    bench: Workbench
    machine: str

    def token(self, **limits: Any) -> str:
        """A new token with these limits."""
        number = len(self.bench.store.tokens.listed())
        return self.bench.store.tokens.create(f"agent {number}", TokenLimits(**limits))[1]

    @asynccontextmanager
    async def client(self, token: str | None, mode: str = "auto") -> AsyncIterator[Client]:
        """The SDK's client with that bearer token."""
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(self.server.url, http_client=http)
            async with Client(transport, mode=mode, read_timeout_seconds=30) as client:
                yield client


@dataclass
class Waiting:
    """A worker that answers nothing until it is stopped; `called` and `left` are set meanwhile."""

    name: str = "waiting"
    called: Event = field(default_factory=Event)
    left: Event = field(default_factory=Event)

    @property
    def card(self) -> WorkerCard:
        return WorkerCard(name=self.name, kind="simulated", strengths="waits", model=self.name)

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        try:
            self.called.set()
            yield Delta(text="Well, ")
            await asyncio.Event().wait()
        except (asyncio.CancelledError, GeneratorExit):
            self.left.set()
            raise


@contextmanager
def serving(file: Path, *workers: Worker) -> Iterator[Agents]:
    """Serve agents over the store in that file until the block is left."""
    pool = Pool(workers=workers)
    conductor = ScriptedConductor((plan_text((0, "first", "[]"), (1, "then", '["all"]')),))
    bench = Workbench.over(SessionStore.open(f"sqlite:///{file}"), pool=pool, conductor=conductor)
    machine = new_secret().text
    auth = TokenAuthenticator(lambda: bench.store.tokens, machine=lambda: machine)
    server = McpHttpServer(Callers.of(Backend(lambda: bench), auth, local=False))
    thread = Thread(target=server.run, name="mcp", daemon=True)
    thread.start()
    assert server.ready.wait(60), "the server did not start"
    try:
        yield Agents(server, bench, machine)
    finally:
        server.should_exit = True
        thread.join(60)
        bench.close()
        assert not thread.is_alive(), "the server did not stop"


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


@pytest.fixture
def agents(tmp_path: Path, empty_store: Path, waiting: Waiting) -> Iterator[Agents]:
    file = shutil.copyfile(empty_store, tmp_path / "agents.db")
    workers = (
        SimulatedWorker(name="alpha", answer="from alpha"),
        SimulatedWorker(name="beta", answer="from beta"),
    )
    with serving(file, *workers, waiting) as served:
        yield served


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("body", [b"zzz\r\n", b"5\r\nhello\r\nzzz\r\n", b"0\r\nbroken\r\n\r\n", b"5\r\nhe"])
async def test_a_malformed_or_cut_off_body_makes_one_line_of_the_log_at_most(
    agents: Agents, caplog: pytest.LogCaptureFixture, body: bytes, is_known: bool
) -> None:
    host, port = agents.server.url.removeprefix("http://").removesuffix("/mcp").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n"
        f"Authorization: Bearer {agents.machine if is_known else 'unknown'}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    writer.write_eof()
    await reader.read()
    writer.close()
    await writer.wait_closed()
    await _end_of(agents)
    assert not [line for line in caplog.records if line.exc_info]
    lines = [line.getMessage() for line in caplog.records if line.levelname in ("WARNING", "ERROR")]
    assert lines in ([], ["Invalid HTTP request received."])


async def _end_of(agents: Agents) -> None:
    """Wait until the server has closed its connections, and ended what it did for them."""
    state = agents.server.server_state
    await until_async(lambda: not state.connections and not state.tasks)


async def test_a_body_beyond_the_limits_of_the_api_is_refused(agents: Agents) -> None:
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {agents.machine}"}) as client:
        for body, code in ((b" " * 10_000_001, 413), (b"[" + b"1," * 40_000, 413), (b"{", 400)):
            headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
            assert (await client.post(agents.server.url, content=body, headers=headers)).status_code == code


def structured(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


def error_of(result: CallToolResult) -> str:
    assert result.is_error
    (content,) = result.content
    return str(content.text)


async def settled(agents: Agents) -> None:
    """Wait until what the calls used is recorded."""
    await until_async(lambda: not agents.server.runs.busy)


# -- who is admitted -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({}, 401, "This server needs a token."),
        ({"authorization": "Bearer cs_unknown"}, 401, "not one of this server's"),
        ({"origin": "https://elsewhere.example"}, 403, "Pages of other sites"),
        ({"host": "elsewhere.example"}, 403, "does not go by the name"),
    ],
)
def test_a_request_without_a_token_or_of_another_site_reaches_no_tool(
    agents: Agents, method: str, headers: dict[str, str], status: int, words: str
) -> None:
    answer = httpx.request(method, agents.server.url, headers=headers)
    assert answer.status_code == status
    assert words in answer.json()["error"]["message"]
    assert (answer.headers.get("www-authenticate") == "Bearer") == (status == 401)


def test_a_revoked_token_reaches_no_tool(agents: Agents) -> None:
    token = agents.token()
    agents.bench.store.tokens.revoke(agents.bench.store.tokens.listed()[0].id)
    answer = httpx.post(agents.server.url, headers={"authorization": f"Bearer {token}"}, json={})
    assert (answer.status_code, "revoked" in answer.text) == (401, True)


def test_a_connection_that_one_token_began_is_not_there_for_another(agents: Agents) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    own, other = ({"authorization": f"Bearer {agents.token()}"} for _ in range(2))
    shared = {"accept": "application/json, text/event-stream"}
    response = httpx.post(agents.server.url, headers=own | shared, json=hello)
    shared["mcp-session-id"] = response.headers["mcp-session-id"]
    statuses = [
        httpx.post(agents.server.url, headers=who | shared, json=listing).status_code for who in (own, other)
    ]
    assert statuses == [200, 404]


# -- a token's limits ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
async def test_what_a_call_used_is_recorded_for_its_token(agents: Agents, mode: str) -> None:
    async with agents.client(agents.token(), mode) as client:
        answer = structured(await client.call_tool("ask", {"query": "Why?"}))
        assert (answer["answer"], answer["steps"][1]["access"]) == ("from beta", [0])
        planned = structured(await client.call_tool("plan", {"query": "Why?"}))
    await settled(agents)
    spent = agents.bench.store.tokens.spent(agents.bench.store.tokens.listed()[0].id)
    assert spent.requests == 2
    assert spent.tokens == answer["used"]["tokens"] + planned["used"]["tokens"]


async def test_a_token_for_some_workers_has_no_others(agents: Agents) -> None:
    steps = [{"instruction": "Do it.", "worker": "beta", "access": []}]
    workflow = {"format": "conductor-workflow", "version": 1, "steps": steps}
    session = agents.bench.editing.import_plan(json.dumps(workflow), query="Why?").id
    async with agents.client(agents.token(workers=("alpha",))) as client:
        listed = structured(await client.call_tool("list_workers", {}))
        assert [worker["name"] for worker in listed["workers"]] == ["alpha"]
        for tool, arguments in (
            ("ask", {"query": "Why?", "model": "worker:beta"}),
            ("ask", {"query": "Why?", "workers": ["beta"]}),
            ("run_workflow", {"workflow": workflow, "query": "Why?"}),
        ):
            assert "may" in error_of(await client.call_tool(tool, arguments))
        for tool, more in (("show_session", {}), ("show_step", {"step": 0}), ("run_workflow", {})):
            refused = error_of(await client.call_tool(tool, {"session": session, **more}))
            assert "There is no session" in refused
            assert "beta" not in refused
    assert agents.bench.store.runs.of_session(session) == ()


async def test_a_token_whose_budget_is_used_up_reads_so_in_the_error_of_its_call(agents: Agents) -> None:
    async with agents.client(agents.token(tokens=4)) as client:
        tokens = agents.bench.store.tokens
        by = Asker(token=tokens.listed()[0].id)
        agents.bench.store.ledger.add(took(Usage(prompt_tokens=3, completion_tokens=1)), by=by)
        call = ("ask", {"query": "Why?", "model": "worker:alpha"})
        assert "is used up" in error_of(await client.call_tool(*call))


async def test_a_token_with_limits_may_not_evaluate_and_one_without_may(agents: Agents) -> None:
    arguments = {"questions": [{"input": "Why?", "target": ["from alpha"]}], "planners": ["worker:alpha"]}
    for limits in ({"workers": ("alpha",)}, {"tools": ()}, {"tokens": 1_000}, {"cost": 1.0}):
        async with agents.client(agents.token(**limits)) as client:
            assert "may not make one" in error_of(await client.call_tool("evaluate", arguments))
    assert agents.bench.store.evaluations.listed() == ()
    async with agents.client(agents.token()) as client:
        evaluation = structured(await client.call_tool("evaluate", arguments))
        assert [each["right"] for each in evaluation["planners"]] == [1]
    store = agents.bench.store
    assert {use.names for use in store.ledger.used("token")} == {(store.tokens.listed()[0].id,)}


@pytest.mark.parametrize(
    ("target", "stored"), [("a", ("a",)), (42, ("42",)), (1.5, ("1.5",)), ([42, "a"], ("42", "a"))]
)
async def test_a_target_is_a_text_or_a_number_or_several_as_in_a_file(
    agents: Agents, target: object, stored: tuple[str, ...]
) -> None:
    arguments = {"questions": [{"input": "Why?", "target": target}], "planners": ["worker:alpha"]}
    async with agents.client(agents.token()) as client:
        evaluation = structured(await client.call_tool("evaluate", arguments))
    assert agents.bench.store.evaluations.items(evaluation["evaluation"])[0].target == stored


async def test_an_evaluation_whose_call_is_cancelled_stops_and_goes_on_by_its_id(
    agents: Agents, waiting: Waiting
) -> None:
    questions = [{"input": "Why?", "target": ["from alpha"]}]
    arguments = {"questions": questions, "planners": ["worker:alpha", "worker:waiting"]}
    async with agents.client(agents.token()) as client:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "evaluate", arguments)
                assert await asyncio.to_thread(waiting.called.wait, 10)
                scope.cancel()
        assert await asyncio.to_thread(waiting.left.wait, 10)
        (record,) = agents.bench.store.evaluations.listed()
        await until_async(lambda: agents.bench.store.evaluations.find(record.id).reason is not None)
        waiting.called.clear()
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "evaluate", {"evaluation": record.id})
                assert await asyncio.to_thread(waiting.called.wait, 10)
                scope.cancel()


async def test_only_calls_of_tools_count_against_the_requests_a_minute(agents: Agents) -> None:
    async with agents.client(agents.token(requests_per_minute=1), "legacy") as client:
        await client.list_tools()
        structured(await client.call_tool("list_workers", {}))
        assert "may have 1 requests per minute" in error_of(await client.call_tool("list_workers", {}))


async def test_a_token_lists_its_own_sessions_and_reads_none_of_another(agents: Agents) -> None:
    query = {"query": "Why?", "model": "worker:alpha"}
    async with agents.client(agents.token()) as client:
        session = structured(await client.call_tool("ask", query))["session"]
        listed = structured(await client.call_tool("list_sessions", {}))
        assert [each["id"] for each in listed["sessions"]] == [session]
    async with agents.client(agents.token()) as client:
        assert structured(await client.call_tool("list_sessions", {}))["sessions"] == []
        (run,) = agents.bench.store.runs.of_session(session)
        compared = await client.call_tool("compare_runs", {"old": run.id, "new": run.id})
        assert "is another token's" in error_of(compared)
        for tool, more in (("show_session", {}), ("show_step", {"step": 0}), ("run_workflow", {})):
            result = await client.call_tool(tool, {"session": session, **more})
            assert "is another token's" in error_of(result)
    async with agents.client(agents.machine) as client:
        assert len(structured(await client.call_tool("list_sessions", {}))["sessions"]) == 1


# -- long calls ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["ask", "run_workflow"])
async def test_a_call_that_is_cancelled_stops_its_run(
    agents: Agents, waiting: Waiting, mode: str, tool: str
) -> None:
    steps = [
        {"instruction": "Do it.", "worker": "alpha", "access": []},
        {"instruction": "Wait.", "worker": "waiting", "access": [0]},
    ]
    document = {"format": "conductor-workflow", "version": 1, "query": "Why?", "steps": steps}
    arguments = {"query": "Why?", "model": "worker:waiting"} if tool == "ask" else {"workflow": document}
    async with agents.client(agents.token(), mode) as client:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, tool, arguments)
                assert await asyncio.to_thread(waiting.called.wait, 10)
                scope.cancel()
        assert await asyncio.to_thread(waiting.left.wait, 10)
        await settled(agents)
        (session,) = structured(await client.call_tool("list_sessions", {}))["sessions"]
        view = structured(await client.call_tool("show_session", {"session": session["id"]}))
        assert [run["status"] for run in view["runs"]] == ["cancelled"]


async def test_a_server_that_stops_ends_the_call_and_its_run(
    tmp_path: Path, empty_store: Path, waiting: Waiting
) -> None:
    file = shutil.copyfile(empty_store, tmp_path / "stopping.db")
    with serving(file, waiting) as agents:
        async with agents.client(agents.machine) as client:
            arguments = {"query": "Why?", "model": "worker:waiting"}
            calling = asyncio.ensure_future(client.call_tool("ask", arguments))
            assert await asyncio.to_thread(waiting.called.wait, 10)
            agents.server.should_exit = True
            assert "server" in error_of(await calling)
    assert waiting.left.is_set()
    with SessionStore.open(f"sqlite:///{file}") as store:
        (session,) = store.sessions.listed()
        assert [run.status for run in store.runs.of_session(session.id)] == ["cancelled"]


async def test_samples_stay_what_they_were_when_an_agent_runs_a_session_again(
    tmp_path: Path, empty_store: Path
) -> None:
    wire = Wire()
    sample = Step(instruction="Solve it.", worker="samples")
    join = Step(instruction="Join.", worker="words", access=(0, 1, 2))
    file = shutil.copyfile(empty_store, tmp_path / "samples.db")
    with serving(file, *remembered_pool(wire).workers) as agents:
        session = agents.bench.ask("About 17.").id
        agents.bench.editing.edit(session, Workflow.of([sample, sample, sample, join]), note="By hand")
        async with agents.client(agents.machine) as client:
            for _ in range(2):
                structured(await client.call_tool("run_workflow", {"session": session}))
        runs = agents.bench.store.runs.of_session(session)
        states = [agents.bench.state(run) for run in runs]
    for state in states:
        check_cards(state, wire)
        assert [step.text for step in state.steps[:3]] == ["sample 1", "sample 2", "sample 3"]
    assert (len(states), len(wire.calls)) == (2, 4)


async def test_an_agent_passes_on_what_its_user_decides_of_a_call_that_waits(
    tmp_path: Path, empty_store: Path
) -> None:
    tools = ScriptedTools(contents)
    model = Caller([calling("files__write", '{"path": "a"}', id="w"), saying("It is written.")])
    step = {"instruction": "Do it.", "worker": "alpha", "access": []}
    workflow = {"format": "conductor-workflow", "version": 1, "steps": [step]}
    file = shutil.copyfile(empty_store, tmp_path / "tools.db")
    with serving(file, with_tools(model, tools)) as agents:
        async with agents.client(agents.machine) as client:
            refused = error_of(
                await client.call_tool("run_workflow", {"workflow": workflow, "query": "Why?"})
            )
            assert "waiting for a yes in step 1" in refused
            [session] = agents.bench.store.sessions.listed()
            step_view = structured(await client.call_tool("show_step", {"session": session.id, "step": 0}))
            [waits] = step_view["waits_with"]
            assert (waits["tool"], waits["arguments"]) == ("files:write", '{"path": "a"}')
            decision = {"step": 0, "at": 0, "id": "w", "verdict": "allow"}
            arguments = {"session": session.id, "decisions": [decision]}
            answered = structured(await client.call_tool("run_workflow", arguments))
    assert (answered["answer"], tools.log) == ("It is written.", [("write", {"path": "a"})])
