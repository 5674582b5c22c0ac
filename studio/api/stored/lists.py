"""Lists of what is stored, as OpenAI pages them: stored completions, the messages of one, a response's input.

Knows OpenAI's shapes; knows no store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from pydantic import BaseModel

from conductor.values.conversation import Turn
from conductor.values.message_parts.images import in_parts
from studio.access.errors import ApiError
from studio.api.error_answers import unsupported
from studio.api.tool_names import ToolNames, input_of

Shape = dict[str, Any]

MAX_LIMIT = 100
_METADATA = "metadata["


class StoredList(BaseModel):
    """A page of what is stored."""

    object: Literal["list"]
    data: list[dict[str, Any]]
    first_id: str | None
    last_id: str | None
    has_more: bool


class Page(BaseModel):
    """Which part of a list is asked for: at most `limit` behind the one of the id `after`. `model` and
    `metadata` are those of a completion. `ignored` are the parameters that have no effect: they ask for more
    of what no item here has.
    """

    after: str | None = None
    limit: int = 20
    newest_first: bool = False
    model: str | None = None
    metadata: Mapping[str, str] = {}
    ignored: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        parameters: Iterable[tuple[str, str]],
        *,
        newest_first: bool,
        filters: bool = False,
        includes: bool = False,
    ) -> Page:
        """Read it from the address. Raises `ApiError` that names the parameter that cannot be honoured."""
        read: Shape = {"newest_first": newest_first}
        metadata: dict[str, str] = {}
        for name, value in parameters:
            if name == "after" or (name == "model" and filters):
                read[name] = value
            elif name == "limit":
                read[name] = _limit(value)
            elif name == "order":
                read["newest_first"] = _newest_first(value)
            elif filters and name.startswith(_METADATA) and name.endswith("]"):
                metadata[name.removeprefix(_METADATA).removesuffix("]")] = value
            elif includes and name in ("include", "include[]"):
                read["ignored"] = ("include",)
            else:
                raise unsupported(name[:200], "a list takes after, limit and order here.")
        return cls(**read, metadata=metadata)

    def admits(self, completion: Mapping[str, Any]) -> bool:
        """Whether a completion is of the model and has the metadata."""
        own = completion.get("metadata") or {}
        return self.model in (None, completion["model"]) and self.metadata.items() <= own.items()

    def behind(self, items: Sequence[Shape]) -> list[Shape]:
        """The items, which are the oldest first, in their order behind `after`. Raises `ApiError`."""
        ordered = list(reversed(items)) if self.newest_first else list(items)
        if self.after is None:
            return ordered
        places = [at for at, item in enumerate(ordered) if item["id"] == self.after]
        if not places:
            message = f"The list has no {self.after[:200]!r}; begin without 'after'."
            raise ApiError(message, param="after", code="invalid_value")
        return ordered[places[0] + 1 :]

    def list(self, items: Iterable[Shape]) -> Shape:
        """The page of these items, which stand behind `after`."""
        rows = list(islice(items, self.limit + 1))
        data = rows[: self.limit]
        ids = [item["id"] for item in data]
        return {
            "object": "list",
            "data": data,
            "first_id": ids[0] if ids else None,
            "last_id": ids[-1] if ids else None,
            "has_more": len(rows) > self.limit,
        }


def _limit(value: str) -> int:
    if not (value.isascii() and value.isdecimal() and 1 <= int(value[:9]) <= MAX_LIMIT):
        message = f"Invalid value for 'limit': give a number from 1 to {MAX_LIMIT}."
        raise ApiError(message, param="limit", code="invalid_value")
    return int(value)


def _newest_first(value: str) -> bool:
    if value not in ("asc", "desc"):
        raise ApiError("Invalid value for 'order': give asc or desc.", param="order", code="invalid_value")
    return value == "desc"


# -- items and messages ------------------------------------------------------------------------------


def call_item(call: Shape, names: ToolNames, *, id: str, status: str = "completed") -> Shape:
    """A call as an item of a response; `call` is an entry of `tool_calls`, as its worker made it."""
    function = call["function"]
    tool = names.tool(function["name"])
    beside = {name: part for name, part in call.items() if name not in ("id", "type", "function")}
    own = {**beside, "call_id": call["id"], **tool.named}
    if tool.custom:
        text = input_of(function["arguments"])
        return {"type": "custom_tool_call", "id": f"ctc_{id}", **own, "input": text, "status": status}
    arguments = function["arguments"]
    return {"type": "function_call", "id": f"fc_{id}", **own, "arguments": arguments, "status": status}


def chat_message(turn: Turn, *, id: str) -> Shape:
    """A message of a stored completion."""
    calls = {"tool_calls": [call.wire for call in turn.tool_calls]} if turn.tool_calls else {}
    result = {} if turn.tool_call_id is None else {"tool_call_id": turn.tool_call_id}
    named = {} if turn.name is None else {"name": turn.name}
    parts = [
        {"type": "text", "text": piece} if isinstance(piece, str) else piece.wire
        for piece in in_parts(turn.text, turn.images)
    ]
    parts += [{"type": "file", "file": {"filename": file.name}} for file in turn.files]
    content_parts = parts if turn.images or turn.files else None
    message = {"id": id, "role": turn.role, "content": turn.text, "content_parts": content_parts}
    return {**message, **calls, **result, **named}


def input_items(turn: Turn, names: ToolNames, *, id: str) -> list[Shape]:
    """A message as items of a response's input: its text, and each of its calls of the client's tools."""
    if turn.role == "tool":
        result = {"type": "function_call_output", "call_id": turn.tool_call_id, "output": turn.text}
        return [{**result, "id": f"fco_{id}", "status": "completed"}]
    calls = [call_item(call.wire, names, id=f"{id}_{at}") for at, call in enumerate(turn.tool_calls)]
    if not (turn.text or turn.images or turn.files):
        return calls
    kind = {"type": "output_text", "annotations": []} if turn.role == "assistant" else {"type": "input_text"}
    content = [
        {**kind, "text": piece}
        if isinstance(piece, str)
        else {"type": "input_image", "image_url": piece.url, "detail": piece.detail or "auto"}
        for piece in in_parts(turn.text, turn.images)
    ]
    content += [{"type": "input_file", "filename": file.name} for file in turn.files]
    message = {"type": "message", "id": f"msg_{id}", "status": "completed", "role": turn.role}
    return [{**message, "content": content}, *calls]
