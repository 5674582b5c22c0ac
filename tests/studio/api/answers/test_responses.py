"""Responses as OpenAI's own client gets them, whole and as a stream of events."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI
from openai.types.responses import ResponseInputParam, ResponseUsage

from conductor.workers.simulated import SimulatedWorker
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import BROKEN, plan_text

TWO = plan_text((0, "draft", "[]"), (1, "polish", "[0]"))
ONE = plan_text((0, "answer", "[]"))


def simulated(name: str, text: str) -> SimulatedWorker:
    return SimulatedWorker(name=name, answer=text)


def test_a_response_has_the_answer_its_usage_and_how_it_came_about(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "a draft here"), simulated("beta", "polished answer"), plans=(TWO,))
    response: Any = client.responses.create(
        model="conductor", input="Why?", instructions="Be brief.", metadata={"team": "red"}
    )
    assert response.output_text == "polished answer"
    assert (response.status, response.error, response.metadata) == ("completed", None, {"team": "red"})
    assert response.usage.output_tokens == 2
    assert response.usage.output_tokens_details.orchestration_tokens == 13
    assert response.usage.conductor["output_tokens"] == 10 + 3 + 2
    assert response.usage.conductor["total_tokens"] == response.conductor["tokens"]
    session = stage.workbench.store.sessions.find(response.conductor["session"])
    assert response.id == f"resp_{session.id}"
    assert session.earlier_conversation.system == "Be brief."
    assert stage.workbench.store.sessions.tags(session.id) == ("team=red",)


def test_all_of_the_usage_is_integers_as_openais_schema_has_them(stage: Stage) -> None:
    request = {"model": "conductor", "input": "Why?"}
    stage.plays(simulated("alpha", "a draft here"), simulated("beta", "polished answer"), plans=(TWO, TWO))
    whole = httpx.post(f"{stage.base_url}/responses", json=request).json()
    streamed = httpx.post(f"{stage.base_url}/responses", json={**request, "stream": True}).text
    last = json.loads(streamed.rsplit("data: ", 1)[1])
    assert last["type"] == "response.completed"
    for usage in (whole["usage"], last["response"]["usage"]):
        read = ResponseUsage.model_validate(usage, strict=True)
        assert read.total_tokens == read.input_tokens + read.output_tokens > 0


def test_a_stream_has_openais_events_in_their_order(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "draft"), simulated("beta", "polished"), plans=(TWO,))
    events = list(client.responses.create(model="conductor", input="Why?", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = list(dict.fromkeys(event.type for event in events))
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    last: Any = events[-1]
    assert (
        "".join(event.delta for event in events if event.type == "response.output_text.delta") == "polished"
    )
    assert last.response.output_text == "polished"
    assert last.response.usage.conductor["total_tokens"] == last.response.conductor["tokens"]


def test_the_clients_own_helper_reads_the_stream(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "draft"), simulated("beta", "polished"), plans=(TWO,))
    with client.responses.stream(model="conductor", input="Why?") as stream:
        assert stream.get_final_response().output_text == "polished"


def test_the_runs_events_are_reported_where_that_is_asked_for(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "So."), plans=(ONE,))
    events: list[Any] = list(
        client.responses.create(
            model="conductor", input="Why?", stream=True, extra_body={"conductor": {"events": True}}
        )
    )
    kinds = [event.event["type"] for event in events if event.type == "conductor.event"]
    assert (kinds[0], kinds[-1]) == ("planning_started", "run_finished")


def test_a_response_goes_on_from_an_earlier_one(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(model("alpha", fake_openai.base_url), plans=(ONE,))
    messages: ResponseInputParam = [
        {"role": "developer", "content": "Answer in French."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Who was Ada?"}]},
    ]
    first = client.responses.create(model="worker:alpha", input=messages, instructions="Be brief.")
    stage.settle()
    client.responses.create(model="worker:alpha", input="When?", previous_response_id=first.id)
    body = fake_openai.settled().body
    assert body["messages"] == [
        {"role": "system", "content": "Answer in French."},
        {"role": "user", "content": "Who was Ada?"},
        {"role": "assistant", "content": first.output_text},
        {"role": "user", "content": "When?"},
    ]


def test_what_is_no_stored_response_is_not_gone_on_from(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "So."), plans=(ONE,))
    unstored = client.responses.create(model="conductor", input="Why?", store=False)
    stage.settle()
    session = stage.workbench.ask("Whose?")
    stage.workbench.planning.begin(session.id, then_run=True)
    stage.workbench.activities.wait(session.id)
    for id in (unstored.id, f"resp_{session.id}", "resp_0123456789abcdef", "chatcmpl-1", ""):
        with pytest.raises(openai.BadRequestError, match="There is no response") as refused:
            client.responses.create(model="conductor", input="Why?", previous_response_id=id)
        assert refused.value.param == "previous_response_id"
        assert refused.value.code == "previous_response_not_found"


def test_an_answer_that_was_cut_is_incomplete(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(model("alpha", fake_openai.base_url), plans=(ONE,))
    response = client.responses.create(model="conductor", input="Why?", max_output_tokens=3)
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    *_, last = client.responses.create(model="conductor", input="Why?", max_output_tokens=3, stream=True)
    assert last.type == "response.incomplete"


@pytest.mark.usefixtures("open_at_once")
def test_a_failure_is_an_error_or_the_last_event(stage: Stage, client: OpenAI) -> None:
    stage.plays(simulated("alpha", "So."), plans=(BROKEN,))
    with pytest.raises(openai.InternalServerError, match="gave no workflow"):
        client.responses.create(model="conductor", input="Why?")
    *_, last = client.responses.create(model="conductor", input="Why?", stream=True)
    assert last.type == "response.failed"
    assert last.response.error.code == "no_workflow"
