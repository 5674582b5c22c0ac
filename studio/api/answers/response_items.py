"""The output of a response: its text as a message, and each call of a tool as an item. Knows OpenAI's shapes.

Items are numbered in the order in which the answer first had a piece of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from conductor.values.message_parts.token_logprobs import TokenLogprob
from studio.api.answers.answered_run import AnsweredRun
from studio.api.answers.run_metadata import Shape
from studio.api.stored.lists import call_item
from studio.api.tool_names import ToolNames

Event = Callable[..., bytes]
"""Makes an event of its type and its fields."""


def output(run: AnsweredRun, names: ToolNames, *, status: str) -> list[Shape]:
    """All items of a whole answer, whose calls are of the client's tools."""
    items = [
        _call(run, names, at, call, status="completed") for at, call in enumerate(run.answer.calls.whole)
    ]
    text_at = run.answer.text_at
    if text_at is not None or not items:
        items.insert(text_at or 0, _message(run, status=status))
    return items


class OutputStream:
    """The events of the output while the answer comes. The input of a custom tool's call comes in one piece,
    at the end: of the object that a worker writes in its place, a part cannot be read in every case.
    """

    def __init__(self, run: AnsweredRun, names: ToolNames, event: Event) -> None:
        self._run = run
        self._names = names
        self._event = event
        self._opened = 0
        self._text: Shape | None = None
        self._calls: list[Shape | None] = []

    def pieces(self, text: str) -> Iterator[bytes]:
        """What is new: pieces of calls, and `text`."""
        calls = self._run.answer.calls.take()
        text_first = self._text is not None or self._run.answer.text_at == self._opened
        if text and text_first:
            yield self._text_piece(text)
        for piece in calls:
            yield self._call_piece(piece)
        if text and not text_first:
            yield self._text_piece(text)

    def end(self, *, status: str) -> Iterator[bytes]:
        """The end of each item, whose answer has ended."""
        if not self._opened:
            yield self._open_text()
        if self._text is not None and (rest := self._token_shapes()):
            yield self._event("response.output_text.delta", **self._place, delta="", logprobs=rest)
        for at, item in enumerate(output(self._run, self._names, status=status)):
            if item["type"] == "custom_tool_call":
                place, whole = {"item_id": item["id"], "output_index": at}, item["input"]
                yield self._event("response.custom_tool_call_input.delta", **place, delta=whole)
                yield self._event("response.custom_tool_call_input.done", **place, input=whole)
            elif item["type"] == "function_call":
                yield self._event(
                    "response.function_call_arguments.done",
                    item_id=item["id"],
                    output_index=at,
                    name=item["name"],
                    arguments=item["arguments"],
                )
            else:
                (part,) = item["content"]
                whole = {"text": part["text"], "logprobs": part["logprobs"]}
                yield self._event("response.output_text.done", **self._place, **whole)
                yield self._event("response.content_part.done", **self._place, part=part)
            yield self._event("response.output_item.done", output_index=at, item=item)

    @property
    def _place(self) -> Shape:
        assert self._text is not None, "opened before its pieces"
        return self._text

    def _text_piece(self, text: str) -> bytes:
        opened = self._open_text() if self._text is None else b""
        return opened + self._event(
            "response.output_text.delta", **self._place, delta=text, logprobs=self._token_shapes()
        )

    def _token_shapes(self) -> list[Shape]:
        return [token.wire for token in self._run.answer.tokens.take()]

    def _open_text(self) -> bytes:
        self._text = {"item_id": _message_id(self._run), "output_index": self._opened, "content_index": 0}
        item = {**_message(self._run, status="in_progress"), "content": []}
        added = self._added(item)
        return added + self._event("response.content_part.added", **self._text, part=_part(""))

    def _call_piece(self, piece: Shape) -> bytes:
        at, function = piece["index"], piece["function"]
        opened = b""
        if at == len(self._calls):
            call = {"id": piece["id"], "function": {"name": function["name"], "arguments": ""}}
            item = _call(self._run, self._names, at, call, status="in_progress")
            place = {"item_id": item["id"], "output_index": self._opened}
            self._calls.append(None if item["type"] == "custom_tool_call" else place)
            opened = self._added(item)
        text, place_of_call = function["arguments"], self._calls[at]
        if not text or place_of_call is None:
            return opened
        return opened + self._event("response.function_call_arguments.delta", **place_of_call, delta=text)

    def _added(self, item: Shape) -> bytes:
        at, self._opened = self._opened, self._opened + 1
        return self._event("response.output_item.added", output_index=at, item=item)


def _message_id(run: AnsweredRun) -> str:
    return f"msg_{run.answer_id}"


def _part(text: str, tokens: Sequence[TokenLogprob] = ()) -> Shape:
    logprobs = [token.wire for token in tokens]
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


def _message(run: AnsweredRun, *, status: str) -> Shape:
    return {
        "type": "message",
        "id": _message_id(run),
        "status": status,
        "role": "assistant",
        "content": [_part(run.answer.given_out, run.answer.tokens.whole)],
    }


def _call(run: AnsweredRun, names: ToolNames, at: int, call: Shape, *, status: str) -> Shape:
    """`call` is a `tool_calls` entry of a chat completion's message, as the worker made it."""
    return call_item(call, names, id=f"{run.answer_id}_{at}", status=status)
