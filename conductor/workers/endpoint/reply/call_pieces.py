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

from conductor.text.json_text import HalfJoiner, portable
from conductor.values.message_parts.opaque import opaque
from conductor.values.message_parts.tools import MAX_TOOLS, ToolCall, call_extra
from conductor.values.messages import CallDelta
from conductor.workers.endpoint.reply.opaque_pieces import masked
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
class _ToolCall:
    """A call so far; `waiting` are arguments that came before its name, `sent` is what was yielded, `raw`
    what came: `length` characters, the last one `last`. `extra` are its other members.
    """

    place: int
    arguments: CleanText
    key: object
    id: str = ""
    name: str = ""
    is_open: bool = False
    waiting: str = ""
    sent: list[str] = field(default_factory=list)
    last: str = ""
    length: int = 0
    raw: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def repeated(self, arguments: str) -> bool:
        """Whether these are all of its arguments once more, as in the summary that ends some streams."""
        if not arguments.startswith("{") or len(arguments) != self.length or self.last != "}":
            return False
        return "".join(self.raw) == arguments


class CallPieces:
    """The calls of one answer, of tools of these `names`. `mask` hides keys in all that comes of them."""

    def __init__(self, mask: Mask, names: frozenset[str]) -> None:
        self._mask = mask
        self._names = names
        self._calls: list[_ToolCall] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, pieces: object) -> tuple[list[CallDelta], int]:
        """The deltas of the next `tool_calls`, and how many characters came. Raises `ValueError`."""
        deltas: list[CallDelta] = []
        characters = 0
        for piece in pieces if isinstance(pieces, list) else [pieces]:
            if not piece:
                continue
            if not isinstance(piece, Mapping):
                raise ValueError("a call of a tool is no object")
            function = piece.get("function", piece)
            function = function if isinstance(function, Mapping) else {}
            id, name, arguments = _text(piece.get("id")), _text(function.get("name")), _arguments(function)
            name = "" if name == "null" else name
            call = self._call(piece.get("index"), id=id, name=name, arguments=arguments)
            call.id = call.id or self._mask(id)
            if not call.is_open and self._mask(name) != call.name:
                call.name += self._mask(name)
            call.extra |= masked(call_extra(piece), self._mask)
            characters += len(id) + len(name) + len(arguments)
            if call.repeated(arguments):
                continue
            call.last = (call.last + arguments).rstrip()[-1:]
            call.length += len(arguments)
            call.raw.append(arguments)
            deltas += self._deltas(call, call.arguments.feed(arguments))
        return deltas, characters

    def end(self) -> list[CallDelta]:
        """The rest of the arguments. Raises `ValueError` where a call has no name."""
        self._calls = [call for call in self._calls if call.name or call.id or call.length]
        deltas = [
            delta for call in self._calls for delta in self._deltas(call, call.arguments.end(), ended=True)
        ]
        if any(not call.is_open for call in self._calls):
            raise ValueError("a call of a tool has no name")
        return deltas

    @property
    def whole(self) -> tuple[ToolCall, ...]:
        """The calls, once they have ended."""
        return tuple(
            ToolCall(id=call.id, name=call.name, arguments="".join(call.sent), extra=opaque(call.extra))
            for call in self._calls
        )

    def _call(self, index: object, *, id: str, name: str, arguments: str) -> _ToolCall:
        """The call that a piece belongs to. Without an index a new id or a name begins one."""
        last = self._calls[-1] if self._calls else None
        index = int(index) if isinstance(index, str) and index.isdecimal() else index
        if isinstance(index, int):
            earlier = next((call for call in reversed(self._calls) if call.key == index), None)
            if earlier is not None and self._begins(earlier, id=id, name=name, arguments=arguments):
                earlier = None
        elif id:
            earlier = next((call for call in self._calls if call.id == self._mask(id)), None)
        else:
            earlier = None if name else last
        if earlier is not None:
            return earlier
        if len(self._calls) == MAX_TOOLS:
            raise ValueError(f"more than {MAX_TOOLS} calls of tools")
        key = index if isinstance(index, int) else object()
        call = _ToolCall(len(self._calls), CleanText(self._mask), key)
        self._calls.append(call)
        return call

    def _begins(self, call: _ToolCall, *, id: str, name: str, arguments: str) -> bool:
        """Whether a piece with the index of this call begins another: gateways of Gemini number all as 0.

        A call whose arguments are not whole goes on, whatever id its pieces have.
        """
        if not name or not call.name or call.last not in ("", "}"):
            return False
        if id:
            return bool(call.id) and call.id != self._mask(id)
        differs = self._mask(name) != call.name
        return call.last == "}" and (differs or arguments.startswith("{")) and not call.repeated(arguments)

    def _deltas(self, call: _ToolCall, text: str, *, ended: bool = False) -> Iterator[CallDelta]:
        """What can be given out: nothing before the name is whole, then the id and the name first."""
        if not call.name or not (call.is_open or ended or call.length or call.name in self._names):
            call.waiting += text
            return
        text, call.waiting = call.waiting + text, ""
        call.sent.append(text)
        if not call.is_open:
            call.is_open = True
            call.id = call.id or f"call_{uuid4().hex[:24]}"
            yield CallDelta(call.place, text, call.id, call.name, opaque(call.extra))
        elif text:
            yield CallDelta(call.place, text)


def _text(value: object) -> str:
    return portable(value) if isinstance(value, str) else ""


def _arguments(function: Mapping[str, Any]) -> str:
    """The arguments' text; some servers send the object itself."""
    arguments = next((function[key] for key in ("arguments", "parameters", "input") if key in function), None)
    if isinstance(arguments, str) or arguments is None:
        return arguments or ""
    return json.dumps(arguments)
