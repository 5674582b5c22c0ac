"""Thoughts and signatures of a message while it is streamed: pieces in, the members of the whole message out.

A piece has a part of a text, or whole members. Sources: the streams of OpenRouter (`reasoning_details`),
LiteLLM (`thinking_blocks`), Gemini (`extra_content`) and Mistral (a list as `content`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conductor.values.message_parts.opaque import MAX_OPAQUE, is_opaque, opaque
from conductor.workers.endpoint.reply.content import is_flagged, is_thought
from conductor.workers.keys.mask import Mask

_TEXTS = frozenset(
    ("text", "thinking", "summary", "thought", "reasoning", "reasoning_content", "reasoning_text")
)
"""Names of what comes in pieces; of all other names the last value counts."""


class _TextSoFar(list[str]):
    """The pieces of a text so far: to join each at once would copy the whole text each time."""


class OpaquePieces:
    """The members of one message. `mask` hides keys in their texts."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._members: dict[str, Any] = {}
        self._thinks_in_content = False
        self._room = MAX_OPAQUE

    def take(self, piece: Mapping[str, Any]) -> None:
        """Add the next piece, a delta or a whole message."""
        # Gemini marks thoughts that are the content: the mark is of that piece.
        members = {} if is_flagged(piece) else {n: v for n, v in piece.items() if is_opaque(n, v)}
        content = piece.get("content")
        if isinstance(content, list):
            self._thinks_in_content = self._thinks_in_content or any(map(is_thought, content))
            members["content"] = content
        elif content and isinstance(content, str) and self._thinks_in_content:
            members["content"] = [{"type": "text", "text": content}]
        if self._room >= 0 and members:
            self._room -= _size(members)
            self._members = _joined(self._members, members)

    @property
    def whole(self) -> str | None:
        """The members as JSON text; None without any, and where they are too long."""
        if self._room < 0:
            return None
        members = {name: masked(value, self._mask) for name, value in self._members.items()}
        if not self._thinks_in_content:
            members.pop("content", None)
        return opaque({name: value for name, value in members.items() if value})


def masked(value: Any, mask: Mask) -> Any:
    """The value with the keys in all its texts hidden."""
    match value:
        case str():
            return mask(value)
        case _TextSoFar():
            return mask("".join(value))
        case Mapping():
            return {name: masked(part, mask) for name, part in value.items()}
        case list():
            return [masked(part, mask) for part in value]
        case _:
            return value


def _joined(earlier: Any, piece: Any, *, name: str = "") -> Any:
    """What came before and the next piece of it."""
    match earlier, piece:
        case dict(), dict():
            parts = {key: _joined(earlier.get(key), part, name=key) for key, part in piece.items()}
            return {**earlier, **parts}
        case _TextSoFar(), str():
            earlier.append(piece)
            return earlier
        case str(), str() if name in _TEXTS:
            return _TextSoFar([earlier, piece])
        case list(), list():
            return _joined_lists(earlier, piece)
        case _:
            return earlier if piece is None or piece == "" else piece


def _joined_lists(earlier: list[Any], pieces: list[Any]) -> list[Any]:
    """A part goes on with the last one where both are texts of one kind and place, and none was signed."""
    joined = list(earlier)
    for piece in pieces:
        if joined and _goes_on(joined[-1], piece):
            joined[-1] = _joined(joined[-1], piece)
        else:
            joined.append(piece)
    return joined


def _goes_on(last: object, piece: object) -> bool:
    if not (isinstance(last, dict) and isinstance(piece, dict)) or last.get("signature"):
        return False
    alike = all(last.get(key, piece.get(key)) == piece.get(key, last.get(key)) for key in ("type", "index"))
    return alike and any(name in last for name in _TEXTS) and bool(piece.keys() & {*_TEXTS, "signature"})


def _size(value: object) -> int:
    match value:
        case str():
            return len(value)
        case dict():
            return sum(len(name) + _size(part) for name, part in value.items())
        case list():
            return sum(map(_size, value))
        case _:
            return 1
