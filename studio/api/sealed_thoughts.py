"""Thoughts of an answer as `encrypted_content` of a reasoning item, which clients send back as it is.

It is no secret: base64 of JSON with a mark of this form. Knows no item and no HTTP.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Literal, Self

from pydantic import Field

from conductor.text.bounded_value import json_value
from conductor.values.message_parts.opaque import is_opaque, opaque
from conductor.values.message_parts.tools import call_extra
from conductor.values.messages import Value
from conductor.values.output import Output


class SealedThoughts(Value):
    """Members of an answer of `worker`: `thoughts` of its message, `calls` those of its calls by their ids,
    each as JSON text (see `opaque`).
    """

    conductor: Literal[1] = 1
    """The version of this form."""
    worker: str
    thoughts: str | None = None
    calls: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(cls, output: Output) -> Self | None:
        """Those of an output; None without any."""
        calls = {call.id: call.extra for call in output.tool_calls if call.extra is not None}
        if output.thoughts is None and not calls:
            return None
        return cls(worker=output.worker, thoughts=output.thoughts, calls=calls)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """What `text` seals; None if another program did."""
        try:
            sealed = cls.model_validate_json(b64decode(text, validate=True))
            members = {} if sealed.thoughts is None else json_value(sealed.thoughts)
            own = {name: value for name, value in members.items() if _is_own(name, value)}
            extras = {id: opaque(call_extra(json_value(extra))) for id, extra in sealed.calls.items()}
        except (ValueError, AttributeError, TypeError):
            return None
        calls = {id: extra for id, extra in extras.items() if extra is not None}
        return sealed.model_copy(update={"thoughts": opaque(own), "calls": calls})

    @property
    def text(self) -> str:
        return b64encode(self.model_dump_json().encode()).decode()


def _is_own(name: str, value: object) -> bool:
    """Whether an endpoint may have sent the member: a client could write others."""
    if name != "content":
        return is_opaque(name, value)
    kinds = (
        {part.get("type") if isinstance(part, dict) else None for part in value}
        if isinstance(value, list)
        else {None}
    )
    return kinds <= {"text", "thinking", "redacted_thinking", "reasoning", "reasoning_content"}
