"""A cancelled response reads cancelled everywhere, whatever went on at that time; a failure stays one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from conductor.errors import StorageError, WorkerError
from conductor.planner.conductor import PlanRequest
from conductor.runs import events
from conductor.runs.events import Event as RunEvent
from conductor.values.messages import Completion, Delta, Request
from conductor.values.presets import Settings
from conductor.workers.protocol import WorkerCard
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from storage import SessionStore
from studio.api.requests import run_request
from tests.studio.api.inbox import Inbox
from tests.studio.api.performers import SECONDS, Paced, Pensive
from tests.studio.api.stage import Stage, staged
from tests.support.runs.conductor_cases import BROKEN, ScriptedConductor, plan_text
from tests.support.runs.waiting import until
from tests.support.runs.worker_cases import Raising

pytestmark = [pytest.mark.slow, pytest.mark.thorough, pytest.mark.usefixtures("open_at_once")]

ONE = plan_text((0, "Say.", "[]"))
TWO = plan_text((0, "Look.", "[]"), (0, "Say.", '["all"]'))
SAYS = SimulatedWorker(name="alpha", answer="So.")


@dataclass
class Waiting:
    """Is called and never answers."""

    called: Event = field(default_factory=Event)
    card: WorkerCard = WorkerCard(name="alpha", kind="simulated", strengths="waits", model="alpha")

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        self.called.set()
        await asyncio.Event().wait()
        yield Completion(text="")


@dataclass
class Rethinking(ScriptedConductor):
    """Plans once, and then thinks without an end."""

    thinking: Event = field(default_factory=Event)

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        if self.requests:
            self.thinking.set()
            await asyncio.Event().wait()
        async for item in super().stream(request):
            yield item


# -- the moments -------------------------------------------------------------------------------------


@dataclass
class Moment:
    """`reached` holds from when it comes until `over`; `parameters` are more of the request."""

    reached: Callable[[], object]
    over: Event = field(default_factory=Event)
    parameters: Mapping[str, Any] = field(default_factory=dict)


Begins = Callable[[Stage, pytest.MonkeyPatch], Moment]


def held(monkeypatch: pytest.MonkeyPatch, part: object, name: str, *, done: bool = False) -> Moment:
    """The first call of a method of the store, before it is made or, where it is `done`, after that."""
    call = Event()
    moment = Moment(call.is_set)
    does = getattr(part, name)

    def waits(*arguments: Any, **named: Any) -> object:
        result = does(*arguments, **named) if done else None
        if not call.is_set():
            call.set()
            assert moment.over.wait(SECONDS)
        return result if done else does(*arguments, **named)

    monkeypatch.setattr(part, name, waits)
    return moment


def in_store(part: str, name: str, *plans: str, done: bool = False) -> Begins:
    """While the store is at that."""

    def begin(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Moment:
        stage.plays(Waiting(), plans=plans or (ONE,))
        return held(monkeypatch, getattr(stage.workbench.store, part), name, done=done)

    return begin


def planning(stage: Stage, _: pytest.MonkeyPatch) -> Moment:
    conductor = Pensive()
    stage.plays(SAYS, plans=conductor)
    return Moment(conductor.thinking.is_set)


def the_last_attempt(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Moment:
    monkeypatch.setattr(run_request, "Settings", lambda **arguments: Settings(**{**arguments, "attempts": 1}))
    return in_store("plans", "add", BROKEN)(stage, monkeypatch)


def a_steps_call(stage: Stage, _: pytest.MonkeyPatch) -> Moment:
    worker = Waiting()
    stage.plays(worker, plans=(ONE,))
    return Moment(worker.called.is_set)


def a_call_without_a_plan(stage: Stage, _: pytest.MonkeyPatch) -> Moment:
    worker = Waiting()
    stage.plays(worker)
    return Moment(worker.called.is_set, parameters={"model": "worker:alpha"})


def a_retrys_pause(stage: Stage, _: pytest.MonkeyPatch) -> Moment:
    stage.plays(Raising(WorkerError("alpha is away."), pieces=()))
    rule = OnFailure(retries=1, pause=300, output="Never mind.")
    workflow = Workflow.of([Step(instruction="Say.", worker="alpha", on_failure=rule)])

    def pauses() -> bool:
        runs = stage.workbench.background
        states = [live.state for run in sessions_runs(stage) if (live := runs.live(run)) is not None]
        return any(step.retries for state in states for step in state.steps)

    return Moment(pauses, parameters={"extra_body": {"conductor": {"workflow": document(workflow)}}})


def the_planning_of_another_round(stage: Stage, _: pytest.MonkeyPatch) -> Moment:
    """After a round that gave no answer."""
    conductor = Rethinking((ONE,))
    stage.plays(SimulatedWorker(name="alpha", answer="  "), plans=conductor)
    return Moment(conductor.thinking.is_set, parameters={"extra_body": {"conductor": {"rounds": 2}}})


def document(workflow: Workflow) -> Any:
    return json.loads(write_plan(workflow, query=None, origin="human", workers=("alpha",), label=None))


def sessions_runs(stage: Stage) -> list[str]:
    store = stage.workbench.store
    return [run.id for session in store.sessions.listed() for run in store.runs.of_session(session.id)]


MOMENTS: Mapping[str, Begins] = {
    "before its planning is stored": in_store("plans", "begin"),
    "once its planning is stored": in_store("plans", "begin", done=True),
    "while it is planned": planning,
    "while its plan is stored": in_store("plans", "add"),
    "once its plan is stored": in_store("plans", "add", done=True),
    "while a plan is stored that is not valid": in_store("plans", "add", BROKEN),
    "while the last of such plans is stored": the_last_attempt,
    "while it is read what can be reused": in_store("runs", "latest"),
    "before its run is stored": in_store("runs", "start"),
    "once its run is stored": in_store("runs", "start", done=True),
    "in a step's call": a_steps_call,
    "in the call of a workflow that was given": a_call_without_a_plan,
    "in the pause before another call": a_retrys_pause,
    "while another round is planned": the_planning_of_another_round,
}


NO_FAILURE = ("cancelled", "rejected", "planned", "unanswered")
"""The states in which lists may show its session: stopped, or as it was when it was stopped."""


def is_stopped(stage: Stage, session: str) -> bool:
    """Whether the request to stop has arrived, or all is over."""
    activity = stage.workbench.activities.activity(session)
    return activity is None or activity.stopped


@contextmanager
def cancelling(stage: Stage, id: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """It is cancelled by a client, whose request has arrived; what the client gets."""
    running, arrived = stage.workbench.running, Event()
    stops = running.stop_work

    def stop_work(session: str) -> None:
        stops(session)
        arrived.set()

    running.stop_work = stop_work  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as threads:
        address = f"{stage.base_url}/responses/{id}/cancel"
        answer = threads.submit(httpx.post, address, timeout=SECONDS)
        assert arrived.wait(SECONDS)
        yield lambda: answer.result().raise_for_status().json()


def last_of(text: str) -> dict[str, Any]:
    """The last event of a stream."""
    return json.loads(text.strip().rpartition("data: ")[2])  # type: ignore[no-any-return]


def everywhere(stage: Stage, id: str) -> list[dict[str, Any]]:
    """The response as it is returned, streamed and stored."""
    address = f"{stage.base_url}/responses/{id}"
    stored = json.loads(stage.workbench.store.requests.response(id.removeprefix("resp_")) or "null")
    del stored["conductor"]["begun"]
    streamed = last_of(httpx.get(f"{address}?stream=true").text)
    return [httpx.get(address).json(), streamed["response"], stored]


def response_id(stage: Stage, **settings: Any) -> str:
    """The id of a response that begins in the background."""
    with stage.client() as client:
        request = {"model": "conductor", "input": "Why?", "background": True, **settings}
        id: str = client.responses.create(**request).id
    return id


def kept_runs(stage: Stage, id: str) -> list[str]:
    """How its runs ended, by the store, the newest first."""
    return [run.status for run in stage.workbench.store.runs.of_session(id.removeprefix("resp_"))]


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("times", [1, 2])
def test_one_that_is_cancelled_at_any_moment_is_cancelled_for_all_who_read_it(
    announced: Stage, inbox: Inbox, monkeypatch: pytest.MonkeyPatch, name: str, times: int
) -> None:
    moment = MOMENTS[name](announced, monkeypatch)
    id = response_id(announced, **moment.parameters)
    until(moment.reached)
    with cancelling(announced, id) as cancelled:
        for _ in range(times - 1):
            announced.workbench.running.stop(id.removeprefix("resp_"))
        # Whatever that set going has its turn.
        announced.workbench.background.wait(asyncio.sleep(0))
        moment.over.set()
        response = cancelled()
    assert (response["status"], response["error"]["code"]) == ("cancelled", "run_stopped")
    assert everywhere(announced, id) == [response] * 3
    until(lambda: inbox.got)
    assert [(event["type"], event["data"]) for event in inbox.events()] == [
        ("response.cancelled", {"id": id})
    ]
    ends = kept_runs(announced, id)
    assert ends[:1] in ([], ["cancelled"]) or name == "while another round is planned"
    [session] = announced.workbench.store.sessions.listed()
    assert session.state in NO_FAILURE
    assert not announced.workbench.activities.busy(session.id)
    assert not announced.workbench.store.plans.is_underway(session.id)


@pytest.mark.parametrize("name", MOMENTS)
def test_its_own_stream_ends_as_cancelled(
    announced: Stage, inbox: Inbox, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    moment = MOMENTS[name](announced, monkeypatch)
    own = moment.parameters.get("extra_body", {})
    request = {"model": "conductor", "input": "Why?", "stream": True, **moment.parameters, **own}
    request.pop("extra_body", None)
    address = f"{announced.base_url}/responses"
    with httpx.stream("POST", address, json=request, timeout=SECONDS) as stream:
        id = f"resp_{stream.headers['x-request-id']}"
        until(moment.reached)
        with cancelling(announced, id) as cancelled:
            moment.over.set()
            response = cancelled()
        last = last_of(stream.read().decode())
    assert response["status"] == "cancelled"
    assert [last["response"], *everywhere(announced, id)] == [response] * 4
    assert inbox.got == [], "only what goes on in the background is announced"


# -- at each event -----------------------------------------------------------------------------------


@dataclass
class StoppingAt:
    """Cancels as soon as it sees the `number`-th event of a kind, in the loop in which that happened."""

    stage: Stage
    kind: type[RunEvent]
    number: int = 1

    def __call__(self, session: str) -> StoppingAt:
        self.session = session
        return self

    def see(self, event: RunEvent) -> None:
        if isinstance(event, self.kind):
            self.number -= 1
            if self.number == 0:
                self.stage.workbench.activities.stop(self.session)

    def end(self) -> None:
        """See `Watch.end`."""


@pytest.mark.parametrize(
    ("event", "number", "plans", "status"),
    [
        (events.PlanningStarted, 1, (ONE,), "cancelled"),
        (events.PlanRejected, 1, (BROKEN, ONE), "cancelled"),
        (events.PlanningStarted, 2, (BROKEN, ONE), "cancelled"),
        (events.WorkflowPlanned, 1, (ONE,), "cancelled"),
        (events.RunStarted, 1, (ONE,), "cancelled"),
        (events.StepStarted, 1, (ONE,), "cancelled"),
        (events.StepStarted, 1, (TWO,), "cancelled"),
        (events.StepFinished, 1, (TWO,), "cancelled"),
        (events.StepStarted, 2, (TWO,), "cancelled"),
        # The answer was there before.
        (events.StepFinished, 1, (ONE,), "completed"),
        (events.StepFinished, 2, (TWO,), "completed"),
        (events.RunFinished, 1, (ONE,), "completed"),
        # It had failed before.
        (events.PlanRejected, 3, (BROKEN,), "failed"),
    ],
)
def test_one_that_is_cancelled_as_something_happens_is_cancelled_where_it_had_not_ended(  # noqa: PLR0917
    announced: Stage, inbox: Inbox, event: type[RunEvent], number: int, plans: tuple[str, ...], status: str
) -> None:
    announced.plays(SimulatedWorker(name="alpha", answer="So.", latency=0.01), plans=plans)
    announced.workbench.runner.observers = [StoppingAt(announced, event, number)]
    id = response_id(announced)
    until(lambda: inbox.got)
    assert [sent["type"] for sent in inbox.events()] == [f"response.{status}"]
    assert [response["status"] for response in everywhere(announced, id)] == [status] * 3


def test_nothing_is_planned_after_a_stop_that_comes_between_two_rounds(
    announced: Stage, inbox: Inbox
) -> None:
    conductor = announced.plays(SimulatedWorker(name="alpha", answer="  "), plans=(ONE,))
    announced.workbench.runner.observers = [StoppingAt(announced, events.RunFinished)]
    id = response_id(announced, extra_body={"conductor": {"rounds": 2}})
    until(lambda: inbox.got)
    assert [sent["type"] for sent in inbox.events()] == ["response.cancelled"]
    assert [response["status"] for response in everywhere(announced, id)] == ["cancelled"] * 3
    assert len(conductor.requests) == 1


def test_the_answer_of_an_earlier_round_outlasts_the_stop_of_the_next(
    announced: Stage, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = the_planning_of_another_round(announced, monkeypatch)
    announced._runtime.workers["alpha"].answer = "So."  # type: ignore[attr-defined]
    id = response_id(announced, **moment.parameters)
    until(moment.reached)
    with cancelling(announced, id) as cancelled:
        response = cancelled()
    assert (response["status"], response["output"][0]["content"][0]["text"]) == ("completed", "So.")
    until(lambda: inbox.got)
    assert [sent["type"] for sent in inbox.events()] == ["response.completed"]


def test_one_that_was_streamed_in_part_is_cancelled_though_an_earlier_round_has_an_answer(
    announced: Stage,
) -> None:
    announced.plays(
        SimulatedWorker(name="alpha", answer="Draft."),
        Paced("beta", ("So ", "it ", "is."), gates={2: (never := Event())}),
        plans=(ONE, plan_text((1, "Say it better.", "[]"))),
    )
    request = {"model": "conductor", "input": "Why?", "stream": True, "conductor": {"rounds": 2}}
    address = f"{announced.base_url}/responses"
    with httpx.stream("POST", address, json=request, timeout=SECONDS) as stream:
        id, lines = f"resp_{stream.headers['x-request-id']}", stream.iter_lines()
        assert next(line for line in lines if line == "event: response.output_text.delta")
        response = httpx.post(f"{address}/{id}/cancel", timeout=SECONDS).json()
        last = last_of("\n".join(lines))
    never.set()
    assert response["status"] == "cancelled"
    assert [last["response"], *everywhere(announced, id)] == [response] * 4


# -- what had ended ----------------------------------------------------------------------------------


GATED = Workflow.of([Step(instruction="Say.", worker="alpha", gate=True)])


@pytest.mark.parametrize(
    ("worker", "settings", "status", "run"),
    [
        (SAYS, {}, "completed", "finished"),
        (Raising(WorkerError("alpha is away.")), {}, "failed", "failed"),
        (SAYS, {"extra_body": {"conductor": {"budget": {"calls": 1}}}}, "failed", "over_budget"),
        (SAYS, {"extra_body": {"conductor": {"workflow": document(GATED)}}}, "incomplete", "paused"),
    ],
    ids=["an answer", "a failure", "its budget", "a gate"],
)
def test_one_that_is_cancelled_while_its_end_is_stored_stays_what_it_was(  # noqa: PLR0917
    announced: Stage,
    inbox: Inbox,
    monkeypatch: pytest.MonkeyPatch,
    worker: Any,
    settings: dict[str, Any],
    status: str,
    run: str,
) -> None:
    announced.plays(worker, plans=(ONE,))
    moment = held(monkeypatch, announced.workbench.store.requests, "keep_response")
    id = response_id(announced, **settings)
    until(moment.reached)
    with cancelling(announced, id) as cancelled:
        moment.over.set()
        response = cancelled()
    assert response["status"] == status
    assert everywhere(announced, id) == [response] * 3
    until(lambda: inbox.got)
    assert [sent["type"] for sent in inbox.events()] == [f"response.{status}"]
    # Once more changes nothing.
    assert httpx.post(f"{announced.base_url}/responses/{id}/cancel").json() == response
    assert kept_runs(announced, id) == [run]


def test_what_the_store_did_not_take_is_no_reason_to_call_a_cancelled_one_failed(
    announced: Stage, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object, **__: object) -> None:
        raise StorageError("The store is locked.")

    moment = planning(announced, monkeypatch)
    monkeypatch.setattr(announced.workbench.store.plans, "add", locked)
    id = response_id(announced)
    until(moment.reached)
    with cancelling(announced, id) as cancelled:
        assert cancelled()["status"] == "cancelled"
    until(lambda: inbox.got)
    assert [sent["type"] for sent in inbox.events()] == ["response.cancelled"]


def test_a_store_that_is_locked_fails_one_that_is_not_cancelled(
    announced: Stage, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object, **__: object) -> None:
        raise StorageError("The store is locked.")

    announced.plays(SAYS, plans=(ONE,))
    monkeypatch.setattr(announced.workbench.store.plans, "add", locked)
    response_id(announced)
    until(lambda: inbox.got)
    assert [sent["type"] for sent in inbox.events()] == ["response.failed"]


# -- other processes, and a server that stops --------------------------------------------------------


@pytest.mark.parametrize("name", MOMENTS)
def test_one_that_another_server_cancels_is_cancelled(
    announced: Stage, inbox: Inbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    moment = MOMENTS[name](announced, monkeypatch)
    id = response_id(announced, **moment.parameters)
    until(moment.reached)
    with staged(SessionStore.open(f"sqlite:///{tmp_path / 'conductor.db'}")) as other:
        other.plays(SAYS)
        with cancelling(other, id) as cancelled:
            if other.workbench.store.plans.is_underway(id.removeprefix("resp_")):
                until(lambda: is_stopped(announced, id.removeprefix("resp_")))
            moment.over.set()
            response = cancelled()
        assert response["status"] == "cancelled"
        assert everywhere(other, id) == everywhere(announced, id) == [response] * 3
    until(lambda: inbox.got)
    assert [sent["type"] for sent in inbox.events()] == ["response.cancelled"]


@pytest.mark.parametrize("cancelled_first", [True, False])
@pytest.mark.parametrize("name", MOMENTS)
def test_the_first_of_a_client_and_of_a_server_that_stops_states_how_it_ended(
    announced: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, cancelled_first: bool
) -> None:
    moment = MOMENTS[name](announced, monkeypatch)
    id = response_id(announced, **moment.parameters)
    session = id.removeprefix("resp_")
    until(moment.reached)
    if cancelled_first:
        announced.workbench.running.stop(session)
    announced.server.should_exit = True
    until(lambda: announced.api.state.runs._stopping and is_stopped(announced, session))
    if not cancelled_first:
        announced.workbench.running.stop(session)
    moment.over.set()
    until(lambda: '"in_progress"' not in str(announced.workbench.store.requests.response(session)))
    with staged(SessionStore.open(f"sqlite:///{tmp_path / 'conductor.db'}")) as other:
        other.plays(SAYS)
        response, *_ = everywhere(other, id)
    code = response["error"]["code"]
    expected = ("cancelled", "run_stopped") if cancelled_first else ("failed", "server_stopping")
    assert (response["status"], code) == expected


@pytest.mark.parametrize(
    ("worker", "settings", "end"),
    [
        (Waiting(), {}, ("cancelled", "run_stopped")),
        (Raising(WorkerError("alpha is away.")), {}, ("failed", "run_failed")),
        (SAYS, {"extra_body": {"conductor": {"workflow": document(GATED)}}}, ("incomplete", None)),
    ],
    ids=["a stop", "a failure", "a gate"],
)
def test_one_whose_server_ended_before_it_was_stored_reads_as_its_run_ended(
    empty_store: Path, tmp_path: Path, worker: Any, settings: Any, end: Any
) -> None:
    def locked(*_: object, **__: object) -> None:
        raise StorageError("The store is locked.")

    url = f"sqlite:///{tmp_path / 'conductor.db'}"
    (tmp_path / "conductor.db").write_bytes(empty_store.read_bytes())
    with staged(SessionStore.open(url)) as one:
        one.plays(worker, plans=(ONE,))
        one.workbench.store.requests.keep_response = locked  # type: ignore[method-assign]
        id = response_id(one, **settings)
        if isinstance(worker, Waiting):
            assert worker.called.wait(SECONDS)
            one.workbench.running.stop(id.removeprefix("resp_"))
        until(lambda: kept_runs(one, id) not in ([], ["running"]))
    with staged(SessionStore.open(url)) as other:
        other.plays(SAYS)
        response = httpx.get(f"{other.base_url}/responses/{id}").json()
        last = last_of(httpx.get(f"{other.base_url}/responses/{id}?stream=true").text)
    for each in (response, last["response"]):
        assert (each["status"], (each["error"] or {}).get("code")) == end


# -- chat completions --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MOMENTS)
def test_a_chat_completion_that_a_person_stops_is_answered_as_stopped(
    announced: Stage, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    moment = MOMENTS[name](announced, monkeypatch)
    own = moment.parameters.get("extra_body", {})
    request = {"model": "conductor", **moment.parameters, **own}
    request = {**request, "messages": [{"role": "user", "content": "Why?"}]}
    request.pop("extra_body", None)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(
            httpx.post, f"{announced.base_url}/chat/completions", json=request, timeout=SECONDS
        )
        until(moment.reached)
        # A worker that is named is called before its session is durable.
        [session] = until(announced.workbench.store.sessions.listed)
        announced.workbench.running.stop(session.id)
        moment.over.set()
        stopped = answer.result()
    assert (stopped.status_code, stopped.json()["error"]["code"]) == (409, "run_stopped")


@pytest.mark.parametrize("name", MOMENTS)
def test_a_chat_completion_whose_client_leaves_reads_stopped(
    announced: Stage, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    moment = MOMENTS[name](announced, monkeypatch)
    own = moment.parameters.get("extra_body", {})
    request = {"model": "conductor", **moment.parameters, **own, "stream": True}
    request = {**request, "messages": [{"role": "user", "content": "Why?"}]}
    request.pop("extra_body", None)
    with httpx.stream("POST", f"{announced.base_url}/chat/completions", json=request) as stream:
        session = stream.headers["x-request-id"]
        until(moment.reached)
    until(lambda: is_stopped(announced, session))
    moment.over.set()
    announced.settle()
    ends = kept_runs(announced, session)
    assert ends[:1] in ([], ["cancelled"]) or name == "while another round is planned"
    [listed] = announced.workbench.store.sessions.listed()
    assert listed.state in NO_FAILURE
