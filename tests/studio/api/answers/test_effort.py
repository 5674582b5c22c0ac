"""How hard workers think is what the client asks for; a Conductor plans more or less for it."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import OpenAI

from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.simulated import SimulatedWorker
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text

WHY: list[Any] = [{"role": "user", "content": "Why?"}]
TWO = plan_text((0, "look it up", "[]"), (0, "answer", "[0]"))
REFUSING = "fault:unknown-parameter=reasoning_effort"

each_endpoint = pytest.mark.parametrize("endpoint", ["chat", "responses"])


def ask(client: OpenAI, endpoint: str, name: str, effort: Any) -> Any:
    if endpoint == "chat":
        return client.chat.completions.create(model=name, messages=WHY, reasoning_effort=effort)
    return client.responses.create(model=name, input=WHY, reasoning={"effort": effort})


def parameter(endpoint: str) -> str:
    return "reasoning_effort" if endpoint == "chat" else "reasoning.effort"


def plays(stage: Stage, served: Served, *, served_as: str = "m", own: str | None = None) -> None:
    endpoint = Endpoint(base_url=served.base_url, model=served_as, retries=0, reasoning_effort=own)
    stage.plays(*(OpenAIWorker(endpoint, name=name) for name in ("alpha", "beta")), plans=(TWO, TWO))


def efforts(served: Served) -> list[Any]:
    return [(entry.body or {}).get("reasoning_effort") for entry in served.log.entries]


@each_endpoint
@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive"])
@pytest.mark.parametrize(
    ("name", "least"), [("worker:alpha", 1), ("baseline:reflect:alpha", 2), ("baseline:moa", 3)]
)
def test_a_worker_and_each_step_of_a_baseline_think_as_hard_as_is_asked(
    stage: Stage, client: OpenAI, fake_openai: Served, *, endpoint: str, effort: str, name: str, least: int
) -> None:
    plays(stage, fake_openai, own="low")
    answer = ask(client, endpoint, name, effort)
    assert set(efforts(fake_openai)) == {effort}, "over the pool's own"
    assert len(efforts(fake_openai)) >= least
    assert answer.conductor["without_effect"] == []
    assert endpoint == "chat" or answer.reasoning.effort == effort


@each_endpoint
@pytest.mark.parametrize(("effort", "steps"), [("low", 1), ("medium", 2)])
def test_a_conductor_plans_more_or_less_for_it(
    stage: Stage, client: OpenAI, fake_openai: Served, *, endpoint: str, effort: str, steps: int
) -> None:
    plays(stage, fake_openai)
    stage.plays(
        model("alpha", fake_openai.base_url), plans=(TWO if steps == 2 else plan_text((0, "answer", "[]")),)
    )
    answer = ask(client, endpoint, "conductor", effort)
    assert (efforts(fake_openai), answer.conductor["without_effect"]) == ([None] * steps, [])


@each_endpoint
@pytest.mark.parametrize("effort", ["adaptive", "off"])
@pytest.mark.parametrize("name", ["conductor", "conductor-mini"])
def test_a_conductor_knows_its_own_words_alone(
    stage: Stage, client: OpenAI, fake_openai: Served, *, endpoint: str, effort: str, name: str
) -> None:
    plays(stage, fake_openai)
    with pytest.raises(openai.BadRequestError, match="plans with one of none, minimal, low") as refused:
        ask(client, endpoint, name, effort)
    assert refused.value.param == parameter(endpoint)


@each_endpoint
def test_the_final_step_of_a_workflow_alone_is_asked_for_it(
    stage: Stage, client: OpenAI, fake_openai: Served, endpoint: str
) -> None:
    plays(stage, fake_openai)
    saved = ask(client, endpoint, "conductor", "medium").conductor["session"]
    fake_openai.log.clear()
    answer = ask(client, endpoint, f"workflow:{saved}", "high")
    assert efforts(fake_openai)[-1] == "high"
    assert set(efforts(fake_openai)[:-1]) <= {None}
    assert answer.conductor["without_effect"] == []


@each_endpoint
@pytest.mark.parametrize("name", ["worker:alpha", "baseline:reflect:alpha"])
def test_an_endpoint_that_takes_none_is_asked_without_it(
    stage: Stage, client: OpenAI, fake_openai: Served, *, endpoint: str, name: str
) -> None:
    plays(stage, fake_openai, served_as=REFUSING)
    answer = ask(client, endpoint, name, "high")
    assert efforts(fake_openai)[:2] == ["high", None]
    assert answer.conductor["without_effect"] == [parameter(endpoint)]


@each_endpoint
def test_a_worker_that_calls_no_model_makes_none(stage: Stage, client: OpenAI, endpoint: str) -> None:
    stage.plays(SimulatedWorker("alpha", answer=lambda _: "So."))
    answer = ask(client, endpoint, "worker:alpha", "high")
    assert answer.conductor["without_effect"] == [parameter(endpoint)]
