"""The two forms of batch endpoints, as requests and documents: OpenAI's files and batches, and Anthropic's.

Sources: OpenAI's reference of `/v1/files` and `/v1/batches`, and Anthropic's of `/v1/messages/batches`. Knows
JSON; knows neither connections nor which calls there are. The body of a request is OpenAI's chat completion
throughout, and so is every answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from conductor.errors import WorkerError
from conductor.workers.endpoint.config import Endpoint

Body = Mapping[str, Any]

ANTHROPIC_HOSTS = frozenset({"api.anthropic.com"})
"""Hosts whose batches have Anthropic's form; those of all others have OpenAI's."""

_ID = re.compile(r"[\w-]{1,128}", re.ASCII)
"""Of a batch or a file: it becomes a part of an address."""


class Send(Protocol):
    """Sends one request to an endpoint's path; `json` is its body, `file` one that is uploaded."""

    async def __call__(
        self, method: str, path: str, *, json: object = None, file: bytes | None = None
    ) -> bytes: ...


@dataclass(frozen=True)
class Line:
    """What a batch has for one request: a chat completion, or the `status` and `error` in its place, both
    None if the batch ended before the request was answered.
    """

    completion: Body | None = None
    status: int | None = None
    error: object = None


def form_of(endpoint: Endpoint) -> BatchForm:
    """The form that an endpoint's batches have."""
    return AnthropicForm() if endpoint.host in ANTHROPIC_HOSTS else OpenAIForm()


class OpenAIForm:
    """`/v1/files` and `/v1/batches`, which others have, too.

    Each form raises `ValueError` for a document that is none of its own.
    """

    def headers(self, key: str | None) -> Mapping[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    async def submit(self, send: Send, requests: Mapping[str, Body]) -> str:
        """Begin a batch of these requests by their ids; its own id."""
        url = "/v1/chat/completions"
        lines = (
            json.dumps({"custom_id": id, "method": "POST", "url": url, "body": body})
            for id, body in requests.items()
        )
        file = _id_of(_document(await send("POST", "files", file="\n".join(lines).encode())))
        form = {"input_file_id": file, "endpoint": url, "completion_window": "24h"}
        return _id_of(_document(await send("POST", "batches", json=form)))

    async def lines(self, send: Send, batch: str) -> Mapping[str, Line] | None:
        """What a batch that has ended has for its requests; None while it goes on. Raises `WorkerError` for
        a batch that was refused as a whole.
        """
        answer = _document(await send("GET", f"batches/{batch}"))
        if answer.get("status") == "failed":
            faults = (answer.get("errors") or {}).get("data") or []
            raise WorkerError(f"the batch {batch} was refused: {json.dumps(faults)[:300]}")
        if answer.get("status") not in ("completed", "expired", "cancelled"):
            return None
        lines: dict[str, Line] = {}
        for file in (answer.get("output_file_id"), answer.get("error_file_id")):
            if file is not None:
                content = await send("GET", f"files/{_checked(file)}/content")
                lines |= {line["custom_id"]: _openai_line(line) for line in _json_lines(content)}
        return lines


def _openai_line(line: Body) -> Line:
    response = line.get("response") or {}
    status, body = response.get("status_code"), response.get("body")
    if status == 200 and isinstance(body, dict):
        return Line(completion=body)
    error = line.get("error") or body
    if isinstance(error, dict) and error.get("code") in ("batch_expired", "batch_cancelled"):
        return Line()
    return Line(status=status if isinstance(status, int) else 500, error=error)


class AnthropicForm:
    """`/v1/messages/batches`."""

    def headers(self, key: str | None) -> Mapping[str, str]:
        return {"anthropic-version": "2023-06-01", **({} if key is None else {"x-api-key": key})}

    async def submit(self, send: Send, requests: Mapping[str, Body]) -> str:
        form = [{"custom_id": id, "params": _messages_body(body)} for id, body in requests.items()]
        return _id_of(_document(await send("POST", "messages/batches", json={"requests": form})))

    async def lines(self, send: Send, batch: str) -> Mapping[str, Line] | None:
        answer = _document(await send("GET", f"messages/batches/{batch}"))
        if answer.get("processing_status") != "ended":
            return None
        # Not its own `results_url`: a key goes to no address that a server names.
        content = await send("GET", f"messages/batches/{batch}/results")
        return {line["custom_id"]: _anthropic_line(line["result"]) for line in _json_lines(content)}


BatchForm = OpenAIForm | AnthropicForm

_SAME = ("model", "temperature", "top_p", "top_k", "thinking", "metadata")
_RENAMED = {"max_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "stop": "stop_sequences"}


def _messages_body(body: Body) -> Body:
    """A chat completion's body as one of Anthropic's. Raises `WorkerError` for what has no place there."""
    form: dict[str, Any] = {name: body[name] for name in _SAME if name in body}
    form |= {name: body[own] for own, name in _RENAMED.items() if own in body}
    without = [name for name in body if name not in (*_SAME, *_RENAMED, "messages")]
    messages: Sequence[Body] = body["messages"]
    if any(not isinstance(message["content"], str) for message in messages):
        without.append("images")
    if without:
        raise WorkerError(f"Anthropic's batches do not take {', '.join(without)}; leave --batch out")
    if "max_tokens" not in form:
        raise WorkerError("Anthropic's batches need max_tokens; write it into the pool file")
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    turns = [
        {"role": message["role"], "content": message["content"]}
        for message in messages
        if message["role"] != "system"
    ]
    return {**form, "messages": turns, **({"system": system} if system else {})}


def _anthropic_line(result: Body) -> Line:
    if result["type"] == "succeeded":
        return Line(completion=_completion(result["message"]))
    if result["type"] in ("expired", "canceled"):
        return Line()
    error = result.get("error") or {}
    inner = error.get("error", error)
    invalid = isinstance(inner, dict) and inner.get("type") == "invalid_request_error"
    return Line(status=400 if invalid else 500, error=inner)


def _completion(message: Body) -> Body:
    """A message as a chat completion, with its usage as it is."""
    blocks: Sequence[Body] = message.get("content") or []
    text = "".join(block.get("text") or "" for block in blocks if block.get("type") == "text")
    thought = "".join(block.get("thinking") or "" for block in blocks if block.get("type") == "thinking")
    reason = "content_filter" if message.get("stop_reason") == "refusal" else message.get("stop_reason")
    return {
        "id": message.get("id"),
        "choices": [
            {"message": {"content": text, "reasoning_content": thought}, "finish_reason": reason or "stop"}
        ],
        "usage": message.get("usage"),
    }


def _document(content: bytes) -> dict[str, Any]:
    answer = json.loads(content)
    if not isinstance(answer, dict):
        raise ValueError("a batch that is no JSON object")
    return answer


def _json_lines(content: bytes) -> Iterator[dict[str, Any]]:
    for line in content.splitlines():
        if line.strip():
            answer = _document(line)
            if not isinstance(answer.get("custom_id"), str):
                raise ValueError("a line of a batch without its custom_id")
            yield answer


def _id_of(document: Body) -> str:
    return _checked(document.get("id"))


def _checked(id: object) -> str:
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise ValueError("a batch without an id")
    return id
