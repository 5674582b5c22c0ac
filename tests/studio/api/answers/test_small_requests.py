"""A token may send small requests, as agents make for titles, to one worker in the place of a Conductor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from openai import OpenAI

from studio.access.auth import Principal
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text

TOOL: Mapping[str, Any] = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
STEERING = {"conductor": {"max_steps": 1}}


@pytest.mark.parametrize(
    ("name", "more", "answering"),
    [
        ("conductor", {}, "worker:beta"),
        ("conductor-ultra", {}, "worker:beta"),
        ("conductor", {"tools": []}, "worker:beta"),
        ("conductor", {"tools": [TOOL]}, "conductor"),
        ("conductor", {"extra_body": STEERING}, "conductor"),
        ("worker:alpha", {}, "worker:alpha"),
    ],
)
def test_a_question_without_tools_is_the_workers(
    stage: Stage, client: OpenAI, fake_openai: Served, *, name: str, more: Any, answering: str
) -> None:
    workers = model("alpha", fake_openai.base_url), model("beta", fake_openai.base_url)
    conductor = stage.plays(*workers, plans=(plan_text((0, "answer", "[]")),))
    stage.auth.principal = Principal(small_requests="beta")
    messages: Any = [{"role": "user", "content": "A title, please."}]
    answer: Any = client.chat.completions.create(model=name, messages=messages, **more)
    assert answer.model == answering
    assert len(conductor.requests) == (answering == "conductor")


def test_a_response_without_tools_is_the_workers(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(model("alpha", fake_openai.base_url), model("beta", fake_openai.base_url))
    stage.auth.principal = Principal(small_requests="beta")
    response: Any = client.responses.create(model="conductor", input="A title, please.")
    assert (response.model, response.conductor["steps"][0]["worker"]) == ("worker:beta", "beta")
    assert client.responses.retrieve(response.id).model == "worker:beta"
