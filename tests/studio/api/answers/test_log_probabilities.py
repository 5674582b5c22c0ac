"""Log probabilities of a worker alone, as OpenAI's own client asks for them and reads them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.messages import Completion, Delta, Request, Retried
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.protocol import WorkerCard
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.stream import BATCH_SECONDS
from tests.studio.api.answers.tool_cases import BOTH, TOOL
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text
from tests.support.runs.waiting import until_async
from tests.support.stores.session_files import exported, imported

WHY: list[Any] = [{"role": "user", "content": "Why?"}]
ONE = plan_text((0, "answer", "[]"))
LOGPROBS: Any = ["message.output_text.logprobs"]
PARTS = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "array"}}}


def plays(stage: Stage, served: Served, *texts: Any, fault: str = "simulated") -> None:
    stage.plays(model("alpha", served.base_url, served=fault), plans=(ONE,))
    served.fake.texts += texts


def ask(client: OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(
        **{"model": "worker:alpha", "messages": WHY, "logprobs": True, **more}
    )


def spelled(tokens: Any) -> str:
    return "".join(token.token for token in tokens)


# -- chat completions --------------------------------------------------------------------------------


def test_a_whole_answer_has_those_of_each_token(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "It is № 7.")
    answer = ask(client, top_logprobs=2)
    sent = fake_openai.settled().body or {}
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 2)
    (choice,) = answer.choices
    assert (spelled(choice.logprobs.content), choice.logprobs.refusal) == ("It is № 7.", None)
    third = choice.logprobs.content[2]
    assert (third.logprob, bytes(third.bytes).decode()) == (-0.25, " №")
    assert [(one.token, one.logprob, bytes(one.bytes).decode()) for one in third.top_logprobs] == [
        (" №", -0.25, " №"),
        (" №1", -0.5, " №1"),
    ]
    assert answer.conductor["without_effect"] == []


def test_the_pieces_of_a_stream_have_those_of_their_text(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "It is so.", "It is so.")
    whole = ask(client, top_logprobs=1).choices[0].logprobs.content
    chunks = list(ask(client, top_logprobs=1, stream=True))
    with_text = [chunk.choices[0] for chunk in chunks if chunk.choices[0].delta.content]
    assert all(spelled(choice.logprobs.content) == choice.delta.content for choice in with_text)
    assert [token for choice in with_text for token in choice.logprobs.content] == whole
    assert [chunk.choices[0].logprobs for chunk in (chunks[0], chunks[-1])] == [None, None]


@dataclass
class Gated:
    """A model of two tokens; the second comes once the first has been `received`."""

    received: Event = field(default_factory=Event)
    card: WorkerCard = WorkerCard(
        name="alpha", kind="model", strengths="waits", model="alpha", takes_logprobs=True
    )

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        tokens = (TokenLogprob("So", -0.5), TokenLogprob(".", -0.25))
        for token in tokens:
            yield Delta(token.token, (token,))
            await until_async(self.received.is_set)
        yield Completion("So.", logprobs=tokens)


def test_a_piece_that_is_sent_before_the_next_token_has_its_own(stage: Stage, client: OpenAI) -> None:
    worker = Gated()
    stage.plays(worker)
    pieces = []
    for chunk in ask(client, stream=True):
        if text := chunk.choices[0].delta.content:
            pieces.append((text, spelled(chunk.choices[0].logprobs.content)))
            worker.received.set()
    assert pieces == [("So", "So"), (".", ".")]


def test_the_clients_own_helper_joins_those_of_a_stream(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "It is so.")
    with client.chat.completions.stream(
        model="worker:alpha", messages=WHY, logprobs=True, top_logprobs=2
    ) as stream:
        done = [event for event in stream if event.type == "logprobs.content.done"]
        final = stream.get_final_completion()
    tokens = final.choices[0].logprobs
    assert tokens is not None
    assert (spelled(tokens.content), len((tokens.content or [])[0].top_logprobs)) == ("It is so.", 2)
    assert [spelled(event.content) for event in done] == ["It is so."]


@pytest.mark.parametrize("streamed", [False, True])
def test_what_a_stop_cuts_off_has_none(
    stage: Stage, client: OpenAI, fake_openai: Served, *, streamed: bool
) -> None:
    plays(stage, fake_openai, "It is so.\nIs it?")
    answer = ask(client, stop=["s it"], stream=streamed)
    choices = [chunk.choices[0] for chunk in answer] if streamed else answer.choices
    texts = [choice.delta.content if streamed else choice.message.content for choice in choices]
    assert "".join(text or "" for text in texts) == "It is so.\nI"
    tokens = [token for choice in choices if choice.logprobs for token in choice.logprobs.content]
    assert spelled(tokens) == "It is so.", "the last token has a part of what was cut off"


def test_a_stop_in_the_first_token_leaves_none(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "It's so.")
    answer = ask(client, stop="'")
    assert (answer.choices[0].message.content, answer.choices[0].logprobs) == ("It", None)
    assert answer.conductor["without_effect"] == [], "the endpoint gave them"


def test_each_answer_has_its_own(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "First.", "Second one.", "First.", "Second one.")
    answer = ask(client, n=2)
    assert [spelled(choice.logprobs.content) for choice in answer.choices] == ["First.", "Second one."]
    pieces: dict[int, str] = {0: "", 1: ""}
    for chunk in ask(client, n=2, stream=True):
        for choice in chunk.choices:
            pieces[choice.index] += spelled(choice.logprobs.content) if choice.logprobs else ""
    assert pieces == {0: "First.", 1: "Second one."}


@pytest.mark.parametrize("streamed", [False, True])
def test_a_stored_completion_has_them(
    stage: Stage, client: OpenAI, fake_openai: Served, *, streamed: bool
) -> None:
    plays(stage, fake_openai, "It is so.")
    answer = ask(client, store=True, top_logprobs=1, stream=streamed)
    id = list(answer)[-1].id if streamed else answer.id
    tokens = client.chat.completions.retrieve(id).choices[0].logprobs
    assert tokens is not None
    assert spelled(tokens.content) == "It is so."


def test_a_file_of_the_session_has_them(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "It is so.")
    store, session = stage.workbench.store, ask(client, top_logprobs=1).conductor["session"]
    outputs = [
        store.runs.state(store.runs.latest(id).id).steps[0].output
        for id in (session, imported(store, exported(store, session)).id)
    ]
    assert outputs[0] is not None
    assert outputs[1] is not None
    assert spelled(outputs[1].logprobs) == "It is so."
    assert outputs[1].logprobs == outputs[0].logprobs


def test_those_of_an_answer_that_was_asked_for_again_are_dropped_with_it(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "So it is.", "[1, 2]")
    (choice,) = ask(client, response_format=PARTS).choices
    assert (choice.message.content, spelled(choice.logprobs.content)) == ("[1, 2]", "[1, 2]")


def test_calls_of_tools_have_none(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, BOTH, [{"content": "Let me see."}, *BOTH])
    (alone,) = ask(client, tools=[TOOL]).choices
    assert (alone.logprobs, len(alone.message.tool_calls)) == (None, 2)
    (beside,) = ask(client, tools=[TOOL]).choices
    assert (spelled(beside.logprobs.content), len(beside.message.tool_calls)) == ("Let me see.", 2)


@pytest.mark.parametrize("streamed", [False, True])
def test_an_endpoint_that_gives_none_is_named(
    stage: Stage, client: OpenAI, fake_openai: Served, *, streamed: bool
) -> None:
    plays(stage, fake_openai, fault="fault:no-logprobs")
    answer = ask(client, top_logprobs=2, stream=streamed)
    chunks = list(answer) if streamed else [answer]
    assert [chunk.choices[0].logprobs for chunk in chunks] == [None] * len(chunks)
    assert chunks[-1].conductor["without_effect"] == ["logprobs", "top_logprobs"]


def test_an_endpoint_that_refuses_them_is_an_error_that_names_the_worker(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, fault="fault:unknown-parameter=top_logprobs")
    with pytest.raises(openai.InternalServerError, match=r"alpha: .*ask for fewer log prob") as failed:
        ask(client, top_logprobs=9)
    assert (failed.value.status_code, failed.value.code) == (502, "run_failed")
    assert ask(client).choices[0].logprobs is not None, "it takes the other parameter"


def test_a_fallback_that_is_no_model_does_not_answer_without_them(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    broken = model("alpha", fake_openai.base_url, served="fault:error-500")
    beta = SimulatedWorker(name="beta")
    stage.plays(FallbackWorker(broken, beta), beta)
    with pytest.raises(openai.InternalServerError, match=r"beta is simulated .* has no log probabilities"):
        ask(client)


@dataclass
class Broken:
    """Its first words are withdrawn; its last token is no text, as some servers send one."""

    withdraws: bool
    card: WorkerCard = WorkerCard(
        name="alpha", kind="model", strengths="breaks", model="alpha", takes_logprobs=True
    )

    async def stream(self, _: Request) -> AsyncIterator[Delta | Retried | Completion]:
        if self.withdraws:
            yield Delta("Lost.", (TokenLogprob("Lost.", -2.0),))
            await asyncio.sleep(0)
            yield Retried(attempt=1, message="It broke.", seconds=0, withdrawn=5)
        own = (TokenLogprob("So", -0.5), TokenLogprob(".", -0.5))
        for token in own:
            yield Delta(token.token, (token,))
        await asyncio.sleep(2 * BATCH_SECONDS)
        yield Completion("So.", logprobs=(*own, TokenLogprob("<end>", 0.0)))


@pytest.mark.slow
def test_those_of_a_stream_that_broke_are_dropped_with_its_text(stage: Stage, client: OpenAI) -> None:
    stage.plays(Broken(withdraws=True))
    assert spelled(ask(client).choices[0].logprobs.content) == "So.<end>"
    with pytest.raises(openai.APIError, match="cannot be withdrawn"):
        list(ask(client, stream=True))


@pytest.mark.thorough
@pytest.mark.slow
def test_a_last_token_without_text_is_passed_on_at_the_end(stage: Stage, client: OpenAI) -> None:
    stage.plays(Broken(withdraws=False))
    choices = [chunk.choices[0] for chunk in ask(client, stream=True)]
    tokens = [token for choice in choices if choice.logprobs for token in choice.logprobs.content]
    assert (spelled(tokens), choices[-1].finish_reason) == ("So.<end>", "stop")
    assert spelled(choices[-1].logprobs.content) == "<end>"
    events: Any = client.responses.create(model="worker:alpha", input="Why?", include=LOGPROBS, stream=True)
    pieces = [event for event in events if event.type == "response.output_text.delta"]
    assert spelled([token for piece in pieces for token in piece.logprobs]) == "So.<end>"
    assert "".join(piece.delta for piece in pieces) == "So."


# -- responses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [None, 2])
def test_a_response_has_those_of_its_text(
    stage: Stage, client: OpenAI, fake_openai: Served, top: int | None
) -> None:
    plays(stage, fake_openai, "It is so.")
    settings: Any = {} if top is None else {"top_logprobs": top}
    response: Any = client.responses.create(model="worker:alpha", input="Why?", include=LOGPROBS, **settings)
    tokens = response.output[0].content[0].logprobs
    assert (spelled(tokens), len(tokens[0].top_logprobs)) == ("It is so.", top or 0)
    assert response.top_logprobs == (top or 0)
    assert client.responses.retrieve(response.id) == response


def test_the_events_of_a_response_have_those_of_their_text_for_all_who_follow(
    stage: Stage, client: OpenAI
) -> None:
    worker = Gated()
    stage.plays(worker)
    body = {"model": "worker:alpha", "input": "Why?", "include": LOGPROBS, "stream": True}
    lines = []
    with httpx.stream("POST", f"{stage.base_url}/responses", json=body, timeout=60) as sent:
        for line in sent.iter_lines():
            if line.startswith("data: "):
                lines.append(line)
            if "output_text.delta" in line:
                worker.received.set()
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    pieces = [event for event in events if event["type"] == "response.output_text.delta"]
    assert [(piece["delta"], "".join(token["token"] for token in piece["logprobs"])) for piece in pieces] == [
        ("So", "So"),
        (".", "."),
    ]
    (done,) = [event for event in events if event["type"] == "response.output_text.done"]
    whole = events[-1]["response"]["output"][0]["content"][0]["logprobs"]
    assert done["logprobs"] == whole == [token for piece in pieces for token in piece["logprobs"]]
    stage.settle()
    again = httpx.get(f"{stage.base_url}/responses/{events[-1]['response']['id']}?stream=true", timeout=60)
    assert [line for line in again.text.splitlines() if line.startswith("data: ")] == lines


def test_an_answer_is_sent_back_with_those_that_it_came_with(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "It is so.", "Because.")
    first: Any = client.responses.create(model="worker:alpha", input="Why?", include=LOGPROBS)
    message = first.output[0].model_dump()
    again = client.responses.create(model="worker:alpha", input=[*WHY, message, *WHY])
    assert again.output_text == "Because."
    assert (fake_openai.settled().body or {})["messages"][1] == {"role": "assistant", "content": "It is so."}


def test_what_no_response_has_is_included_without_effect(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, fault="fault:no-logprobs")
    fields: Any = ["reasoning.encrypted_content", "file_search_call.results", *LOGPROBS]
    response: Any = client.responses.create(
        model="worker:alpha", input="Why?", include=fields, store=False, top_logprobs=3
    )
    assert response.conductor["without_effect"] == [
        "include.file_search_call.results",
        "include.message.output_text.logprobs",
        "top_logprobs",
    ]


# -- refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["conductor", "conductor-mini", "baseline:moa"])
def test_a_plan_has_none(stage: Stage, client: OpenAI, fake_openai: Served, name: str) -> None:
    plays(stage, fake_openai)
    with pytest.raises(openai.BadRequestError, match=r"several models .* worker:NAME") as refused:
        ask(client, model=name)
    assert (refused.value.param, refused.value.code) == ("logprobs", "unsupported_parameter")
    with pytest.raises(openai.BadRequestError, match=r"several models .* worker:NAME") as refused:
        client.responses.create(model=name, input="Why?", include=LOGPROBS)
    assert refused.value.param == "include.message.output_text.logprobs"
    assert not fake_openai.log.entries
    assert ask(client, model="conductor", logprobs=False, top_logprobs=0).choices[0].logprobs is None


def test_a_stored_workflow_has_none_and_is_not_asked_for_those_of_an_earlier_request(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "It is so.", "It is.")
    session = ask(client).conductor["session"]
    with pytest.raises(openai.BadRequestError, match="several models"):
        ask(client, model=f"workflow:{session}")
    answer = ask(client, model=f"workflow:{session}", logprobs=None)
    assert (answer.choices[0].message.content, answer.choices[0].logprobs) == ("It is.", None)
    assert "logprobs" not in (fake_openai.settled().body or {})


def test_a_worker_that_calls_no_model_has_none(stage: Stage, client: OpenAI) -> None:
    alpha = SimulatedWorker(name="alpha", answer="Yes.")
    stage.plays(alpha)
    with pytest.raises(openai.BadRequestError, match="alpha is simulated and calls no model") as refused:
        ask(client)
    assert (refused.value.param, alpha.requests) == ("logprobs", [])
    with pytest.raises(openai.BadRequestError, match="its answer has no log probabilities"):
        client.responses.create(model="worker:alpha", input="Why?", include=LOGPROBS)


def test_the_likely_tokens_are_asked_for_with_the_log_probabilities(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai)
    for settings in ({"logprobs": None}, {"logprobs": False}):
        with pytest.raises(openai.BadRequestError, match="logprobs: true") as refused:
            ask(client, top_logprobs=2, **settings)
        assert refused.value.param == "top_logprobs"
    with pytest.raises(openai.BadRequestError, match=r"include: message\.output_text\.logprobs") as refused:
        client.responses.create(model="worker:alpha", input="Why?", top_logprobs=2)
    assert refused.value.param == "top_logprobs"
