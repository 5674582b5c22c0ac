"""Answers as JSON, as OpenAI's own client asks for them: chat and responses, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai import OpenAI
from pydantic import BaseModel

from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.messages import Sampling
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text

WHY: list[Any] = [{"role": "user", "content": "Why?"}]
TWO = plan_text((0, "draft", "[]"), (1, "polish", "[0]"))
SCHEMA = {
    "type": "object",
    "properties": {"why": {"type": "string"}, "who": {"const": None}},
    "required": ["why", "who"],
    "additionalProperties": False,
}
CHAT = {"type": "json_schema", "json_schema": {"name": "reason", "schema": SCHEMA, "strict": True}}
RESPONSES = {"type": "json_schema", "name": "reason", "schema": SCHEMA, "strict": True}
RIGHT = '{"why": "So.", "who": null}'


class Reason(BaseModel):
    why: str
    who: str | None


def plays(stage: Stage, served: Served, *texts: str) -> None:
    stage.plays(model("alpha", served.base_url), model("beta", served.base_url), plans=(TWO,))
    served.fake.texts += texts


def test_the_final_steps_worker_alone_is_asked_for_it(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "a draft", RIGHT)
    answer: Any = client.chat.completions.create(
        model="conductor", messages=WHY, response_format=CHAT, temperature=0.2
    )
    assert answer.choices[0].message.content == RIGHT
    first, last = (entry.body or {} for entry in fake_openai.log.entries)
    assert "response_format" not in first
    assert (last["response_format"], last["temperature"]) == (CHAT, 0.2)
    run = stage.workbench.store.runs.latest(answer.conductor["session"])
    state = stage.workbench.store.runs.state(run.id)
    sent = state.steps[1].request
    assert sent is not None
    assert sent.sampling == Sampling(
        temperature=0.2, response_format=ResponseFormat.of_schema(SCHEMA, name="reason", strict=True)
    ), "as it is stored, with the schema's null"


def test_the_clients_own_helper_reads_the_answer(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, RIGHT, RIGHT)
    chat = client.chat.completions.parse(model="worker:alpha", messages=WHY, response_format=Reason)
    assert chat.choices[0].message.parsed == Reason(why="So.", who=None)
    response = client.responses.parse(model="worker:alpha", input="Why?", text_format=Reason)
    assert response.output_parsed == Reason(why="So.", who=None)
    bodies = [entry.body or {} for entry in fake_openai.log.entries]
    assert bodies[0]["response_format"] == bodies[1]["response_format"]
    assert bodies[0]["messages"] == WHY, "a worker alone gets the messages as they came"


def test_a_response_names_its_form(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, RIGHT, '{"a": 1}')
    response = client.responses.create(model="worker:alpha", input="Why?", text={"format": RESPONSES})
    assert response.output_text == RIGHT
    stored: Any = client.responses.retrieve(response.id)
    assert stored.text.format.model_dump(by_alias=True)["schema"] == SCHEMA
    plain = client.responses.create(
        model="worker:alpha", input="Why?", text={"format": {"type": "json_object"}}
    )
    assert (plain.output_text, plain.text.format.type) == ('{"a": 1}', "json_object")


def test_the_first_wrong_answer_is_asked_for_again(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "So.", RIGHT)
    answer: Any = client.chat.completions.create(model="worker:alpha", messages=WHY, response_format=CHAT)
    assert answer.choices[0].message.content == RIGHT
    assert answer.usage.conductor["completion_tokens"] == 5
    assert "it is no JSON" in (fake_openai.settled().body or {})["messages"][-1]["content"]


@pytest.mark.parametrize("limit", [None, 2])
def test_an_answer_that_stays_wrong_or_is_cut_off_is_an_error(
    stage: Stage, client: OpenAI, fake_openai: Served, limit: int | None
) -> None:
    plays(stage, fake_openai, RIGHT if limit else "So.", "So.")
    with pytest.raises(openai.InternalServerError) as failed:
        client.chat.completions.create(
            model="worker:alpha", messages=WHY, response_format=CHAT, max_tokens=limit
        )
    assert (failed.value.status_code, failed.value.code) == (502, "run_failed")
    assert ("cut off at 2 tokens" if limit else "answered twice") in str(failed.value)
    assert len(fake_openai.log.entries) == (1 if limit else 2)


def test_a_stream_is_checked_at_its_end(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, RIGHT, "So it is.", RIGHT)
    request: Any = {"model": "worker:alpha", "messages": WHY, "response_format": CHAT, "stream": True}
    assert (
        "".join(piece.choices[0].delta.content or "" for piece in client.chat.completions.create(**request))
        == RIGHT
    )
    with pytest.raises(openai.APIError, match="the answer is not JSON by the schema reason"):
        list(client.chat.completions.create(**request))


def test_a_stream_of_events_that_is_wrong_ends_with_a_failure(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "So it is.", RIGHT)
    stream = client.responses.create(
        model="worker:alpha", input="Why?", text={"format": RESPONSES}, stream=True
    )
    last: Any = list(stream)[-1]
    assert last.type == "response.failed"
    assert "not JSON by the schema reason" in last.response.error.message


@pytest.mark.parametrize(
    ("settings", "param", "code"),
    [
        ({"response_format": {"type": "json_object"}}, "response_format", "unsupported_parameter"),
        ({"response_format": CHAT, "stop": "x"}, "stop", "unsupported_parameter"),
        (
            {"response_format": {**CHAT, "json_schema": {"name": "n", "schema": {"type": "x"}}}},
            "response_format",
            "invalid_schema",
        ),
        (
            {"response_format": {**CHAT, "json_schema": {"name": "n", "schema": {"a": "x" * 64_000}}}},
            "response_format.json_schema.schema",
            "invalid_value",
        ),
    ],
)
def test_what_no_answer_could_be_is_refused_before_any_call(
    stage: Stage, client: OpenAI, settings: Any, param: str, code: str
) -> None:
    alpha = SimulatedWorker(name="alpha", answer=RIGHT)
    stage.plays(alpha)
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="worker:alpha", messages=WHY, **settings)
    assert (refused.value.param, refused.value.code) == (param, code)
    assert not alpha.requests


def test_a_refusal_states_that_a_worker_is_simulated(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer=RIGHT))
    with pytest.raises(openai.BadRequestError, match="alpha is simulated and calls no model"):
        client.chat.completions.create(model="worker:alpha", messages=WHY, response_format=CHAT)


def test_a_pinned_answer_takes_no_form(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, RIGHT)
    whole: Any = client.chat.completions.create(model="worker:alpha", messages=WHY)
    run = stage.workbench.store.runs.latest(whole.conductor["session"])
    pin = stage.workbench.store.runs.state(run.id).steps[0].output
    workflow = Workflow.of([Step(instruction="answer", worker="alpha", pin=pin)])
    text = write_plan(workflow, query=None, origin="human", workers=("alpha",), label=None)
    with pytest.raises(openai.BadRequestError, match="the output of the final step is pinned"):
        client.chat.completions.create(
            model="conductor",
            messages=WHY,
            response_format=CHAT,
            extra_body={"conductor": {"workflow": json.loads(text)}},
        )
