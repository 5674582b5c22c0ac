"""Calls of tools while they are streamed: pieces in, deltas and whole calls out. Read leniently.

Knows how servers write `tool_calls`; knows no connection. What a call contains is the worker's: neither its
name nor its arguments are judged, and arguments need not be JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from conductor.text.json_text import HalfJoiner, joined
from conductor.values.message_parts.tools import MAX_TOOLS, ToolCall
from conductor.values.messages import CallDelta
from conductor.workers.keys.mask import Mask, MaskedStream


class CleanText:
    """One text in pieces: halves of characters are joined, then keys masked."""

    def __init__(self, mask: Mask) -> None:
        self._halves = HalfJoiner()
        self._masked = MaskedStream(mask)

    def feed(self, text: str) -> str:
        return self._masked.feed(self._halves.feed(text))

    def end(self) -> str:
        return self._masked.feed(self._halves.end()) + self._masked.end()


@dataclass
class _Call:
    """A call so far; `waiting` are arguments that came before its name, `sent` is what was yielded."""

    place: int
    arguments: CleanText
    key: object
    id: str = ""
    name: str = ""
    shown: bool = False
    waiting: str = ""
    sent: list[str] = field(default_factory=list)


class CallPieces:
    """The calls of one answer. `mask` hides keys in all that comes of them."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._calls: list[_Call] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, pieces: object) -> tuple[list[CallDelta], int]:
        """The deltas of the next `tool_calls`, and how many characters came. Raises `ValueError`."""
        deltas: list[CallDelta] = []
        characters = 0
        for piece in pieces if isinstance(pieces, list) else [pieces]:
            if not isinstance(piece, Mapping):
                raise ValueError("a call of a tool is no object")
            function = piece.get("function")
            function = function if isinstance(function, Mapping) else {}
            id, name, arguments = _text(piece.get("id")), _text(function.get("name")), _arguments(function)
            call = self._call(piece.get("index"), id=id, name=name)
            call.id = call.id or self._mask(id)
            call.name = call.name or self._mask(name)
            characters += len(id) + len(name) + len(arguments)
            deltas += self._shown(call, call.arguments.feed(arguments))
        return deltas, characters

    def end(self) -> list[CallDelta]:
        """The rest of the arguments. Raises `ValueError` where a call has no name."""
        deltas = [delta for call in self._calls for delta in self._shown(call, call.arguments.end())]
        if any(not call.shown for call in self._calls):
            raise ValueError("a call of a tool has no name")
        return deltas

    @property
    def whole(self) -> tuple[ToolCall, ...]:
        """The calls, once they have ended."""
        return tuple(
            ToolCall(id=call.id, name=call.name, arguments="".join(call.sent)) for call in self._calls
        )

    def _call(self, index: object, *, id: str, name: str) -> _Call:
        """The call that a piece belongs to. Without an index a new id or a name begins one."""
        last = self._calls[-1] if self._calls else None
        if isinstance(index, int):
            found = next((call for call in self._calls if call.key == index), None)
        elif id:
            found = next((call for call in self._calls if call.id == self._mask(id)), None)
        else:
            found = None if name else last
        if found is not None:
            return found
        if len(self._calls) == MAX_TOOLS:
            raise ValueError(f"more than {MAX_TOOLS} calls of tools")
        call = _Call(len(self._calls), CleanText(self._mask), index if isinstance(index, int) else object())
        self._calls.append(call)
        return call

    def _shown(self, call: _Call, text: str) -> Iterator[CallDelta]:
        """What can be given out: nothing before the name is known, then the id and the name first."""
        if not call.name:
            call.waiting += text
            return
        text, call.waiting = call.waiting + text, ""
        call.sent.append(text)
        if not call.shown:
            call.shown = True
            call.id = call.id or f"call_{uuid4().hex[:24]}"
            yield CallDelta(call.place, text, call.id, call.name)
        elif text:
            yield CallDelta(call.place, text)


def _text(value: object) -> str:
    return joined(value) if isinstance(value, str) else ""


def _arguments(function: Mapping[str, Any]) -> str:
    """The arguments' text; some servers send the object itself."""
    arguments = function.get("arguments")
    if isinstance(arguments, str) or arguments is None:
        return arguments or ""
    return json.dumps(arguments)
