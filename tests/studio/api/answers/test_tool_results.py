"""The results of tools that a plan's final step called: the same session goes on, with that step alone."""

from __future__ import annotations

import re
from typing import Any, get_args

import openai
import pytest
from openai import OpenAI

from conductor.errors import UnknownId
from conductor.planner.prompt.prompt import plan_messages
from conductor.workers.protocol import PromptStyle
from storage import SessionStore
from studio.access.auth import Principal
from tests.studio.api.answers.tool_cases import BOTH, OSLO, ROME, TOOL, WHERE, calls
from tests.studio.api.stage import Stage, model, staged
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow

TWO = plan_text((0, "look it up", "[]"), (1, "answer", "[0]"))
THERE = calls(("up-3", "weather", ROME))


def plays(stage: Stage, served: Served, *texts: Any) -> Any:
    served.fake.texts += texts
    return stage.plays(model("alpha", served.base_url), model("beta", served.base_url), plans=(TWO, TWO, TWO))


def ask(client: OpenAI, messages: Any = WHERE, **more: Any) -> Any:
    return client.chat.completions.create(model="conductor", messages=messages, tools=[TOOL], **more)


def answered(answer: Any, *texts: str, messages: Any = WHERE) -> list[Any]:
    """The messages with the answer's calls and their results."""
    message = answer.choices[0].message
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": text}
        for call, text in zip(message.tool_calls, texts, strict=True)
    ]
    reply = message.model_dump(exclude_none=True, exclude={"annotations"})
    return [*messages, reply, *results]


