"""Seeds, penalties, names and the beginning of an answer: they reach who answers, or are listed."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import OpenAI

from conductor.workers.simulated import SimulatedWorker
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text

TWO = plan_text((0, "draft", "[]"), (1, "polish", "[0]"))
FINE = {"seed": 123_456_789, "top_p": 0.5, "frequency_penalty": 0.0, "presence_penalty": -1.5}
NAMED: list[Any] = [
    {"role": "system", "content": "Be brief.", "name": "rules"},
    {"role": "user", "content": "Why?", "name": "ann"},
]
PREFILL: list[Any] = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because"}]


def ask(client: OpenAI, name: str, messages: Any = "Why?", **more: Any) -> Any:
    spoken = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    return client.chat.completions.create(model=name, messages=spoken, **more)


def plays(stage: Stage, served: Served, *texts: Any) -> None:
    stage.plays(model("alpha", served.base_url), model("beta", served.base_url), plans=(TWO,))
    served.fake.texts += texts


def bodies(served: Served) -> list[dict[str, Any]]:
    return [entry.body or {} for entry in served.log.entries]


def test_the_final_step_alone_is_sampled_as_asked(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "a draft", "So.")
    answer = ask(client, "conductor", **FINE)
    first, last = bodies(fake_openai)
    assert not FINE.keys() & first.keys()
    assert {name: last[name] for name in FINE} == FINE
    assert answer.conductor["without_effect"] == []
    store = stage.workbench.store
    request = store.runs.state(store.runs.latest(answer.conductor["session"]).id).steps[1].request
    assert request is not None
    assert "seed 123456789" in request.sampling.words


def test_a_response_has_its_share_of_likely_tokens_as_well(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "So.")
    assert client.responses.create(model="worker:alpha", input="Why?", top_p=0.5).top_p == 0.5
    assert bodies(fake_openai)[0]["top_p"] == 0.5


def test_what_a_computing_worker_cannot_take_is_listed_and_not_refused(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="So."), plans=(plan_text((0, "answer", "[]")),))
    for name in ("conductor", "worker:alpha"):
        answer = ask(client, name, **FINE)
        assert answer.choices[0].message.content == "So."
        assert answer.conductor["without_effect"] == list(FINE)


def test_what_litellm_sends_back_with_an_answer_is_read_by_no_one(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "So.")
    added: list[Any] = [
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": "So.", "provider_specific_fields": {"refusal": None}},
        {"role": "user", "content": "And then?"},
    ]
    ignored = ask(client, "worker:alpha", added).conductor["without_effect"]
    assert ignored == ["messages.provider_specific_fields"]
    assert all("provider_specific_fields" not in message for message in bodies(fake_openai)[0]["messages"])


def test_names_go_to_a_worker_alone(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "So.", "a draft", "So.")
    assert ask(client, "worker:alpha", NAMED).conductor["without_effect"] == []
    assert bodies(fake_openai)[0]["messages"] == NAMED
    assert ask(client, "conductor", NAMED).conductor["without_effect"] == ["messages.name"]
    assert all("name" not in message for body in bodies(fake_openai)[1:] for message in body["messages"])


@pytest.mark.parametrize("name", ["worker:alpha", "conductor"])
def test_the_beginning_of_an_answer_is_the_last_message_of_the_final_step(
    stage: Stage, client: OpenAI, fake_openai: Served, name: str
) -> None:
    plays(stage, fake_openai, *(["a draft"] if name == "conductor" else []), " it is so.")
    assert ask(client, name, PREFILL).choices[0].message.content == " it is so."
    sent = bodies(fake_openai)
    assert sent[-1]["messages"][-1] == PREFILL[-1]
    assert all(body["messages"][-1]["role"] == "user" for body in sent[:-1])


def test_a_begun_answer_takes_no_form(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="So."))
    with pytest.raises(openai.BadRequestError, match="the beginning of the answer is given"):
        ask(client, "worker:alpha", PREFILL, response_format={"type": "json_object"})
