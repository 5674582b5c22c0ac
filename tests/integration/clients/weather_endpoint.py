"""An endpoint that answers by what a request offers: calls of tools, JSON in the form asked for, or words.

Builds on the fake endpoint of all tests; knows no client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.endpoints.fake_openai import FakeOpenAI
from tests.support.endpoints.fake_openai.faults import Script

WORDS = "It is warm in both."
REPORT = {"city": "Paris", "degrees": 21}
CITIES = ("Paris", "Rome")


class WeatherEndpoint(FakeOpenAI):
    """Calls the offered tool for both cities at once; one with `degrees` it gives a whole report. Results it
    repeats in its answer.
    """

    def _completion(self, body: dict[str, Any], authorization: str | None) -> Script:
        # Not behind what a request before it, which was refused, has left.
        self.texts[:] = [_answer(body)]
        return super()._completion(body, authorization)


def _answer(body: Mapping[str, Any]) -> str | Sequence[Mapping[str, Any]]:
    messages = body["messages"]
    results = [message["content"] for message in messages if message["role"] == "tool"]
    if results:
        return f"The results are {' and '.join(results)}."
    if tools := body.get("tools"):
        return _calls(tools[0]["function"])
    prompt = "\n".join(message["content"] or "" for message in messages)
    if body.get("response_format") is not None or '"degrees"' in prompt:
        return json.dumps(REPORT)
    return WORDS


def _calls(function: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    whole = "degrees" in function["parameters"]["properties"]
    arguments = [REPORT] if whole else [{"city": city} for city in CITIES]
    return [
        {
            "tool_calls": [
                {
                    "index": at,
                    "id": f"call_{at}",
                    "type": "function",
                    "function": {"name": function["name"], "arguments": json.dumps(each)},
                }
            ]
        }
        for at, each in enumerate(arguments)
    ]