def test_the_final_step_alone_is_run_again_in_the_same_session(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    conductor = plays(stage, fake_openai, "a look", BOTH, "In Rome.")
    first = ask(client)
    spoken = answered(first, "2", "20")
    second = ask(client, spoken)
    assert second.choices[0].message.content == "In Rome."
    assert (first.conductor["continued"], second.conductor["continued"]) == (False, True)
    assert second.conductor["session"] == first.conductor["session"]
    assert len(conductor.requests) == 1, "nothing is planned"
    bodies = [entry.body or {} for entry in fake_openai.log.entries]
    assert len(bodies) == 3, "the first step keeps its output"
    assert [message["role"] for message in bodies[2]["messages"]] == ["user", "assistant", "tool", "tool"]
    assert "a look" in bodies[2]["messages"][0]["content"]
    call_ids = [call["id"] for call in bodies[2]["messages"][1]["tool_calls"]]
    results = [(message["tool_call_id"], message["content"]) for message in bodies[2]["messages"][2:]]
    assert (call_ids, results) == (["up-1", "up-2"], [("up-1", "2"), ("up-2", "20")]), "the worker's own ids"
    assert [step["reused"] for step in second.conductor["steps"]] == [True, False]
    assert second.conductor["calls"] == 1
    session = stage.workbench.store.sessions.find(second.conductor["session"])
    assert [turn.role for turn in session.earlier_conversation.following] == ["assistant", "tool", "tool"]


def test_it_goes_on_as_often_as_tools_are_called(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "a look", BOTH, THERE, "In Rome.")
    first = ask(client)
    spoken = answered(first, "2", "20")
    second = ask(client, spoken)
    assert second.choices[0].finish_reason == "tool_calls"
    third = ask(client, answered(second, "21", messages=spoken))
    assert third.choices[0].message.content == "In Rome."
    assert third.conductor["session"] == first.conductor["session"]
    assert len(fake_openai.log.entries) == 4
    assert len(stage.workbench.store.runs.of_session(first.conductor["session"])) == 3


def test_a_stream_goes_on_as_well(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "a look", BOTH, "In Rome it is.")
    spoken = answered(ask(client), "2", "20")
    pieces = list(ask(client, spoken, stream=True))
    assert (
        "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices) == "In Rome it is."
    )
    assert len(fake_openai.log.entries) == 3


def test_another_question_behind_it_is_planned_with_the_calls_as_text(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    conductor = plays(stage, fake_openai, "a look", BOTH, "In Rome.", "a look", "Yes.")
    spoken = answered(ask(client), "2", "20")
    answer = ask(client, spoken)
    reply = {"role": "assistant", "content": answer.choices[0].message.content}
    later = ask(client, [*spoken, reply, {"role": "user", "content": "Sure?"}])
    assert (later.choices[0].message.content, later.conductor["continued"]) == ("Yes.", False)
    assert len(conductor.requests) == 2
    text = fake_openai.settled().body["messages"][0]["content"]  # type: ignore[index]
    assert "Calls the tool 'weather' with" in text
    assert "20" in text


@pytest.mark.parametrize("case", ["another id", "another question", "not stored", "another token", "deleted"])
def test_results_of_no_run_here_are_planned_for(
    stage: Stage, client: OpenAI, fake_openai: Served, case: str
) -> None:
    conductor = plays(stage, fake_openai, "a look", BOTH, "a look", "In Rome.")
    tokens = stage.workbench.store.tokens
    first_token, other = (tokens.create(f"{case} {name}")[0].id for name in ("ann", "bob"))
    stage.auth.principal = Principal(token=first_token)
    first = ask(client)
    spoken = answered(first, "2", "20")
    more: dict[str, Any] = {}
    match case:
        case "another id":
            spoken[1]["tool_calls"][0]["id"] = spoken[2]["tool_call_id"] = "call_0"
        case "another question":
            spoken[0] = {"role": "user", "content": "Where is it warm?"}
        case "not stored":
            more = {"store": False}
        case "another token":
            stage.auth.principal = Principal(token=other)
        case _:
            stage.workbench.store.sessions.delete(first.conductor["session"])
    answer = ask(client, spoken, **more)
    assert (answer.choices[0].message.content, answer.conductor["continued"]) == ("In Rome.", False)
    assert len(conductor.requests) == 2
    last = fake_openai.settled().body or {}
    assert [message["role"] for message in last["messages"]] == ["user", "assistant", "tool", "tool"]
    first_step = (fake_openai.log.entries[-2].body or {})["messages"]
    assert len(first_step) == 1, "what is not offered tools is sent no calls"
    texts = [first_step[0]["content"]]
    for style in get_args(PromptStyle):
        prompt = plan_messages(conductor.requests[1], dialect="any", style=style, room_to_think=False)
        texts.append("".join(message.content for message in prompt))
    for text in texts:
        assert "Calls the tool 'weather' with" in text
        assert re.search(r"<results\S*>(.|\n)*<tool\S*>\n20\n</tool", text)


def test_what_was_planned_with_results_goes_on_like_any_other(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    conductor = plays(stage, fake_openai, "a look", THERE, "In Rome.")
    call = {"id": "elsewhere", "type": "function", "function": {"name": "weather", "arguments": OSLO}}
    earlier: list[Any] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "elsewhere", "content": "2"},
    ]
    first = ask(client, [*WHERE, *earlier], store=False)
    second = ask(client, answered(first, "21", messages=[*WHERE, *earlier]), store=False)
    assert second.choices[0].message.content == "In Rome."
    assert len(conductor.requests) == 1
    assert len(fake_openai.log.entries) == 3, "the first step was shown what it is shown now"
    messages = (fake_openai.settled().body or {})["messages"]
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert "<results" not in messages[0]["content"]


def there(stage: Stage, session: str) -> bool:
    """Whether the store has the session, in whatever state."""
    try:
        stage.workbench.store.sessions.find(session)
    except UnknownId:
        return False
    return True


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_not_to_be_stored_goes_on_as_well_and_leaves_nothing(
    stage: Stage, client: OpenAI, fake_openai: Served, *, stream: bool
) -> None:
    conductor = plays(stage, fake_openai, "a look", BOTH, THERE, "In Rome.")
    first = ask(client, store=False)
    session = first.conductor["session"]
    stage.settle()
    store = stage.workbench.store
    assert (store.sessions.named(session), stage.workbench.activities.going(session)) == ((), None)
    spoken = answered(first, "2", "20")
    second = ask(client, spoken, store=False)
    assert second.choices[0].finish_reason == "tool_calls"
    last = answered(second, "21", messages=spoken)
    if stream:
        pieces = list(ask(client, last, store=False, stream=True))
        assert "".join(one.choices[0].delta.content or "" for one in pieces if one.choices) == "In Rome."
    else:
        assert ask(client, last, store=False).conductor["session"] == session
    assert len(conductor.requests) == 1, "nothing is planned"
    assert len(fake_openai.log.entries) == 4, "the first step keeps its output"
    until(lambda: not there(stage, session), what="an answer without calls removes it")


def test_a_response_that_is_not_to_be_stored_goes_on_with_all_its_items(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    conductor = plays(stage, fake_openai, "a look", BOTH, "In Rome.")
    tool = {"type": "function", **TOOL["function"]}
    common: Any = {"model": "conductor", "tools": [tool], "store": False}
    first: Any = client.responses.create(input=WHERE, **common)
    items = [item.model_dump(exclude_none=True) for item in first.output]
    results = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "20"}
        for item in items
        if item["type"] == "function_call"
    ]
    second: Any = client.responses.create(input=[*WHERE, *items, *results], **common)
    assert (second.output_text, second.conductor["continued"]) == ("In Rome.", True)
    assert (len(conductor.requests), len(fake_openai.log.entries)) == (1, 3)
    for response in (first, second):
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(response.id)


