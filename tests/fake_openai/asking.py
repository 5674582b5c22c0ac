"""Chat completions asked for with nothing but httpx, and read back the plain way."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Heard:
    """A stream as it arrived: its events' objects, whether it ended with [DONE], and its content type."""

    events: list[dict[str, Any]]
    done: bool
    content_type: str

    def joined(self, field: str = "content") -> str:
        return "".join(delta.get(field) or "" for delta in self.deltas)

    @property
    def deltas(self) -> list[dict[str, Any]]:
        return [choice["delta"] for event in self.events for choice in event.get("choices", ())]

    @property
    def finish_reason(self) -> str | None:
        reasons = [choice["finish_reason"] for event in self.events for choice in event.get("choices", ())]
        return reasons[-1] if reasons else None

    @property
    def usage(self) -> dict[str, Any] | None:
        return self.events[-1].get("usage")


@dataclass(frozen=True)
class Asking:
    """Sends requests with one user message; what is given beside goes into the body."""

    client: httpx.Client

    def body(self, text: str = "What is 2+2?", *, model: str = "simulated", **body: Any) -> dict[str, Any]:
        return {"model": model, "messages": [{"role": "user", "content": text}], **body}

    def post(self, text: str = "What is 2+2?", **body: Any) -> httpx.Response:
        return self.client.post("chat/completions", json=self.body(text, **body))

    def said(self, text: str = "What is 2+2?", **body: Any) -> str:
        response = self.post(text, **body)
        assert response.status_code == 200, response.text
        content: str = response.json()["choices"][0]["message"]["content"]
        return content

    def stream(self, text: str = "What is 2+2?", **body: Any) -> Heard:
        """A stream to its end. Whatever httpx raises is raised; broken events raise ValueError."""
        response = self.post(text, stream=True, **body)
        assert response.status_code == 200, response.text
        return heard(response.text, response.headers["content-type"])


def heard(text: str, content_type: str = "text/event-stream") -> Heard:
    """Server-sent events as the standard has them: data lines of one event are joined by line breaks."""
    events = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if lines:
            events.append("\n".join(lines))
    objects = [json.loads(data) for data in events if data != "[DONE]"]
    return Heard(objects, done=events[-1:] == ["[DONE]"], content_type=content_type)
