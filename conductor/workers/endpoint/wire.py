"""The JSON of the protocol: the pieces of a chat completion, errors, and the list of models. Read leniently.

Reads only what is used; knows neither connections nor what an answer is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from conductor.values.messages import Usage, Value
from conductor.workers.keys.mask import Mask

# -- chat completions --------------------------------------------------------------------------------

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""The escape of half a character, which only the standard library reads where its other half is missing."""


class _Wire(BaseModel):
    """Unknown fields are dropped: every server adds some."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Piece(_Wire):
    """A `delta` of a stream, or the `message` of a whole completion."""

    content: str | list[Any] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: Any = None
    function_call: Any = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.get("text") or "" for part in self.content if _is_text(part))
        return self.content or self.refusal or ""

    @property
    def declined(self) -> bool:
        """Whether its text is a refusal, by the field that the protocol has for that."""
        return not self.content and bool(self.refusal)

    @property
    def thought(self) -> str:
        """Text of the reasoning. Servers that send both fields send the same in both."""
        for field in (self.reasoning_content, self.reasoning):
            if isinstance(field, str) and field:
                return field
        return ""


class Choice(_Wire):
    """One of the answers; only the first is requested."""

    index: int = 0
    delta: Piece | None = None
    message: Piece | None = None
    logprobs: Any = None
    finish_reason: str | None = None


class Chunk(_Wire):
    """One event of a stream, or a whole completion."""

    choices: list[Choice] | None = None
    usage: Any = None
    error: Any = None

    @property
    def choice(self) -> Choice | None:
        """The first answer's part, None where the chunk has none."""
        return next((choice for choice in self.choices or () if choice.index == 0), None)

    @property
    def used(self) -> Usage | None:
        """The tokens of the call, None where the chunk has none."""
        if not isinstance(self.usage, dict):
            return None
        return Usage(
            prompt_tokens=_count(self.usage.get("prompt_tokens")),
            completion_tokens=_count(self.usage.get("completion_tokens")),
        )


def read_chunk(data: str) -> Chunk:
    """The chunk this JSON is; its texts may hold lone surrogates. Raises `ValueError` with the fault."""
    try:
        return Chunk.model_validate(_loaded(data)) if _HALF.search(data) else Chunk.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {first['msg']}" if where else first["msg"]) from None


def _loaded(data: str) -> Any:
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise ValueError(f"Invalid JSON: {error}") from None
    except RecursionError:
        raise ValueError("Invalid JSON: recursion limit exceeded") from None


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _count(number: object) -> int | None:
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else None


# -- errors ------------------------------------------------------------------------------------------


def error_message(body: bytes) -> str:
    """The message in an error's body; the whole text where its shape is unknown, "" for an HTML page."""
    text = body.decode("utf-8", errors="replace").strip()
    if text.startswith("<"):
        return ""
    try:
        return message_of(json.loads(text))
    except (ValueError, RecursionError):
        return text


def message_of(error: Any) -> str:
    """The message in the known shapes: OpenAI's, FastAPI's, Google's list, a bare text."""
    match error:
        case str():
            return error
        case [first, *_] if isinstance(first, Mapping) and "msg" in first:
            where = ".".join(map(str, first.get("loc") or ()))
            return f"{where}: {first['msg']}" if where else str(first["msg"])
        case [first, *_]:
            return message_of(first)
        case {"message": str() as message, "param": str() as parameter} if parameter not in message:
            return f"{message} ({parameter})"
        case {"error": inner} | {"message": inner} | {"detail": inner}:
            return message_of(inner)
        case _:
            return ""


# -- the list of models ------------------------------------------------------------------------------


class ServedModel(Value):
    """A model that an endpoint serves; its context is in tokens, None where the list has none."""

    name: str
    owner: str | None = None
    context: int | None = None


class _Entry(_Wire):
    id: str
    owned_by: str | None = None
    context: int | None = Field(
        default=None, validation_alias=AliasChoices("max_model_len", "context_length", "context_window")
    )


class _List(_Wire):
    data: list[_Entry]


_CATALOGUE: TypeAdapter[_List | list[_Entry]] = TypeAdapter(_List | list[_Entry])


def read_catalogue(body: bytes, mask: Mask) -> tuple[ServedModel, ...]:
    """The models of the list; some servers leave its frame out. Raises `ValueError` where it is no list."""
    try:
        listed = _CATALOGUE.validate_json(body)
    except ValidationError:
        raise ValueError("its list of models cannot be read") from None
    entries = listed.data if isinstance(listed, _List) else listed
    return tuple(
        ServedModel(
            name=mask(entry.id),
            owner=None if entry.owned_by is None else mask(entry.owned_by),
            context=entry.context,
        )
        for entry in entries
    )