@pytest.mark.parametrize(
    "case", ["another token", "over", "this machine's", "stored by the client", "kept by the token"]
)
def test_who_goes_on_with_what_is_not_to_be_stored(
    stage: Stage, client: OpenAI, fake_openai: Served, case: str
) -> None:
    conductor = plays(stage, fake_openai, "a look", BOTH, "a look", "In Rome.")
    tokens = stage.workbench.store.tokens
    own, other = (tokens.create(f"{case} {name}")[0].id for name in ("cy", "di"))
    stage.auth.principal = Principal(token=own)
    first = ask(client, store=False)
    stage.settle()
    session, more = first.conductor["session"], {"store": False}
    goes_on = case in ("stored by the client", "kept by the token")
    match case:
        case "another token":
            stage.auth.principal = Principal(token=other)
        case "this machine's":
            stage.auth.principal = Principal()
        case "over":
            stage.workbench.store.requests.extend(session, seconds=-1.0)
        case "kept by the token":
            stage.auth.principal = Principal(token=own, keeps_unstored=True)
        case _:
            more = {}
    answer = ask(client, answered(first, "2", "20"), **more)
    assert answer.conductor["continued"] is goes_on
    assert len(conductor.requests) == 2 - goes_on
    stage.settle(requests=2)
    listed = {one.id for one in stage.workbench.store.sessions.listed()}
    assert (session in listed) is goes_on, "the client has it stored from now on"


def test_a_token_may_have_stored_what_its_requests_ask_not_to_store(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "a look", "In Rome.")
    stage.auth.principal = Principal(keeps_unstored=True)
    session = ask(client, store=False).conductor["session"]
    stage.settle()
    assert session in {one.id for one in stage.workbench.store.sessions.listed()}


def test_another_process_goes_on_with_what_is_not_to_be_stored(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "a look", BOTH)
    first = ask(client, store=False)
    stage.settle()
    file = stage.workbench.store._transactions.database.path
    with staged(SessionStore.open(f"sqlite:///{file}")) as other, other.client() as second_client:
        conductor = plays(other, fake_openai, "In Rome.")
        answer = ask(second_client, answered(first, "2", "20"), store=False)
        assert answer.choices[0].message.content == "In Rome."
        assert conductor.requests == []
        until(lambda: not there(stage, first.conductor["session"]), what="it is removed")


def test_a_failed_continuation_can_be_sent_again(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    conductor = plays(stage, fake_openai, "a look", BOTH, "In Rome.")
    spoken = answered(ask(client, store=False), "2", "20")
    down = model("beta", fake_openai.base_url, served="fault:500")
    stage.plays(model("alpha", fake_openai.base_url), down)
    with pytest.raises(openai.InternalServerError):
        ask(client, spoken, store=False)
    stage.settle()
    stage.plays(model("alpha", fake_openai.base_url), model("beta", fake_openai.base_url), plans=conductor)
    assert ask(client, spoken, store=False).conductor["continued"] is True


def test_a_continued_session_can_be_run_again_in_the_app(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "a look", BOTH, "In Rome.", "In Rome, again.")
    answer = ask(client, answered(ask(client), "2", "20"))
    bench, session = stage.workbench, answer.conductor["session"]
    outlook = bench.running.outlook(session)
    assert outlook.radius.runs == frozenset(), "both outputs are known"
    state = bench.store.runs.state(bench.store.runs.latest(session).id)
    assert state.answer == "In Rome."


def test_a_client_that_offers_no_tools_any_more_gets_no_calls(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "a look", BOTH, "In Rome.")
    first = ask(client)
    answer: Any = client.chat.completions.create(
        model="conductor", messages=answered(first, "2", "20"), response_format={"type": "text"}
    )
    assert "tools" not in (fake_openai.settled().body or {})
    session = answer.conductor["session"]
    assert (session, answer.conductor["continued"]) == (first.conductor["session"], True)
    revisions = stage.workbench.store.revisions.of_session(session)
    assert len(revisions) == 2, "the workflow with other tools is a revision"


def test_limits_of_the_token_hold_for_what_goes_on(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "a look", BOTH)
    spoken = answered(ask(client), "2", "20")
    with pytest.raises(openai.PermissionDeniedError, match="needs the worker 'beta'"):
        ask(client, spoken, extra_body={"conductor": {"exclude": ["beta"]}})
    assert len(fake_openai.log.entries) == 2


@pytest.mark.parametrize("store", [True, False])
def test_results_that_come_while_the_session_runs_are_refused(
    stage: Stage, client: OpenAI, fake_openai: Served, *, store: bool
) -> None:
    plays(stage, fake_openai, "a look", BOTH, "In Rome it is warm, and in Oslo it is not.")
    spoken = answered(ask(client, store=store), "2", "20")
    stalling = model("beta", fake_openai.base_url, served="fault:stall")
    stage.plays(model("alpha", fake_openai.base_url), stalling)
    with ask(client, spoken, stream=True, store=store) as stream:
        next(piece for piece in stream if piece.choices and piece.choices[0].delta.content)
        with pytest.raises(openai.ConflictError) as refused:
            ask(client, spoken, store=store)
        assert refused.value.code == "session_busy"
    stage.settle()
