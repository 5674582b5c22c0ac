"""What a worker's own tool was called with, and what it answered. Values only.

The tools are those of servers that the pool file names. Those that a client of the API offers, and calls
itself, are in `tools`.
"""

from __future__ import annotations

from pydantic import Field

from conductor.values.message_parts.tools import ToolCall
from conductor.values.portable_model import PortableModel


class ToolRequest(PortableModel):
    """A call that a worker makes of the `tool` of a `server`; its `call` is as the worker wrote it."""

    server: str
    tool: str
    call: ToolCall

    @property
    def words(self) -> str:
        """The tool with its server, such as files:read_text."""
        return f"{self.server}:{self.tool}" if self.server else self.tool


class ToolUse(ToolRequest):
    """A call and its `result`, which is untrusted text. `cut`: how many characters the server gave, if those
    are not all here. `repeatable`: the server states that a further call has no further effect.
    """

    result: str
    is_error: bool = False
    seconds: float = 0.0
    cut: int | None = Field(default=None, exclude_if=lambda cut: cut is None)
    repeatable: bool = False
