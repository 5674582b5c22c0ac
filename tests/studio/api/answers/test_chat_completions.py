"""Chat completions as OpenAI's own client gets them, whole and piece by piece."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

from conductor.baselines.fitted import WorkerResult, write_fitted
from conductor.baselines.named import Baseline, planner_named
from conductor.baselines.planner_file.planner_file import TriedQuestion, write_planner
from conductor.errors import PoolError, StorageError, WorkerError
from conductor.values.budget import Budget
from conductor.values.messages import Delta, Usage
from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Price
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.file import read_plan
from conductor.workflow.model import Step, Workflow
from storage import Revision
from studio.access.auth import Principal
from studio.api.answers import streaming
from tests.studio.api.performers import SECONDS, Paced
from tests.studio.api.stage import APP, Stage, model
from tests.support.cases.planner_cases import planner_of, single
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import BROKEN, KEEP, plan_text
from tests.support.runs.worker_cases import Breaking, Declining, Raising, Silent

WHY: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Why?"}]
TWO = plan_text((0, "draft", "[]"), (1, "polish", "[0]"))
ONE = plan_text((0, "answer", "[]"))


def simulated(name: str, text: str) -> SimulatedWorker:
    return SimulatedWorker(name=name, answer=text)


def joined(stream: Any) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def ask(client: OpenAI, **settings: Any) -> Any:
    """A completion, or its chunks, of "Why?" to the Conductor, but for `settings`; `conductor` is the
    extension.
    """
    extension = {"conductor": settings.pop("conductor")} if "conductor" in settings else None
    request = {"model": "conductor", "messages": WHY, "extra_body": extension, **settings}
    return client.chat.completions.create(**request)


def post(stage: Stage, **settings: Any) -> httpx.Response:
    """The same without a client."""
    request = {"model": "conductor", "messages": WHY, **settings}
    return httpx.post(f"{stage.base_url}/chat/completions", json=request, timeout=60)


# -- whole answers ---------------------------------------------------------------------------------


def test_an_answer_states_how_it_came_about(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "a draft here"), simulated("beta", "polished"), plans=(TWO,))
    answer = ask(client, metadata={"team": "blue"}, user="ann")
    assert answer.object == "chat.completion"
    assert answer.choices[0].message.content == "polished"
    assert answer.choices[0].finish_reason == "stop"
    how = answer.conductor
    session = stage.workbench.store.sessions.find(how["session"])
    assert (session.origin, session.query) == ("api", "Why?")
    assert how["url"] == f"{APP}/?session={session.id}"
    run = stage.workbench.store.runs.latest(session.id)
    assert (run.id, run.answer) == (how["run"], "polished")
    assert (
        read_plan(json.dumps(how["workflow"])).workflow
        == stage.workbench.store.revisions.find(run.revision).workflow
    )
    assert [step["worker"] for step in how["steps"]] == ["alpha", "beta"]
    assert how["label"] == "simulated, no model is called"
    assert stage.workbench.store.sessions.tags(session.id) == ("team=blue", "user=ann")


def test_a_refusal_is_called_no_answer(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "a draft here"), Declining("beta"), plans=(TWO,))
    answer = ask(client)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("I cannot.", "stop")
    how = answer.conductor
    assert (how["answered"], how["answer_step"]) == (False, 1)
    assert [(step["status"], step["answered"]) for step in how["steps"]] == [
        ("finished", True),
        ("refused", False),
    ]
    stage.plays(simulated("alpha", "a draft here"), simulated("beta", "polished"), plans=(TWO,))
    assert ask(client).conductor["answered"] is True


def test_usage_is_that_of_the_call_which_gave_the_answer_with_all_calls_beside_it(
    stage: Stage, client: OpenAI
) -> None:
    stage.plays(simulated("alpha", "a draft here"), simulated("beta", "polished answer"), plans=(BROKEN, TWO))
    answer = ask(client)
    how = answer.conductor
    steps = [step["usage"] for step in how["steps"]]
    assert [step["completion_tokens"] for step in steps] == [3, 2]
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (steps[1]["prompt_tokens"], 2)
    assert answer.usage.total_tokens == steps[1]["prompt_tokens"] + 2
    details: Any = answer.usage.completion_tokens_details
    assert details.orchestration_tokens == 23
    read_details: Any = answer.usage.prompt_tokens_details
    assert read_details.orchestration_tokens == 200 + steps[0]["prompt_tokens"]
    read = 200 + sum(step["prompt_tokens"] for step in steps)
    assert answer.usage.conductor == {
        "prompt_tokens": read,
        "completion_tokens": 25,
        "total_tokens": read + 25,
        "calls": 4,
        "cost": None,
        "cost_at_most": False,
        "known": {"prompt_tokens": read, "completion_tokens": 25, "cost": 1.0},
    }
    assert {name: how[name] for name in ("calls", "cost", "known")} == {
        name: answer.usage.conductor[name] for name in ("calls", "cost", "known")
    }
    assert stage.auth.used[-1] == how["tokens"] == read + 25


def test_unknown_usage_is_null(stage: Stage, client: OpenAI) -> None:
    stage.plays(Paced("alpha", ["So."], usage=Usage()), plans=(ONE,))
    answer = ask(client)
    assert answer.usage is None
    assert answer.conductor["tokens"] is None
    assert answer.conductor["known"]["prompt_tokens"] == 100


@pytest.mark.slow
def test_what_calls_no_model_adds_no_tokens_and_alone_is_counted_by_its_length(
    stage: Stage, client: OpenAI
) -> None:
    stage.plays(Calculator(), simulated("beta", "It is 391."), plans=(TWO,))
    sum_of: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What is 17*23?"}]
    answer = ask(client, messages=sum_of)
    assert answer.usage.conductor["completion_tokens"] == 10 + 3
    assert answer.conductor["counted"] is False
    alone = ask(client, model="worker:calculator", messages=sum_of)
    text = alone.choices[0].message.content or ""
    assert "391" in text
    assert (alone.usage.prompt_tokens, alone.usage.completion_tokens) == (4, -(-len(text) // 4))
    assert (alone.conductor["counted"], alone.conductor["tokens"], alone.conductor["calls"]) == (True, 0, 1)


# -- conversations ---------------------------------------------------------------------------------

TALK: list[ChatCompletionMessageParam] = [
    {"role": "system", "content": "Answer in French."},
    {"role": "user", "content": "Who was Ada?"},
    {"role": "assistant", "content": "A mathematician."},
    {"role": "user", "content": "When was she born?"},
]


def test_a_conversation_reaches_the_conductor_and_every_worker(stage: Stage, client: OpenAI) -> None:
    alpha, beta = simulated("alpha", "1815"), simulated("beta", "En 1815.")
    conductor = stage.plays(alpha, beta, plans=(TWO,))
    answer = ask(client, messages=TALK)
    assert conductor.requests[0].query == "When was she born?"
    prompt = stage.workbench.store.plans.of_session(answer.conductor["session"])[0].report
    texts = [prompt.prompt.messages[-1].content]
    texts += [worker.requests[0].messages[0].content for worker in (alpha, beta)]
    for text in texts:
        assert text.index("Answer in French.") < text.index("Who was Ada?") < text.index("A mathematician.")
        assert text.index("A mathematician.") < text.index("When was she born?")
    assert beta.requests[0].query == "When was she born?"


def test_a_conversation_stays_with_its_session(stage: Stage, client: OpenAI) -> None:
    alpha = simulated("alpha", "1815")
    stage.plays(alpha, plans=(ONE,))
    session = ask(client, messages=TALK).conductor["session"]
    stage.workbench.running.start(session)
    stage.workbench.activities.wait(session)
    assert len(alpha.requests) == 1, "a rerun is asked the same, and so reuses what is known"
    fork = stage.workbench.store.sessions.fork(session, stage.workbench.required_head(session).id)
    assert (
        stage.workbench.running.bound_workflow(fork.id).conversation
        == stage.workbench.running.bound_workflow(session).conversation
    )


def test_a_worker_alone_is_sent_the_messages_as_they_came(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    stage.plays(model("alpha", fake_openai.base_url))
    client.chat.completions.create(
        model="worker:alpha", messages=TALK, temperature=0.3, max_completion_tokens=7
    )
    body = fake_openai.settled().body
    assert body["messages"] == TALK
    assert (body["temperature"], body["max_tokens"]) == (0.3, 7)


# -- streams ---------------------------------------------------------------------------------------


def test_the_final_steps_words_go_out_as_they_come(stage: Stage, client: OpenAI) -> None:
    gate = Event()
    stage.plays(simulated("alpha", "draft"), Paced("beta", ["One ", "two."], gates={1: gate}), plans=(TWO,))
    with ask(client, stream=True) as stream:
        texts = (chunk.choices[0].delta.content for chunk in stream if chunk.choices[0].delta.content)
        assert next(texts) == "One "
        gate.set()
        assert list(texts) == ["two."]


@pytest.mark.slow
@pytest.mark.parametrize("live", [True, False])
def test_an_answer_that_was_sent_in_part_is_not_asked_for_again(
    stage: Stage, client: OpenAI, live: bool
) -> None:
    draft, polish = Breaking([Delta("green")], name="alpha"), Breaking([Delta("red")], name="beta")
    stage.plays(draft, polish, plans=(TWO,))
    if not live:
        answer = ask(client)
        assert (answer.choices[0].message.content, polish.calls) == ("blue", 2)
        assert (answer.usage.completion_tokens, answer.conductor["tokens"]) == (1, None)
        return
    stream = ask(client, stream=True)
    pieces: list[str] = []
    with pytest.raises(openai.APIError, match="broke off; a part was sent on"):
        pieces.extend(chunk.choices[0].delta.content or "" for chunk in stream)
    assert "".join(pieces) == "red"
    # A step before the final one is sent to no one.
    assert (draft.calls, polish.calls) == (2, 1)


def test_the_clients_own_helper_reads_the_stream(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "draft"), simulated("beta", "polished"), plans=(TWO,))
    with client.chat.completions.stream(model="conductor", messages=WHY) as stream:
        assert stream.get_final_completion().choices[0].message.content == "polished"


def test_a_run_that_a_person_stops_in_the_app_ends_its_request(stage: Stage, client: OpenAI) -> None:
    gate = Event()
    stage.plays(Paced("alpha", ["One ", "two."], gates={1: gate}), plans=(ONE,))
    stream = ask(client, stream=True)
    try:
        chunk = next(chunk for chunk in stream if chunk.choices[0].delta.content)
        stage.workbench.running.stop(chunk.id.removeprefix("chatcmpl-"))
        with pytest.raises(openai.APIError, match="was stopped"):
            list(stream)
    finally:
        gate.set()


@pytest.mark.usefixtures("open_at_once")
def test_a_silence_is_filled_with_comments(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PING_SECONDS", 0.02)
    gate = Event()
    stage.plays(Paced("alpha", ["So."], gates={0: gate}), plans=(ONE,))
    request = {"model": "conductor", "messages": WHY, "stream": True}
    with httpx.stream("POST", f"{stage.base_url}/chat/completions", json=request) as answer:
        lines = answer.iter_lines()
        assert any(line == ": still working" for line in lines)
        gate.set()
        assert any('"So."' in line for line in lines)


def test_a_round_that_could_not_be_planned_is_stated_with_the_answer(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "draft"), plans=(ONE, BROKEN))
    how = ask(client, conductor={"rounds": 2}).conductor
    assert how["warning"].startswith("Another round was not planned: ")
    assert how["rounds"] == 1


def test_a_stream_reports_usage_where_it_is_asked_to(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "a b"), plans=(ONE,))
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == 2
    assert chunks[-1].usage.conductor["completion_tokens"] == 12
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-2].conductor["steps"][0]["status"] == "finished"


def test_progress_is_reported_in_comments_or_as_events_where_that_is_asked_for(
    stage: Stage, client: OpenAI
) -> None:
    stage.plays(simulated("alpha\ndata: x", "draft"), simulated("beta", "So."), plans=(TWO,))
    lines = post(stage, stream=True).text.splitlines()
    assert ": planned 2 steps" in lines
    assert ": step 1 of 2 (alpha data: x) started" in lines
    assert all(line.startswith(("data: ", ": ")) for line in lines if line)
    stream = ask(client, stream=True, conductor={"events": True})
    chunks = list(stream)
    events = [
        chunk.conductor["event"] for chunk in chunks if "event" in (getattr(chunk, "conductor", None) or {})
    ]
    assert [event["type"] for event in events][-1] == "run_finished"
    assert {"planning_started", "run_started", "step_finished"} <= {event["type"] for event in events}
    assert joined(chunks) == "So."


@pytest.mark.parametrize(
    ("plans", "workers", "settings", "answer"),
    [
        ((TWO,), {"beta": "  \n"}, {}, "draft"),
        ((ONE, KEEP), {}, {"rounds": 3}, "draft"),
        ((ONE, BROKEN), {}, {"rounds": 2}, "draft"),
        ((ONE, TWO), {}, {"rounds": 2}, "polished"),
        ((TWO, TWO, TWO), {}, {"rounds": 3}, "polished"),
    ],
    ids=[
        "an empty final step",
        "a kept answer",
        "a round that is not planned",
        "a later round",
        "all rounds",
    ],
)
def test_a_stream_joined_is_the_answer(
    stage: Stage, plans: tuple[str, ...], workers: dict[str, str], settings: dict[str, int], answer: str
) -> None:
    for streamed in (False, True):
        texts = {"alpha": "draft", "beta": "polished", **workers}
        stage.plays(*(simulated(name, text) for name, text in texts.items()), plans=plans)
        with stage.client() as client:
            reply = ask(client, stream=streamed, conductor=settings)
            assert (joined(reply) if streamed else reply.choices[0].message.content) == answer


def test_an_answer_ends_at_a_stop_text_and_at_its_limit(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    stage.plays(Paced("alpha", ["One, t", "wo, th", "ree, two"]), plans=(ONE,))
    for streamed in (False, True):
        reply = ask(client, stop=["four", "two"], stream=streamed)
        assert (joined(reply) if streamed else reply.choices[0].message.content) == "One, "
    stage.plays(model("alpha", fake_openai.base_url), plans=(ONE,))
    short = ask(client, max_completion_tokens=3)
    assert short.choices[0].finish_reason == "length"
    *_, last = ask(client, max_tokens=3, stream=True)
    assert last.choices[0].finish_reason == "length"


def test_a_parameter_that_the_endpoint_refuses_is_without_effect(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    refusing = model("alpha", fake_openai.base_url, served="fault:unknown-parameter=top_p")
    stage.plays(refusing, plans=(ONE, ONE))
    for _ in range(2):
        answer = ask(client, top_p=0.5, seed=1)
        assert answer.conductor["without_effect"] == ["top_p"]
    assert ["top_p" in (entry.body or {}) for entry in fake_openai.log.entries] == [True, False, False]


# -- steering --------------------------------------------------------------------------------------


def test_modes_are_models_and_efforts(stage: Stage, client: OpenAI) -> None:
    conductor = stage.plays(simulated("alpha", "So."), simulated("beta", "So."), plans=(ONE,))
    requests: list[dict[str, Any]] = [
        {"model": "conductor"},
        {"model": "conductor-mini"},
        {"model": "conductor-ultra"},
        {"model": "conductor", "reasoning_effort": "low"},
        {"model": "conductor", "reasoning_effort": "high"},
    ]
    limits = []
    for parameters in requests:
        how = ask(client, **parameters).conductor
        settings = stage.workbench.settings(how["session"])
        limits.append((settings.max_steps, settings.rounds, settings.economical))
    assert limits == [(5, 1, False), (1, 1, True), (5, 3, False), (1, 1, True), (5, 3, False)]
    assert conductor.requests[1].economical


def test_a_request_limits_the_pool_the_steps_and_the_budget(stage: Stage, client: OpenAI) -> None:
    conductor = stage.plays(*(simulated(name, "So.") for name in ("alpha", "beta", "gamma")), plans=(ONE,))
    steering = {
        "workers": ["gamma", "alpha"],
        "exclude": ["alpha"],
        "max_steps": 2,
        "budget": {"tokens": 5_000, "seconds": 9.5},
    }
    stage.auth.principal = Principal(workers=("gamma", "beta"), budget=Budget(tokens=900, calls=7))
    answer = ask(client, conductor=steering)
    assert [card.name for card in conductor.requests[0].workers] == ["gamma"]
    settings = stage.workbench.settings(answer.conductor["session"])
    assert settings.max_steps == 2
    assert settings.budget == Budget(tokens=900, seconds=9.5, calls=7)


def test_a_workflow_is_run_as_it_is(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "draft"), simulated("beta", "polished"), plans=(TWO,))
    first = ask(client).conductor
    stage.plays(simulated("alpha", "new draft"), simulated("beta", "new polish"), plans=(BROKEN,))
    again = ask(client, conductor={"workflow": first["workflow"]})
    assert again.choices[0].message.content == "new polish"
    head = stage.workbench.required_head(first["session"])
    edited = stage.workbench.editing.edit(
        first["session"], head.workflow.with_worker(1, "alpha"), note="by hand"
    )
    for name in (f"workflow:{first['session']}", f"workflow:{edited.id}"):
        saved = ask(client, model=name)
        assert [step["worker"] for step in saved.conductor["steps"]] == ["alpha", "alpha"]
    old = ask(client, model=f"workflow:{head.id}")
    assert [step["worker"] for step in old.conductor["steps"]] == ["alpha", "beta"]


def test_an_answer_that_is_not_to_be_stored_leaves_nothing(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "So."), plans=(ONE,))
    how = ask(client, store=False).conductor
    assert how["url"] is None
    stage.settle()
    assert stage.workbench.store.sessions.named(how["session"]) == ()


# -- errors ----------------------------------------------------------------------------------------

Wrong = tuple[dict[str, Any], int, str | None, str]
WRONG: dict[str, Wrong] = {
    "no such model": ({"model": "gpt-5"}, 404, "model", "model_not_found"),
    "no such worker": ({"model": "worker:zeta"}, 404, "model", "model_not_found"),
    "no such workflow": ({"model": "workflow:0123"}, 404, "model", "model_not_found"),
    "an empty query": ({"messages": [{"role": "user", "content": " "}]}, 400, "messages", "invalid_query"),
    "a long query": (
        {"messages": [{"role": "user", "content": "a" * 60_000}]},
        400,
        "messages",
        "invalid_query",
    ),
    "an unknown worker": ({"conductor": {"workers": ["zeta"]}}, 400, "conductor.workers.0", "unknown_worker"),
    "nobody left": (
        {"conductor": {"exclude": ["alpha", "beta"]}},
        400,
        "conductor.exclude",
        "no_worker_left",
    ),
    "no workflow": ({"conductor": {"workflow": {}}}, 400, "conductor.workflow", "invalid_workflow"),
    "a workflow for a mode": (
        {"model": "conductor-ultra", "conductor": {"workflow": {}}},
        400,
        "conductor.workflow",
        "unsupported_parameter",
    ),
    "rounds of a worker": (
        {"model": "worker:alpha", "conductor": {"rounds": 2}},
        400,
        "conductor.rounds",
        "unsupported_parameter",
    ),
    "an effort of a mode": (
        {"model": "conductor-mini", "reasoning_effort": "high"},
        400,
        "reasoning_effort",
        "unsupported_parameter",
    ),
    "a temperature of who takes none": ({"temperature": 1}, 400, "temperature", "unsupported_parameter"),
    "a tool of a server": (
        {"tool_choice": {"type": "web_search"}},
        400,
        "tool_choice.type",
        "unsupported_parameter",
    ),
    "sampling of another server": ({"top_k": 5}, 400, "top_k", "unsupported_parameter"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_done_is_refused_in_openais_words(stage: Stage, case: str) -> None:
    body, status, param, code = WRONG[case]
    stage.plays(simulated("alpha", "So."), simulated("beta", "So."), plans=(ONE,))
    answer = post(stage, **body)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (status, param, code)
    assert set(error) == {"message", "type", "param", "code"}


def test_a_sampling_that_the_planned_worker_takes_not_is_refused_after_planning(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    stage.plays(simulated("alpha", "So."), model("beta", fake_openai.base_url), plans=(ONE,))
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, temperature=1)
    assert refused.value.param == "temperature"
    assert not fake_openai.log.entries


def test_what_failed_is_not_asked_again_by_a_client(stage: Stage) -> None:
    conductor = stage.plays(Raising(WorkerError("alpha has no power."), name="alpha"), plans=(ONE,))
    with stage.client(max_retries=2) as client:
        with pytest.raises(openai.InternalServerError, match="alpha has no power") as failed:
            ask(client)
        assert (failed.value.status_code, failed.value.code) == (502, "run_failed")
        with pytest.raises(openai.APIError, match="alpha has no power"):
            joined(ask(client, stream=True))
    assert len(conductor.requests) == 2


def test_what_may_work_in_a_moment_is_asked_again_by_a_client(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    stage.plays(simulated("alpha", "So."), plans=(ONE,))
    stage.faults = [PoolError("The pool file is being written.")]
    with stage.client(max_retries=1) as client:
        assert client.models.retrieve("worker:alpha").id == "worker:alpha"
    stage.faults = [PoolError("The pool file is being written.")]
    with stage.client() as client, pytest.raises(openai.InternalServerError) as failed:
        client.models.list()
    assert (failed.value.status_code, failed.value.code) == (503, "pool_unusable")


STORE = StorageError("The store /srv/secret/conductor.db is locked by another program.")
POOL = PoolError("The pool file /srv/secret/pool.toml cannot be read: LAB_API_KEY is not set.")


@pytest.mark.parametrize("fault", [STORE, POOL])
@pytest.mark.parametrize("streamed", [False, True])
def test_no_path_of_the_server_is_in_an_answer_and_the_log_has_it(
    stage: Stage, fault: StorageError | PoolError, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    stage.plays(simulated("alpha", "So."), plans=(ONE,))
    stage.faults = [fault]
    answer = post(stage, stream=streamed)
    assert answer.status_code == 503
    assert "the server's log has the reason" in answer.json()["error"]["message"]
    assert "secret" not in answer.text
    assert "API_KEY" not in answer.text
    assert str(fault) in caplog.text


def test_a_store_that_fails_under_a_run_gives_no_path_away_and_no_reason_to_pay_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object, **__: object) -> None:
        raise STORE

    stage.plays(simulated("alpha", "So."), plans=(ONE, ONE))
    monkeypatch.setattr(stage.workbench.store.runs, "start", locked)
    answer = post(stage)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unusable")
    assert answer.headers["x-should-retry"] == "false"
    streamed = post(stage, stream=True)
    assert streamed.json() == answer.json()
    assert "secret" not in answer.text + streamed.text


def test_half_a_character_is_reported_as_it_came(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "so \ud83d"), plans=(ONE,))
    for streamed in (False, True):
        reply = ask(client, model="worker:alpha", stream=streamed)
        text = joined(reply) if streamed else reply.choices[0].message.content
        assert text in ("so \ud83d", "so \ufffd")


@pytest.mark.parametrize(
    ("plans", "worker", "steering", "code"),
    [
        ((BROKEN,), simulated("alpha", "So."), {}, "no_workflow"),
        ((ONE,), Silent("alpha"), {}, "run_failed"),
        ((ONE,), simulated("alpha", "  "), {}, "no_answer"),
        ((ONE,), simulated("alpha", "So."), {"budget": {"tokens": 50}}, "budget_exceeded"),
        ((ONE,), simulated("alpha", "So."), {"budget": {"calls": 1}}, "budget_exceeded"),
    ],
)
def test_no_answer_is_an_error_that_states_why(
    stage: Stage, plans: tuple[str, ...], worker: Any, steering: dict[str, Any], code: str
) -> None:
    stage.plays(worker, plans=plans)
    whole = post(stage, conductor=steering)
    assert whole.json()["error"]["code"] == code
    limits = [f"conductor.budget.{name}" for name in steering.get("budget", {})]
    assert whole.json()["error"]["param"] == (limits[0] if limits else None)
    assert whole.headers["x-should-retry"] == "false"
    stream = post(stage, conductor=steering, stream=True).text
    last = stream.strip().splitlines()[-1]
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == code


def test_a_last_round_that_fails_takes_back_nothing(stage: Stage, client: OpenAI) -> None:
    broken = Raising(WorkerError("no."), name="beta")
    stage.plays(simulated("alpha", "draft"), broken, plans=(ONE, plan_text((1, "more", "[]"))))
    whole = ask(client, conductor={"rounds": 2})
    assert whole.choices[0].message.content == "draft"
    assert "Round 2 failed" in whole.conductor["warning"]
    stage.plays(simulated("alpha", "draft"), broken, plans=(ONE, plan_text((1, "more", "[]"))))
    with pytest.raises(openai.APIError, match="a part of its answer had been sent"):
        joined(ask(client, stream=True, conductor={"rounds": 2}))


def test_what_is_not_sent_as_json_is_refused(stage: Stage) -> None:
    stage.plays(simulated("alpha", "So."))
    url = f"{stage.base_url}/chat/completions"
    text = httpx.post(url, content="{}", headers={"content-type": "text/plain"})
    assert (text.status_code, text.json()["error"]["code"]) == (415, "unsupported_media_type")


# -- models ----------------------------------------------------------------------------------------


def test_models_are_who_plans_the_workers_and_what_people_saved(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "So."), simulated("group/beta", "So."))
    session = stage.workbench.ask("Whose?")
    workflow = Workflow.of([Step(instruction="answer", worker="alpha")])
    stage.workbench.store.revisions.add(session.id, workflow, origin="human")
    names = [listed.id for listed in client.models.list()]
    assert names[:12] == [
        "conductor", "conductor-mini", "conductor-ultra", "baseline:vote", "baseline:moa",
        "baseline:smoothie", "baseline:masrouter", "baseline:trinity", "baseline:random",
        "baseline:rules", "worker:alpha", "worker:group/beta",
    ]  # fmt: skip
    assert f"workflow:{session.id}" in names
    assert client.models.retrieve("worker:group/beta").id == "worker:group/beta"
    saved: Any = client.models.retrieve(f"workflow:{session.id}")
    assert saved.conductor["workers"] == ["alpha"]
    stage.auth.principal = Principal(workers=("group/beta",))
    allowed = [listed.id for listed in client.models.list()]
    assert "worker:alpha" not in allowed
    assert f"workflow:{session.id}" not in allowed
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("worker:alpha")
    with pytest.raises(openai.PermissionDeniedError):
        ask(client, model="worker:alpha")


def test_a_baseline_is_a_model(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "Answer: 3"), simulated("beta", "Answer: 4"), simulated("gamma", "4.0"))
    answer = ask(client, model="baseline:vote")
    assert answer.choices[0].message.content == "Answer: 4"
    session = answer.conductor["session"]
    head = stage.workbench.store.revisions.head(session)
    assert head is not None
    assert [step.worker for step in head.workflow.steps] == ["alpha", "beta", "gamma", "vote"]
    entry: Any = client.models.retrieve("baseline:reflect:beta")
    assert entry.conductor["kind"] == "baseline"
    for name in ("baseline:nothing", "baseline:reflect", "baseline:moa:layers=0", "worker:vote"):
        with pytest.raises(openai.NotFoundError):
            ask(client, model=name)
    stage.auth.principal = Principal(workers=("alpha", "gamma"))
    answer = ask(client, model="baseline:vote")
    assert answer.choices[0].message.content == "Answer: 3"


def test_a_client_names_no_file_of_learnt_parameters(stage: Stage, client: OpenAI, tmp_path: Path) -> None:
    stage.plays(simulated("alpha", "So."), simulated("beta", "So."))
    file = tmp_path / "router.json"
    file.write_text("{}", encoding="utf-8")
    for name, reason in (
        (f"baseline:routerdc:fitted={file}", "names a file"),
        ("baseline:routerdc:fitted=nowhere.json", "names a file"),
        ("baseline:routerdc:fitted=mine", "names no fitted parameters 'mine'"),
    ):
        for answered in (
            lambda name=name: ask(client, model=name),
            lambda name=name: client.models.retrieve(name),
        ):
            with pytest.raises(openai.NotFoundError, match=reason):
                answered()
    stage.plays(simulated("alpha", "So."), simulated("beta", "So."), fitted={"mine": file})
    with pytest.raises(openai.NotFoundError, match="has learnt cannot be read here") as refused:
        client.models.retrieve("baseline:routerdc:fitted=mine")
    assert "router.json" not in str(refused.value)
    with pytest.raises(openai.NotFoundError, match="plans by what it learnt"):
        ask(client, model="baseline:routerdc")


@pytest.mark.thorough
@pytest.mark.slow
def test_a_baseline_plans_by_what_the_pool_names(stage: Stage, client: OpenAI, tmp_path: Path) -> None:
    workers = (simulated("alpha", "alpha's"), simulated("beta", "beta's"))
    rows = [
        WorkerResult(question=question, worker=name, right=name == "beta")
        for question in ("What is 1 + 1?", "What is 2 + 2?")
        for name in ("alpha", "beta")
    ]
    planner = planner_named("baseline:routerdc")
    assert isinstance(planner, Baseline)
    learnt = asyncio.run(planner.fit(rows, cards=Pool(workers=workers).cards))
    write_fitted(learnt, tmp_path / "router.json")
    stage.plays(*workers, fitted={"mine": tmp_path / "router.json"})
    answer = ask(client, model="baseline:routerdc:fitted=mine")
    assert answer.choices[0].message.content == "beta's"
    entry: Any = client.models.retrieve("baseline:routerdc:fitted=mine")
    assert entry.conductor["strengths"].endswith("Questions are compared by TF-IDF.")


def test_a_workflow_that_cannot_be_read_keeps_no_other_from_being_listed(
    stage: Stage, client: OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    def head(session: str) -> Revision | None:
        if session == damaged:
            raise StorageError("The store holds an entry that this version cannot read.")
        return read_head(session)

    stage.plays(simulated("alpha", "So."))
    workflow = Workflow.of([Step(instruction="answer", worker="alpha")])
    whole, damaged = (stage.workbench.ask(query).id for query in ("Whose?", "Which?"))
    for session in (whole, damaged):
        stage.workbench.store.revisions.add(session, workflow, origin="human")
    read_head = stage.workbench.store.revisions.head
    monkeypatch.setattr(stage.workbench.store.revisions, "head", head)
    listed = [model.id for model in client.models.list()]
    assert f"workflow:{whole}" in listed
    assert f"workflow:{damaged}" not in listed


def test_a_workflow_is_listed_for_those_alone_who_may_run_it(stage: Stage, client: OpenAI) -> None:
    nested = simulated("group", "So.")
    nested.card = nested.card.model_copy(update={"nested": True})
    stage.plays(simulated("alpha", "So."), nested)
    session = stage.workbench.ask("Whose?").id
    workflow = Workflow.of([Step(instruction="answer", worker="group")])
    stage.workbench.store.revisions.add(session, workflow, origin="human")
    stage.auth.principal = Principal(workers=("alpha", "group"))
    with pytest.raises(openai.PermissionDeniedError):
        ask(client, model=f"workflow:{session}")
    assert f"workflow:{session}" not in [listed.id for listed in client.models.list()]
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve(f"workflow:{session}")


def test_prices_become_costs(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(model("alpha", fake_openai.base_url, price=Price(prompt=1e6, completion=2e6)))
    answer = ask(client, model="worker:alpha")
    spent = answer.usage.prompt_tokens + 2 * answer.usage.completion_tokens
    assert answer.conductor["cost"] == pytest.approx(spent)


# -- asynchronous ----------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.slow
async def test_many_are_answered_at_once(stage: Stage) -> None:
    stage.plays(simulated("alpha", "draft"), simulated("beta", "So."), plans=(TWO,))
    async with stage.async_client() as client:

        async def answer(streamed: bool) -> str:
            reply = await ask(client, stream=streamed)
            if not streamed:
                return reply.choices[0].message.content or ""
            return "".join([chunk.choices[0].delta.content or "" async for chunk in reply])

        answers = await asyncio.wait_for(
            asyncio.gather(*(answer(at % 2 == 0) for at in range(12))), timeout=SECONDS
        )
    assert answers == ["So."] * 12


@pytest.mark.parametrize(("model", "most"), [("worker:alpha", 1_000_000), ("conductor", 50_000)])
def test_the_question_to_a_worker_has_the_limit_of_a_conversation(
    stage: Stage, model: str, most: int
) -> None:
    worker = Paced("alpha", ["So."])
    stage.plays(worker, plans=(ONE,))
    history = [{"role": "user", "content": "a" * (most - 1)}, {"role": "assistant", "content": "b"}]
    long = {"role": "user", "content": "c" * most}
    whole = post(stage, model=model, messages=[long])
    assert whole.status_code == 200
    refused = post(stage, model=model, messages=[{**long, "content": "c" * (most + 1)}])
    assert refused.status_code == 400
    assert f"limit is {most:,}" in refused.json()["error"]["message"]
    together = post(stage, model=model, messages=[*history, {"role": "user", "content": "c"}])
    assert together.status_code == (400 if model == "worker:alpha" else 200)


def test_the_models_are_listed_at_the_address_with_a_slash_as_well(stage: Stage) -> None:
    stage.plays(simulated("alpha", "So."))
    assert httpx.get(f"{stage.base_url}/models/").json() == httpx.get(f"{stage.base_url}/models").json()


@pytest.mark.thorough
@pytest.mark.slow
def test_a_planner_that_learnt_is_a_model_of_the_pool_file(
    stage: Stage, client: OpenAI, tmp_path: Path
) -> None:
    questions = [TriedQuestion(question=f"What is {n} + 1?", right=(1,), wrong=(0,)) for n in range(3)]
    write_planner(
        planner_of(plans=[single("alpha"), single("beta")], questions=questions), tmp_path / "planner.json"
    )
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    stage.plays(
        SimulatedWorker("alpha"),
        SimulatedWorker("beta"),
        planners={"mine": tmp_path / "planner.json", "broken": tmp_path / "broken.json"},
    )
    assert ask(client, model="planner:mine").choices[0].message.content
    listed = [model.id for model in client.models.list()]
    assert "planner:mine" in listed
    assert "planner:broken" not in listed
    for name, reason in (
        (f"planner:{tmp_path}/planner.json", "names a file"),
        ("planner:broken", "cannot be read here"),
        ("planner:yours", "names no planner 'yours'"),
    ):
        with pytest.raises(openai.NotFoundError, match=reason):
            ask(client, model=name)
