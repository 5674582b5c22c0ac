"""The answer and the thoughts in one piece of a reply, by the fields that servers put them in.

Read leniently; knows no mark in a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

THOUGHT_FIELDS = (
    "reasoning_content",  # DeepSeek, Qwen, xAI, SGLang, llama.cpp
    "reasoning",  # Groq, OpenRouter, Ollama, vLLM
    "reasoning_details",  # MiniMax, OpenRouter
    "thinking",  # Ollama's own API behind a proxy
    "thinking_blocks",  # LiteLLM
    "reasoning_text",  # GitHub Copilot
    "thought",
)
"""Servers that fill several of them send the same in each."""

_INNER = ("text", "content", "thinking", "reasoning", "reasoning_content", "summary", "thought", "value")
_OF_THOUGHTS = ("think", "thought", "reason")


def thought_in(piece: Mapping[str, Any]) -> str:
    """The thoughts of a delta or message; what is encrypted or redacted has no text."""
    own = next(filter(None, (_words(piece.get(field)) for field in THOUGHT_FIELDS)), "")
    return own or _contents(piece, thoughts=True)


def texts_of_thought(piece: Mapping[str, Any]) -> tuple[str, ...]:
    """The members of a delta or message that are the text of a thought."""
    return tuple(name for name in THOUGHT_FIELDS if piece.get(name) and isinstance(piece[name], str))


def answer_text(piece: Mapping[str, Any]) -> str:
    """The text of a delta or message that is no thought; of an object or a number its JSON."""
    content, text = piece.get("content"), _contents(piece, thoughts=False)
    if text or not content or isinstance(content, str | list) or _kind(content, is_flagged(piece)) is True:
        return text
    return json.dumps(content, ensure_ascii=False)


def _contents(piece: Mapping[str, Any], *, thoughts: bool) -> str:
    """The parts of the content that are thoughts, or those that are not."""
    content = piece.get("content")
    parts = content if isinstance(content, list) else [content]
    # Gemini marks the whole of a delta, or one part.
    flagged = is_flagged(piece)
    return "".join(_words(part) for part in parts if _kind(part, flagged) is thoughts)


def _kind(part: object, flagged: bool) -> bool | None:
    """Whether a part of the content is a thought; None if it is neither that nor text."""
    if not isinstance(part, Mapping):
        return flagged
    kind = part.get("type") or "text"
    if flagged or is_flagged(part) or any(word in str(kind) for word in _OF_THOUGHTS):
        return True
    return False if str(kind).endswith("text") else None


def is_thought(part: object) -> bool:
    """Whether a part of a content that is a list is a thought."""
    return isinstance(part, Mapping) and _kind(part, flagged=False) is True


def is_flagged(piece: Mapping[str, Any]) -> bool:
    """Whether a mark, as Gemini has one, makes the content of this piece a thought."""
    extra = piece.get("extra_content")
    google = extra.get("google") if isinstance(extra, Mapping) else None
    return piece.get("thought") is True or (isinstance(google, Mapping) and google.get("thought") is True)


def _words(value: object) -> str:
    """The text in a field: itself, or that of its parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_words, value))
    if isinstance(value, Mapping):
        return next(filter(None, (_words(value.get(name)) for name in _INNER)), "")
    return ""
