"""Results of calls in runs before, which answer the same calls again without one. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from conductor.text.bounded_value import json_object
from conductor.values.message_parts.tool_use import ToolRequest, ToolUse
from conductor.workers.tools.permissions import without_call

Key = tuple[str, str, str]
"""A server, its tool, and the arguments with their names in order."""


@dataclass(frozen=True)
class RecordedResults:
    """`only`: no call is made that is not among them."""

    uses: Mapping[Key, ToolUse]
    only: bool

    @classmethod
    def of(cls, uses: Iterable[ToolUse], *, only: bool) -> Self:
        """The first of equal calls counts; what a person refused or answered is no result of a tool."""
        by_key: dict[Key, ToolUse] = {}
        for use in uses:
            if use.server and use.source in ("server", "record"):
                by_key.setdefault(_key(use), use)
        return cls(by_key, only)

    def use(self, request: ToolRequest) -> ToolUse | None:
        """The recorded use of the same call; None if the call is to be made."""
        if (use := self.uses.get(_key(request))) is not None:
            return use.model_copy(update={**dict(request), "source": "record", "seconds": 0.0})
        if not self.only:
            return None
        refused = without_call(request, "This call was not made before, and a replay calls no tool.")
        return refused.model_copy(update={"source": "record"})


def _key(request: ToolRequest) -> Key:
    sent = request.sent if isinstance(request, ToolUse) else None
    text = (request.call.arguments or "{}") if sent is None else sent
    value = json_object(text)
    return request.server, request.tool, text if value is None else json.dumps(value, sort_keys=True)
