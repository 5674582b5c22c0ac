"""The pieces of a chat completion as they come over the wire: only what is used of them, read leniently.

Knows the JSON; neither connections nor what an answer is.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from conductor.messages import Usage


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
        """Words of the answer; a refusal is one too."""
        if isinstance(self.content, list):
            return "".join(part.get("text") or "" for part in self.content if _is_text(part))
        return self.content or self.refusal or ""

    @property
    def thought(self) -> str:
        """Words of the reasoning. Servers that send both fields send the same in both."""
        for field in (self.reasoning_content, self.reasoning):
            if isinstance(field, str) and field:
                return field
        return ""


class Choice(_Wire):
    """One of the answers; only the first is asked for."""

    index: int = 0
    delta: Piece | None = None
    message: Piece | None = None
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
        """The tokens of the call, None where the chunk says nothing of them."""
        if not isinstance(self.usage, dict):
            return None
        return Usage(
            prompt_tokens=_count(self.usage.get("prompt_tokens")),
            completion_tokens=_count(self.usage.get("completion_tokens")),
        )


def read_chunk(data: str | bytes) -> Chunk:
    """The chunk this JSON is. Raises `ValueError` saying in a few words what is wrong."""
    try:
        return Chunk.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {first['msg']}" if where else first["msg"]) from None


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _count(number: object) -> int | None:
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else None
