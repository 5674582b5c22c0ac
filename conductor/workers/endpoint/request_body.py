"""The body of a chat completion request, with the parameters that an endpoint accepts.

Endpoints differ in a few parameters. What one has refused is remembered and not sent to it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conductor.text.json_text import joined
from conductor.values.messages import Message, Sampling
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.failures import EndpointFailure

_USAGE = {"stream_options": {"include_usage": True}}


class RequestBody:
    """Builds the bodies for one endpoint, and remembers which parameters it refuses."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._asks_usage = True
        self._limit = "max_tokens"

    def of(
        self, messages: Sequence[Message], *, sampling: Sampling, extra: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The request's JSON; `extra` goes before the endpoint's own."""
        named = {
            "temperature": sampling.temperature,
            self._limit: sampling.max_tokens,
            "reasoning_effort": self._endpoint.reasoning_effort,
        }
        return {
            "model": self._endpoint.model,
            "messages": [{"role": message.role, "content": joined(message.content)} for message in messages],
            "stream": True,
            **(_USAGE if self._asks_usage else {}),
            **{name: value for name, value in named.items() if value is not None},
            **self._endpoint.extra,
            **extra,
        }

    def learn(self, failure: EndpointFailure, body: Mapping[str, Any]) -> str | None:
        """Adapts to this refusal of `body`; the change in words, None where nothing changes."""
        if "stream_options" in body and (
            failure.refuses("stream_options") or failure.refuses("include_usage")
        ):
            self._asks_usage = False
            return "asked again without stream_options, so its tokens stay unknown"
        if "max_tokens" in body and failure.refuses("max_completion_tokens"):
            self._limit = "max_completion_tokens"
            return "asked again with max_completion_tokens"
        return None
