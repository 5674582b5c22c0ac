"""The output of a response: its thoughts, its text and each call of a tool as items. Knows OpenAI's shapes.

Items are numbered in the order in which the answer first had a piece of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from conductor.values.message_parts.token_logprobs import TokenLogprob
from studio.api.answers.answer import Piece
from studio.api.answers.followed_run import AnsweredRun
from studio.api.answers.run_metadata import Shape
from studio.api.stored.lists import call_item
from studio.api.tool_names import ToolNames

Event = Callable[..., bytes]
"""Makes an event of its type and its fields."""


def output(run: AnsweredRun, names: ToolNames, *, status: str, sealed: bool = False) -> list[Shape]:
    """All items of a whole answer, whose calls are of the client's tools; thoughts `sealed`, too, where the
    client wants to send them back.
    """
    items = [_item(run, names, piece, status=status, sealed=sealed) for piece in _pieces(run, sealed=sealed)]
    return (
        items
        if any(item["type"] != "reasoning" for item in items)
        else [*items, _message(run, status=status)]
    )


def _pieces(run: AnsweredRun, *, sealed: bool) -> list[Piece]:
    """What has an item: thoughts that are nothing but sealed have one where that is asked for."""
    answer = run.answer
    thinks = bool(answer.thoughts) or (sealed and answer.thoughts.sealed is not None)
    return [piece for piece in answer.order if piece != "thoughts" or thinks]


def _item(run: AnsweredRun, names: ToolNames, piece: Piece, *, status: str, sealed: bool) -> Shape:
    match piece:
        case "thoughts":
            return _reasoning(run, sealed=sealed)
        case "text":
            return _message(run, status=status)
        case _:
            return _call(run, names, piece, run.answer.calls.whole[piece], status="completed")


class OutputStream:
    """The events of the output while the answer comes; `sealed` as for `output`. The input of a custom tool's
    call comes in one piece, at the end: of the object that a worker writes in its place, a part cannot be
    read in every case.
    """

    def __init__(self, run: AnsweredRun, names: ToolNames, event: Event, *, sealed: bool = False) -> None:
        self._run = run
        self._names = names
        self._event = event
        self._sealed = sealed
        self._places: dict[Piece, Shape] = {}
        self._custom: set[Piece] = set()

    def pieces(self, text: str) -> Iterator[bytes]:
        """What is new: pieces of thoughts and of calls, and `text`."""
        thoughts = self._run.answer.thoughts.take().get("reasoning_content", "")
        calls = self._run.answer.calls.take()
        places = {call["index"] for call in calls} | {"thoughts", "text"}
        for piece in _pieces(self._run, sealed=self._sealed):
            if piece not in places:
                continue
            opened = b"" if piece in self._places else self._open(piece)
            match piece:
                case "thoughts":
                    yield opened + self._delta(piece, "reasoning_text", thoughts)
                case "text":
                    logprobs = {"logprobs": self._token_shapes()} if text else {}
                    yield opened + self._delta(piece, "output_text", text, **logprobs)
                case _:
                    own = (call.get("function", {}) for call in calls if call["index"] == piece)
                    arguments = (function.get("arguments", "") for function in own)
                    deltas = (
                        self._delta(piece, "function_call_arguments", each)
                        for each in arguments
                        if piece not in self._custom
                    )
                    yield b"".join([opened, *deltas])

    def end(self, *, status: str) -> Iterator[bytes]:
        """The end of each item, whose answer has ended."""
        if not self._places.keys() - {"thoughts"}:
            yield self._open("text")
        if "text" in self._places and (rest := self._token_shapes()):
            yield self._event("response.output_text.delta", **self._places["text"], delta="", logprobs=rest)
        for at, item in enumerate(output(self._run, self._names, status=status, sealed=self._sealed)):
            place = {"item_id": item["id"], "output_index": at}
            if item["type"] == "custom_tool_call":
                whole = item["input"]
                yield self._event("response.custom_tool_call_input.delta", **place, delta=whole)
                yield self._event("response.custom_tool_call_input.done", **place, input=whole)
            elif item["type"] == "function_call":
                yield self._event(
                    "response.function_call_arguments.done",
                    **place,
                    name=item["name"],
                    arguments=item["arguments"],
                )
            for part in item.get("content", ()):
                place["content_index"] = 0
                whole = {name: part[name] for name in ("text", "logprobs") if name in part}
                yield self._event(f"response.{part['type']}.done", **place, **whole)
                yield self._event("response.content_part.done", **place, part=part)
            yield self._event("response.output_item.done", output_index=at, item=item)

    def _delta(self, piece: Piece, kind: str, text: str, **more: Any) -> bytes:
        return (
            self._event(f"response.{kind}.delta", **self._places[piece], delta=text, **more) if text else b""
        )

    def _token_shapes(self) -> list[Shape]:
        return [token.wire for token in self._run.answer.tokens.take()]

    def _open(self, piece: Piece) -> bytes:
        at, part = len(self._places), None
        match piece:
            case "thoughts":
                item, part = {**_reasoning(self._run, sealed=False), "content": []}, _thought("")
            case "text":
                item, part = {**_message(self._run, status="in_progress"), "content": []}, _part("")
            case _:
                call = self._run.answer.calls.whole[piece]
                call["function"]["arguments"] = ""
                item = _call(self._run, self._names, piece, call, status="in_progress")
                if item["type"] == "custom_tool_call":
                    self._custom.add(piece)
        self._places[piece] = place = {"item_id": item["id"], "output_index": at}
        added = self._event("response.output_item.added", output_index=at, item=item)
        if part is None or (piece == "thoughts" and not self._run.answer.thoughts):
            return added
        place["content_index"] = 0
        return added + self._event("response.content_part.added", **place, part=part)


def _part(text: str, tokens: Sequence[TokenLogprob] = ()) -> Shape:
    logprobs = [token.wire for token in tokens]
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


def _message(run: AnsweredRun, *, status: str) -> Shape:
    return {
        "type": "message",
        "id": f"msg_{run.answer_id}",
        "status": status,
        "role": "assistant",
        "content": [_part(run.answer.sent_text, run.answer.tokens.whole)],
    }


def _thought(text: str) -> Shape:
    return {"type": "reasoning_text", "text": text}


def _reasoning(run: AnsweredRun, *, sealed: bool) -> Shape:
    """The thoughts, in words that came with them; none are summed up."""
    thoughts = run.answer.thoughts
    item: Shape = {
        "type": "reasoning",
        "id": f"rs_{run.answer_id}",
        "summary": [],
        "content": [_thought(thoughts.text)] if thoughts else [],
    }
    if sealed:
        item["encrypted_content"] = None if thoughts.sealed is None else thoughts.sealed.text
    return item


def _call(run: AnsweredRun, names: ToolNames, at: int, call: Shape, *, status: str) -> Shape:
    """`call` is a `tool_calls` entry of a chat completion's message, as the worker made it."""
    return call_item(call, names, id=f"{run.answer_id}_{at}", status=status)
