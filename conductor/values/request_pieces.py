"""A request in the pieces that a reader sees: its parts, the calls of tools in it, their results. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from conductor.text.formatting import duration, quantity
from conductor.values.message_parts.tool_use import ToolUse, indented
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Part, Request
from conductor.values.provenance import TOOLS, Source, source_of


@dataclass(frozen=True, slots=True)
class RequestPiece:
    """A text of a request and its source. `part` is None for a call of a tool, whose text are its arguments.
    Calls and results have a `title`, which is no part of the request.
    """

    text: str
    source: Source
    part: Part | None = None
    title: str = ""


def request_pieces(request: Request, uses: Sequence[ToolUse] = ()) -> Iterator[RequestPiece]:
    """The request in order; `uses` are those of its step's worker, with the time and end of each."""
    calls = [call for message in request.messages for call in message.tool_calls]
    # Endpoints may give calls of two answers the same id; the worker's own calls are the last ones.
    pairs = zip(reversed(calls), reversed(uses), strict=False)
    own = [use for _, use in takewhile(lambda pair: pair[0] == pair[1].call, pairs)]
    waiting: dict[str, ToolUse | None] = {}
    at = 0
    for message in request.messages:
        result = waiting.get(message.tool_call_id or "") if message.role == "tool" else None
        for part in message.parts:
            title = "Written before it called" if message.tool_calls else ""
            title = _result(result) if message.role == "tool" else title
            yield RequestPiece(part.text, source_of(part, message), part, title)
        for call in message.tool_calls:
            left = len(calls) - at
            use = own[left - 1] if left <= len(own) else None
            waiting[call.id] = use
            at += 1
            yield RequestPiece(indented(call.arguments), TOOLS, title=_call(call, use))


def _call(call: ToolCall, use: ToolUse | None) -> str:
    return f"Calls {call.name if use is None else use.words}"


def _result(use: ToolUse | None) -> str:
    if use is None:
        return "Result of a tool"
    notes = [duration(use.seconds)]
    notes += ["an error"] if use.is_error else []
    notes += [] if use.cut is None else [f"the beginning of {quantity(use.cut, 'character')}"]
    return f"Result of {use.words}, {', '.join(notes)}"
