"""The JSON of the protocol: the pieces of a chat completion. Read leniently.

Reads only what is used; knows neither connections nor what an answer is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_core import from_json

from conductor.text.bounded_value import json_value
from conductor.workers.endpoint.reply.content import answer_text, thought_in
from conductor.workers.endpoint.reply.error_forms import error_message, is_error

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""The escape of half a character, which only the standard library reads where its other half is missing."""

_FRAMES = ("data", "result", "output", "response")
"""Keys under which some gateways put the completion: Zhipu, Cloudflare, DashScope."""

_UNSAID = ("", "null", "none", "not_finished", "finish_reason_unspecified")
"""Reasons that name none: of Ollama's, one-api's, watsonx' and Gemini's chunks."""

_HEARTBEAT = re.compile(r"\s*\W?(?:ping|pong|keep-?alive|heart-?beat)\W?\s*", re.IGNORECASE)
_BROKEN = re.compile(r"\s*(?:\{|\[(?!\w+\]))")
"""How JSON begins that has an object or a list, unlike `[ERROR] words`."""


class _Wire(BaseModel):
    """Unknown fields are dropped: every server adds some."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, defer_build=True)


class Piece(_Wire):
    """A `delta` of a stream, or the `message` of a whole completion."""

    model_config = ConfigDict(extra="allow")  # what has thoughts: `content` knows its fields

    content: Any = None
    refusal: Any = None
    tool_calls: Any = None
    function_call: Any = None

    @property
    def text(self) -> str:
        refusal = self.refusal if isinstance(self.refusal, str) and not self.content else ""
        return answer_text(self.fields) or refusal

    @property
    def declined(self) -> bool:
        """Whether its text is a refusal, by the field that the protocol has for that."""
        return not self.content and bool(self.refusal)

    @property
    def thought(self) -> str:
        return thought_in(self.fields)

    @property
    def fields(self) -> Mapping[str, Any]:
        """All that may have text or thoughts."""
        return {"content": self.content, **(self.model_extra or {})}


@dataclass(frozen=True)
class Choice:
    """The part of the first answer; only that one is requested.

    `finish` is the reason for its end: None without one, "" for one that has no word. `whole` is whether the
    piece is a whole message.
    """

    piece: Piece | None = None
    whole: bool = False
    logprobs: Any = None
    finish: str | None = None


@dataclass(frozen=True)
class Chunk:
    """One event of a stream, or a whole completion. `places` may hold numbers of tokens; `unread` is what
    has neither an answer nor an error.
    """

    choice: Choice | None = None
    places: tuple[object, ...] = ()
    error: Any = None
    unread: str = ""


def read_chunk(data: str, *, named_error: bool = False) -> Chunk:
    """The chunk this JSON is; its texts may hold lone surrogates. Raises `ValueError` with the fault.

    `named_error`: whether its event is named an error.
    """
    try:
        body = _loaded(data)
    except ValueError:
        # Words in the place of a piece are the server's; JSON that is broken off has no words.
        if _BROKEN.match(data):
            raise
        if _HEARTBEAT.fullmatch(data):
            return Chunk()
        return Chunk(error=error_message(data.encode("utf-8", "replace")) or data)
    if isinstance(body, list):
        objects = [one for one in body if isinstance(one, dict)]
        body = next((one for one in objects if is_error(one, answers=False)), objects[0] if objects else body)
    if named_error or (isinstance(body, str) and body):
        return Chunk(error=body or data)
    if body is None:
        return Chunk()
    if not isinstance(body, dict):
        raise ValueError("Input should be an object")
    outer, body = body, _unframed(body)
    raw = _first(body.get("choices"))
    if raw is None:
        return Chunk(
            places=(outer, body),
            error=outer if is_error(outer, answers=outer is not body or bool(body.get("usage"))) else None,
            unread=data if body else "",
        )
    delta, message = raw.get("delta"), raw.get("message")
    inner = delta or message or {"content": raw.get("text") or raw.get("content")}
    parts = [raw, *(part for part in (delta, message) if isinstance(part, dict))]
    if is_error(outer, answers=True) or any(part.get("error") for part in parts):
        return Chunk(error=next((part for part in parts if part.get("error")), outer))
    finishes = (_finish(part.get(name)) for part in parts for name in ("finish_reason", "finishReason"))
    choice = Choice(
        piece=Piece.model_validate(inner if isinstance(inner, dict) else {"content": inner}),
        whole=not delta and bool(message),
        logprobs=raw.get("logprobs"),
        finish=next((finish for finish in finishes if finish is not None), None),
    )
    return Chunk(choice=choice, places=(raw, delta, outer) if outer is body else (raw, delta, outer, body))


def _loaded(data: str) -> Any:
    try:
        return json_value(data) if _HALF.search(data) else from_json(data)
    except ValueError as error:
        raise ValueError(f"Invalid JSON: {error}") from None


def _unframed(body: dict[str, Any]) -> dict[str, Any]:
    """The completion itself; Ollama's own form as if it were one."""
    if "choices" not in body:
        for frame in _FRAMES:
            if isinstance(inner := body.get(frame), dict) and "choices" in inner:
                return inner
        if isinstance(body.get("message"), dict) and isinstance(body.get("done"), bool):
            reason = (body.get("done_reason") or "stop") if body["done"] else None
            return {"choices": [{"delta": body["message"], "finish_reason": reason}]}
    return body


def _first(choices: object) -> dict[str, Any] | None:
    """The first answer's choice, or None if the chunk has none; PHP writes an object for a list."""
    listed = choices.values() if isinstance(choices, dict) else choices if isinstance(choices, list) else ()
    objects = [choice for choice in listed if isinstance(choice, dict)]
    return next((choice for choice in objects if str(choice.get("index") or 0) in ("0", "0.0")), None)


def _finish(reason: object) -> str | None:
    """The reason as a text: SGLang's own is an object."""
    if isinstance(reason, list):
        reason = reason[0] if reason else None
    if isinstance(reason, dict):
        reason = reason.get("type")
    if reason is None or reason is False:
        return None
    return "" if str(reason).lower() in _UNSAID else str(reason)
