"""The turn of an answer that calls tools: what has ended, what waits or was under way. A value only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from conductor.values.message_parts.tool_use import ToolRequest, ToolUse
from conductor.values.messages import Request


@dataclass(frozen=True)
class ToolTurn:
    """An answer that is not at its end, of the worker named `worker`, to the request of this `fingerprint`.

    `request` is what that worker was sent last, with its answer behind it where that made `calls`, which have
    no result yet. `uses` are the calls before. `waits`: none of `calls` was made, a person is asked first.
    """

    fingerprint: str
    worker: str
    request: Request
    calls: tuple[ToolRequest, ...] = ()
    uses: tuple[ToolUse, ...] = ()
    waits: bool = False

    @property
    def acts(self) -> bool:
        """Whether an answer from its beginning might do again what this one did."""
        return any(each.acts for each in (*self.calls, *self.uses))

    @property
    def mark(self) -> str:
        """Of these calls at this place of the answer; ids of calls may repeat, also as empty ones."""
        place = [self.fingerprint, len(self.request.messages)]
        calls = [each.model_dump_json() for each in self.calls]
        return sha256(json.dumps([*place, *calls]).encode()).hexdigest()[:16]
