"""Items of a response's input that no model here has written: what of them a worker must see.

A call with its result becomes the call of a function, which every worker reads. Other items, such as a search
that another server made, have no meaning here and are left out. Knows no store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from conductor.values.conversation import Turn
from conductor.values.message_parts.tools import ToolCall
from studio.api.requests.request import LeftOut

_RESULT = "_output"
_RESULTS = ("output", "outputs", "results", "error")
"""Where an item has the result of its own call."""

_PICTURES = frozenset({"computer_call", "computer_call_output", "image_generation_call"})
_BESIDE = frozenset(
    {"id", "call_id", "name", "status", "caller", "environment", "max_output_length", "agent", *_RESULTS}
)
_NO_LETTER = re.compile(r"[^a-zA-Z0-9_-]")


class OtherItem(LeftOut):
    """A call that is none of a function, its result, or anything else of another type."""

    @property
    def ids(self) -> list[str]:
        """What a result and its call have in common; a call of the local shell has it as its `id`."""
        ids = (self.fields.get("call_id"), self.fields.get("id"))
        return [each for each in ids if each and isinstance(each, str)]

    @property
    def is_result(self) -> bool:
        return self.type.endswith(_RESULT)

    @property
    def fields(self) -> Mapping[str, Any]:
        """What its type has."""
        return self.model_extra or {}

    @property
    def has_result(self) -> bool:
        """Whether it is a call that has its result in itself."""
        return any(self.fields.get(name) for name in _RESULTS)


class OtherItems:
    """The other items among those of one input, by their positions."""

    def __init__(self, items: Sequence[object]) -> None:
        self._items = {
            at: item
            for at, item in enumerate(items)
            if isinstance(item, OtherItem) and item.type not in _PICTURES
        }
        self._calls: dict[int, int] = {}
        """The position of the call of each result."""
        waiting: dict[str, int] = {}
        for at, item in self._items.items():
            if not item.is_result:
                waiting.update(dict.fromkeys(item.ids, at))
            elif positions := {waiting[id] for id in item.ids if id in waiting}:
                self._calls[at] = call_at = positions.pop()
                for id in self._items[call_at].ids:
                    waiting.pop(id, None)
        self._called = frozenset(self._calls.values())

    def turns(self, at: int) -> list[Turn]:
        """What the item at that position is in the conversation; nothing where it is left out."""
        item = self._items.get(at)
        if item is None:
            return []
        if at in self._called:
            return [_call_turn(item, at)]
        if at in self._calls:
            call_at = self._calls[at]
            return [_result_turn(item, _id(self._items[call_at], call_at))]
        if item.is_result:
            # Its call is not there, and a worker takes no result without one.
            return [Turn(role="user", text=f"{_name(item)}:\n{_text(item)}")]
        if item.has_result:
            return [_call_turn(item, at), _result_turn(item, _id(item, at))]
        return []


def _id(item: OtherItem, at: int) -> str:
    return next(iter(item.ids), f"item_{at}")


def _result_turn(item: OtherItem, id: str) -> Turn:
    return Turn(role="tool", text=_text(item), tool_call_id=id)


def _call_turn(item: OtherItem, at: int) -> Turn:
    own = item.fields.get("arguments")
    rest = {name: value for name, value in item.fields.items() if name not in _BESIDE and value is not None}
    arguments = own if isinstance(own, str) else json.dumps(rest, ensure_ascii=False)
    call = ToolCall(id=_id(item, at), name=_name(item), arguments=arguments)
    return Turn(role="assistant", text="", tool_calls=(call,))


def _name(item: OtherItem) -> str:
    name = item.fields.get("name")
    own = name if isinstance(name, str) and name else item.type.removesuffix("_call")
    return _NO_LETTER.sub("_", own)[:64]


def _text(item: OtherItem) -> str:
    """A result as a text: its output as it is, or as JSON; its status where it has nothing else."""
    fields = item.fields
    value = next((fields[name] for name in (*_RESULTS, "result", "status") if fields.get(name)), "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
