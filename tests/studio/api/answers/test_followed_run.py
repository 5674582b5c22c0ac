"""Responses that one server makes and another one over the same store shows, stops and resumes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.access.auth import Principal
from tests.studio.api.answers.tool_cases import BOTH, TOOL
from tests.studio.api.performers import SECONDS, Paced, Pensive
from tests.studio.api.stage import Stage, staged
from tests.studio.api.stage import model as endpoint_worker
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text
from tests.support.runs.tool_cases import Caller, ScriptedTools, calling, contents, saying, with_tools
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow

PIECES = ("So ", "it ", "is, ", "word ", "by word.")
TWO = plan_text((0, "Look it up.", "[]"), (1, "Answer.", '["all"]'))
ONE = plan_text((0, "Answer.", "[]"))


@pytest.fixture
def servers(empty_store: Path, tmp_path: Path) -> Iterator[tuple[Stage, Stage]]:
    """Two servers, each with a store of its own over one file, as two processes have it."""
    url = f"sqlite:///{tmp_path / 'conductor.db'}"
    (tmp_path / "conductor.db").write_bytes(empty_store.read_bytes())
    with staged(SessionStore.open(url)) as one, staged(SessionStore.open(url)) as other:
        other.plays(SimulatedWorker(name="alpha"))
        yield one, other


def read(url: str) -> list[str]:
    """The events of a stream, byte by byte, without comments."""
    body = httpx.get(url, timeout=60).raise_for_status().text
    return [event for event in body.split("\n\n") if event and not event.startswith(":")]


def begin(client: OpenAI, **settings: Any) -> Any:
    """A response in the background, by the workflow or worker that is asked for."""
    return client.responses.create(**{"model": "conductor", "input": "Why?", "background": True, **settings})


# -- followed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["conductor", "worker:alpha"])
def test_a_stream_is_the_same_through_every_server_at_every_time(
    servers: tuple[Stage, Stage], model: str
) -> None:
    one, other = servers
    gate = Event()
    one.plays(Paced("alpha", PIECES, gates={2: gate}), plans=(ONE,))
    request = {"model": model, "input": "Why?", "stream": True, "metadata": {"team": "red"}}
    with ThreadPoolExecutor() as threads, httpx.Client(timeout=60) as client:
        with client.stream("POST", f"{one.base_url}/responses", json=request) as stream:
            lines = stream.iter_lines()
            early = [next(lines)]
            while not early[-1].startswith('data: {"type": "response.output_text.delta"'):
                early.append(next(lines))
            session = stream.headers["x-request-id"]
            address = f"{other.base_url}/responses/resp_{session}?stream=true"
            followers = [
                threads.submit(read, address),
                threads.submit(read, f"{address}&starting_after=4"),
                threads.submit(read, address.replace(other.base_url, one.base_url)),
            ]
            until(lambda: client.get(address.partition("?")[0]).json()["status"] == "in_progress")
            gate.set()
            whole = "\n".join([*early, *lines])
        events = [event for event in whole.split("\n\n") if not event.startswith(":")]
        events = [event.strip("\n") for event in events if event.strip("\n")]
        assert [follower.result() for follower in followers] == [events, events[5:], events]
    assert "response.completed" in events[-1]
    assert sum("output_text.delta" in event.partition("\n")[0] for event in events) > 1
    # And once it has ended.
    assert [read(address), read(f"{address}&starting_after=4")] == [events, events[5:]]
    assert read(f"{address}&starting_after={len(events) - 1}") == []


@pytest.mark.parametrize("name", ["conductor", "worker:alpha"])
def test_calls_of_tools_are_followed_and_so_is_what_their_results_lead_to(
    servers: tuple[Stage, Stage], fake_openai: Served, name: str
) -> None:
    one, other = servers
    fake_openai.fake.texts += [[{"content": "Let me see."}, *BOTH], "In Rome only."]
    one.plays(endpoint_worker("alpha", fake_openai.base_url), plans=(ONE,))
    tool = {"type": "function", **TOOL["function"]}
    request = {"model": name, "input": "Is it warm?", "tools": [tool], "stream": True}
    streams: list[list[str]] = []
    ids: list[str] = []
    for _ in range(2):
        body = httpx.post(f"{one.base_url}/responses", json=request, timeout=60).raise_for_status().text
        streams.append([event for event in body.split("\n\n") if event and not event.startswith(":")])
        response = json.loads(streams[-1][-1].partition("data: ")[2])["response"]
        ids.append(response["id"])
        call_ids = [item["call_id"] for item in response["output"] if item["type"] == "function_call"]
        results = [{"type": "function_call_output", "call_id": call, "output": "2"} for call in call_ids]
        request |= {"input": results, "previous_response_id": ids[-1]}
    assert "In Rome only." in streams[1][-1]
    assert [read(f"{other.base_url}/responses/{id}?stream=true") for id in ids] == streams


def test_what_people_do_in_the_session_afterwards_is_not_of_the_stream(servers: tuple[Stage, Stage]) -> None:
    one, other = servers
    one.plays(SimulatedWorker(name="alpha", answer="So."), plans=(ONE, ONE))
    with one.client() as mine:
        *_, last = mine.responses.create(model="conductor", input="Why?", stream=True)
    session = last.response.id.removeprefix("resp_")
    address = f"{other.base_url}/responses/{last.response.id}?stream=true"
    before = read(address)
    one.settle()
    one.plays(SimulatedWorker(name="alpha", answer="Otherwise."), plans=(ONE,))
    one.workbench.planning.begin_round(session)
    one.workbench.activities.wait(session)
    one.workbench.running.start(session)
    one.workbench.activities.wait(session)
    assert len(one.workbench.store.runs.of_session(session)) == 3
    assert read(address) == before


def test_openais_client_follows_a_response_in_the_background(servers: tuple[Stage, Stage]) -> None:
    one, other = servers
    gate = Event()
    one.plays(Paced("alpha", PIECES, gates={2: gate}))
    with one.client() as mine, other.client() as theirs:
        with begin(mine, model="worker:alpha", stream=True) as stream:
            id = next(event.response.id for event in stream if event.type == "response.created")
            first = next(event for event in stream if event.type == "response.output_text.delta")
        # Its client has left, and it goes on.
        with theirs.responses.retrieve(id, stream=True, starting_after=first.sequence_number) as rest:
            gate.set()
            deltas = [event for event in rest if event.type == "response.output_text.delta"]
        assert first.delta + "".join(event.delta for event in deltas) == "".join(PIECES)
        assert theirs.responses.retrieve(id).output_text == "".join(PIECES)


def test_a_stream_with_the_runs_events_is_followed_from_its_beginning_only(
    servers: tuple[Stage, Stage],
) -> None:
    one, other = servers
    one.plays(SimulatedWorker(name="alpha", answer="So."))
    with one.client() as mine:
        steered = {"conductor": {"events": True}}
        *_, last = mine.responses.create(model="worker:alpha", input="Why?", stream=True, extra_body=steered)
    address = f"{other.base_url}/responses/{last.response.id}?stream=true"
    assert "response.completed" in read(address)[-1]
    refused = httpx.get(f"{address}&starting_after=3")
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "starting_after")


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("stream=yes", "stream"),
        ("stream=true&stream=true", "stream"),
        ("starting_after=1", "starting_after"),
        ("stream=true&starting_after=-1", "starting_after"),
        ("stream=true&starting_after=1e3", "starting_after"),
    ],
)
def test_a_reading_that_cannot_be_honoured_is_refused_by_its_name(
    stage: Stage, client: OpenAI, query: str, param: str
) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="So."))
    id = client.responses.create(model="worker:alpha", input="Why?").id
    refused = httpx.get(f"{stage.base_url}/responses/{id}?{query}")
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)


# -- in the background -----------------------------------------------------------------------------


def test_a_response_in_the_background_comes_to_its_end_without_a_client(
    servers: tuple[Stage, Stage],
) -> None:
    one, other = servers
    gate = Event()
    one.plays(Paced("alpha", PIECES, gates={2: gate}), plans=(ONE,))
    with one.client() as mine, other.client() as theirs:
        response = begin(mine)
        assert (response.status, response.background, response.output) == ("in_progress", True, [])
        assert theirs.responses.retrieve(response.id).status == "in_progress"
        gate.set()
        until(lambda: theirs.responses.retrieve(response.id).status == "completed")
        ended = theirs.responses.retrieve(response.id)
    assert (ended.output_text, ended.background) == ("".join(PIECES), True)
    one.settle()
    assert len(one.auth.used) == 1


def test_what_is_not_stored_cannot_go_on_in_the_background(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="So."))
    with pytest.raises(openai.BadRequestError) as refused:
        begin(client, model="worker:alpha", store=False)
    assert (refused.value.param, refused.value.code) == ("background", "unsupported_parameter")


def test_a_failure_in_the_background_is_reported(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="So."), plans=("no plan",))
    id = begin(client).id
    until(lambda: client.responses.retrieve(id).status == "failed")
    error = client.responses.retrieve(id).error
    assert error is not None
    assert "no plan" in error.message or "The Conductor" in error.message


def test_a_server_that_stops_stores_what_it_stopped_as_failed(empty_store: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'conductor.db'}"
    (tmp_path / "conductor.db").write_bytes(empty_store.read_bytes())
    with staged(SessionStore.open(url)) as one, one.client() as client:
        one.plays(Paced("alpha", PIECES, gates={2: Event()}))
        id = begin(client, model="worker:alpha").id
    with staged(SessionStore.open(url)) as next_one, next_one.client() as client:
        next_one.plays(SimulatedWorker(name="alpha", answer="So."))
        stopped = client.responses.retrieve(id)
        assert (stopped.status, stopped.error.code) == ("failed", "server_stopping")  # type: ignore[union-attr]
        client.post(f"/responses/{id}/resume", cast_to=httpx.Response)
        until(lambda: client.responses.retrieve(id).status == "completed")


# -- stopped ---------------------------------------------------------------------------------------


def test_a_run_is_stopped_through_another_server(servers: tuple[Stage, Stage]) -> None:
    one, other = servers
    worker = Paced("alpha", PIECES, gates={2: Event()})
    one.plays(worker, plans=(ONE,))
    with one.client() as mine, other.client() as theirs:
        with mine.responses.create(model="conductor", input="Why?", stream=True) as stream:
            id = next(event.response.id for event in stream if event.type == "response.created")
            next(event for event in stream if event.type == "response.output_text.delta")
            stopped = theirs.responses.cancel(id)
            *_, last = stream
        assert worker.left.wait(SECONDS)
        assert (stopped.status, last.type) == ("cancelled", "response.failed")
        assert last.response.to_dict() == stopped.to_dict() == mine.responses.retrieve(id).to_dict()
        # Once more changes nothing.
        assert theirs.responses.cancel(id).to_dict() == stopped.to_dict()


def test_planning_is_stopped_through_another_server(servers: tuple[Stage, Stage]) -> None:
    one, other = servers
    planner = Pensive()
    one.plays(SimulatedWorker(name="alpha"), plans=planner)
    with one.client() as mine, other.client() as theirs:
        id = begin(mine).id
        assert planner.thinking.wait(SECONDS)
        assert theirs.responses.cancel(id).status == "cancelled"
    assert planner.left.wait(SECONDS)


def test_a_response_whose_client_left_reads_cancelled(servers: tuple[Stage, Stage]) -> None:
    one, other = servers
    worker = Paced("alpha", PIECES, gates={2: Event()})
    one.plays(worker)
    with one.client() as mine, other.client() as theirs:
        with mine.responses.create(model="worker:alpha", input="Why?", stream=True) as stream:
            id = next(event.response.id for event in stream if event.type == "response.created")
        until(lambda: theirs.responses.retrieve(id).status == "cancelled")
    assert worker.left.wait(SECONDS)


# -- resumed ---------------------------------------------------------------------------------------


def resume(stage: Stage, id: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{stage.base_url}/responses/{id}/resume", timeout=60, json=body or None)


def broken_off(one: Stage, client: OpenAI) -> tuple[str, SimulatedWorker]:
    """A response that was stopped in its second step; who did the first."""
    first = SimulatedWorker(name="alpha", answer="Facts.")
    one.plays(first, Paced("beta", PIECES, gates={1: Event()}), plans=(TWO,))
    id: str = begin(client).id
    store, session = one.workbench.store, id.removeprefix("resp_")
    until(lambda: store.runs.of_session(session) and store.runs.outputs(session))
    assert client.responses.cancel(id).status == "cancelled"
    return id, first


def test_a_response_is_resumed_by_another_server_and_no_finished_step_is_called_again(
    servers: tuple[Stage, Stage],
) -> None:
    one, other = servers
    with one.client() as mine, other.client() as theirs:
        id, first = broken_off(one, mine)
        again = SimulatedWorker(name="alpha", answer="Facts.")
        gate = Event()
        other.plays(again, Paced("beta", PIECES, gates={1: gate}))
        resumed = resume(other, id)
        assert (resumed.status_code, resumed.json()["id"], resumed.json()["status"]) == (
            200,
            id,
            "in_progress",
        )
        busy = resume(one, id)
        assert (busy.status_code, busy.json()["error"]["code"]) == (409, "response_in_progress")
        with mine.responses.retrieve(id, stream=True) as stream:
            gate.set()
            events = list(stream)
        assert "".join(event.delta for event in events if "delta" in event.type) == "".join(PIECES)
        ended = theirs.responses.retrieve(id)
        assert events[-1].response.to_dict() == ended.to_dict()  # type: ignore[union-attr]
    assert (ended.status, ended.output_text) == ("completed", "".join(PIECES))
    steps = ended.to_dict()["conductor"]["steps"]  # type: ignore[index,call-overload]
    assert [step["reused"] for step in steps] == [True, False]
    assert (len(first.requests), len(again.requests)) == (1, 0)
    done = resume(one, id)
    assert (done.status_code, done.json()["error"]["code"]) == (409, "nothing_to_resume")


def test_what_broke_off_before_it_had_a_workflow_is_to_be_asked_once_more(
    stage: Stage, client: OpenAI
) -> None:
    stage.plays(SimulatedWorker(name="alpha"), plans=("no plan",))
    id = begin(client).id
    until(lambda: client.responses.retrieve(id).status == "failed")
    refused = resume(stage, id)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "nothing_to_resume")


def test_a_token_resumes_with_its_own_workers_and_its_own_budget_only(servers: tuple[Stage, Stage]) -> None:
    one, other = servers
    with one.client() as mine:
        id, _ = broken_off(one, mine)
    other.plays(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta", answer="So."))
    other.auth.principal = Principal(workers=("alpha",))
    refused = resume(other, id)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "worker_not_allowed")
    other.auth.principal = Principal(workers=("alpha", "beta"))
    assert resume(other, id).status_code == 200
    until(lambda: httpx.get(f"{other.base_url}/responses/{id}").json()["status"] == "completed")
    other.settle()


# -- at a gate -------------------------------------------------------------------------------------

GATED = json.loads(
    write_plan(
        Workflow.of(
            [
                Step(instruction="draft", worker="alpha"),
                Step(instruction="polish", worker="beta", access=(0,), gate=True),
            ]
        ),
        query=None,
        origin="human",
        workers=("alpha", "beta"),
        label=None,
    )
)

TOOLED = json.loads(
    write_plan(
        Workflow.of([Step(instruction="note it", worker="alpha")]),
        query=None,
        origin="human",
        workers=("alpha", "beta"),
        label=None,
    )
)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_response_waits_at_a_gate_and_another_server_goes_on_with_it(
    servers: tuple[Stage, Stage], streamed: bool
) -> None:
    one, other = servers
    for stage in servers:
        answers = {"alpha": "Facts.", "beta": "Fine."}
        stage.plays(*(SimulatedWorker(name=name, answer=text) for name, text in answers.items()))
    with one.client() as client, other.client() as theirs:
        first: Any = client.responses.create(
            model="conductor",
            input="Why?",
            stream=streamed,
            extra_body={"conductor": {"workflow": GATED}},
        )
        if streamed:
            last = list(first)[-1]
            assert last.type == "response.incomplete"
            first = last.response
        assert (first.status, first.incomplete_details.reason, first.output) == ("incomplete", "paused", [])
        assert first.conductor["waits_before"] == [1]
        assert theirs.responses.retrieve(first.id).to_dict() == first.to_dict()
        resumed = resume(other, first.id)
        assert (resumed.status_code, resumed.json()["status"]) == (200, "in_progress")
        until(lambda: client.responses.retrieve(first.id).status == "completed")
        ended: Any = client.responses.retrieve(first.id)
    assert ended.output_text == "Fine."
    assert [step["reused"] for step in ended.conductor["steps"]] == [True, False]
    assert ended.conductor["waits_before"] == []
    assert resume(one, first.id).status_code == 409


def test_a_response_waits_for_a_yes_and_goes_on_as_it_was_decided(servers: tuple[Stage, Stage]) -> None:
    one, other = servers
    model, tools = (
        Caller([calling("files__write", '{"path": "a"}', id="w"), saying("So.")]),
        ScriptedTools(contents),
    )
    for stage in servers:
        stage.plays(with_tools(model, tools), SimulatedWorker(name="beta", answer="Fine."))
    with one.client() as client:
        first: Any = client.responses.create(
            model="conductor", input="Why?", extra_body={"conductor": {"workflow": TOOLED}}
        )
        assert (first.status, first.incomplete_details.reason, tools.log) == ("incomplete", "paused", [])
        [waits] = first.conductor["waits_with"]
        assert (waits["tool"], waits["arguments"]) == ("files:write", '{"path": "a"}')
        decision = {name: waits[name] for name in ("step", "at", "id")}
        for bad, code in (
            ({"verdict": "maybe"}, "invalid_value"),
            ({"verdict": "allow", "at": 7}, "invalid_decision"),
            ({"verdict": "allow", "arguments": "[]"}, "invalid_decision"),
        ):
            refused = resume(other, first.id, decisions=[{**decision, **bad}])
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, code)
        changed = {**decision, "verdict": "allow", "arguments": '{"path": "b"}'}
        assert resume(other, first.id, decisions=[changed]).status_code == 200
        until(lambda: client.responses.retrieve(first.id).status == "completed")
        ended: Any = client.responses.retrieve(first.id)
    assert (ended.output_text, tools.log) == ("So.", [("write", {"path": "b"})])
    assert ended.conductor["waits_with"] == []


@pytest.mark.parametrize(
    ("limit", "names"),
    [(("files:read", "web"), ["files__read"]), (("files:w*",), ["files__write"]), ((), [])],
)
def test_a_token_has_the_tools_that_it_names(
    servers: tuple[Stage, Stage], limit: tuple[str, ...], names: list[str]
) -> None:
    stage, _ = servers
    model = Caller([saying("So.")])
    stage.plays(with_tools(model, ScriptedTools(contents)))
    stage.auth.principal = Principal(tools=limit)
    with stage.client() as client:
        client.chat.completions.create(model="worker:alpha", messages=[{"role": "user", "content": "Why?"}])
    offer = model.requests[0].sampling.tools
    assert [tool.name for tool in (offer.tools if offer is not None else ())] == names


def test_a_token_allows_no_call_beyond_its_tools(servers: tuple[Stage, Stage]) -> None:
    one, other = servers
    tools = ScriptedTools(contents)
    model = Caller([calling("files__write", id="w"), saying("So.")])
    for stage in servers:
        stage.plays(with_tools(model, tools), SimulatedWorker(name="beta"))
    with one.client() as client:
        first: Any = client.responses.create(
            model="conductor", input="Why?", extra_body={"conductor": {"workflow": TOOLED}}
        )
        other.auth.principal = Principal(tools=("files:read",))
        decision = {"step": 0, "at": 0, "id": "w", "verdict": "allow"}
        assert resume(other, first.id, decisions=[decision]).status_code == 200
        until(lambda: client.responses.retrieve(first.id).status != "in_progress")
    assert tools.log == []


def test_what_is_not_stored_is_offered_no_tool_that_acts(servers: tuple[Stage, Stage]) -> None:
    stage, _ = servers
    model = Caller([saying("So.")])
    stage.plays(with_tools(model, ScriptedTools(contents)))
    with stage.client() as client:
        client.chat.completions.create(
            model="worker:alpha", messages=[{"role": "user", "content": "Why?"}], store=False
        )
    offer = model.requests[0].sampling.tools
    assert offer is not None
    assert [tool.name for tool in offer.tools] == ["files__read", "files__look"]


def test_a_chat_completion_that_comes_to_a_gate_names_its_session(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta"))

    def ask(**more: Any) -> Any:
        return client.chat.completions.create(
            model="conductor",
            messages=[{"role": "user", "content": "Why?"}],
            extra_body={"conductor": {"workflow": GATED}},
            **more,
        )

    with pytest.raises(openai.APIStatusError) as refused:
        ask()
    session = stage.workbench.store.sessions.listed()[0]
    assert (refused.value.status_code, refused.value.code, session.state) == (409, "run_paused", "paused")
    assert "is waiting before step 2" in str(refused.value)
    assert f"--session {session.id} --continue" in str(refused.value)
    with pytest.raises(openai.APIStatusError) as refused:
        ask(store=False)
    assert (refused.value.status_code, refused.value.param) == (400, "store")
