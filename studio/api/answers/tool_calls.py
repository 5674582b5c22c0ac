"""The calls of tools of an answer while they come: what of them is given out, in OpenAI's shape.

Knows no HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from conductor.runs.events import StepCallDelta
from conductor.values.message_parts.tools import ToolCall
from studio.api.stored.calls import call_id


@dataclass
class _OpenCall:
    """A call as far as it was given out."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are an object that has ended."""
        # Most pieces end none, and of those that do not nothing is parsed.
        if not self.arguments or not self.arguments[-1].endswith("}"):
            return False
        try:
            json.loads("".join(self.arguments))
        except ValueError:
            return False
        return True


class GivenCalls:
    """The calls that are given out; `verbatim`: with the worker's own ids."""

    def __init__(self, *, verbatim: bool) -> None:
        self._verbatim = verbatim
        self._calls: list[_OpenCall] = []
        self._waiting: list[dict[str, Any]] = []
        self._turn = 0
        self._ended = False

    def __bool__(self) -> bool:
        return bool(self._calls)

    @property
    def count(self) -> int:
        """How many have begun."""
        return len(self._calls)

    def add(self, event: StepCallDelta) -> None:
        """Give out the next piece of a call."""
        if event.index == len(self._calls):
            self._open(event.id or "", event.name or "", run=event.run)
        if event.index < len(self._calls):
            self._write(event.index, event.text)

    def complete(self, calls: Sequence[ToolCall], *, run: str) -> None:
        """Give out the rest of all calls of that run's answer."""
        for at, call in enumerate(calls):
            if at == len(self._calls):
                self._open(call.id, call.name, run=run)
            self._write(at, call.arguments[len("".join(self._calls[at].arguments)) :])
        self._ended = True

    def begin(self, calls: Sequence[ToolCall]) -> bool:
        """Whether what was given out is the beginning of these calls."""
        return len(self._calls) <= len(calls) and all(
            call.name == own.name and call.arguments.startswith("".join(own.arguments))
            for own, call in zip(self._calls, calls, strict=False)
        )

    def take(self) -> list[dict[str, Any]]:
        """The pieces of `tool_calls` since the last time, for the deltas of a stream.

        One call comes after the other, also where a worker mixes their pieces: so do OpenAI's streams, and
        LangChain takes each change to another item of a response for a new call.
        """
        while self._turn + 1 < len(self._calls) and (self._ended or self._calls[self._turn].is_whole):
            self._turn += 1
        pieces = sorted(self._waiting, key=lambda piece: piece["index"])
        self._waiting = [piece for piece in pieces if piece["index"] > self._turn]
        return pieces[: len(pieces) - len(self._waiting)]

    @property
    def whole(self) -> list[dict[str, Any]]:
        """`tool_calls` of a message."""
        return [
            ToolCall(id=call.id, name=call.name, arguments="".join(call.arguments)).wire
            for call in self._calls
        ]

    def _open(self, id: str, name: str, *, run: str) -> None:
        at = len(self._calls)
        call = _OpenCall(id if self._verbatim else call_id(run, at), name)
        self._calls.append(call)
        function = {"name": name, "arguments": ""}
        self._waiting.append({"index": at, "id": call.id, "type": "function", "function": function})

    def _write(self, at: int, text: str) -> None:
        if text:
            self._calls[at].arguments.append(text)
            self._waiting.append({"index": at, "function": {"arguments": text}})
