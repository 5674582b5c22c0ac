"""A tool, questions for it, and the deltas with which the simulated endpoint calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WHERE: list[Any] = [{"role": "user", "content": "Is it warm in Oslo and in Rome?"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"const": None}}}
TOOL: Any = {
    "type": "function",
    "function": {"name": "weather", "description": "of now", "parameters": SCHEMA, "strict": True},
}
OSLO, ROME = '{"city": "Oslo"}', '{"city": "Rome"}'


def calls(*named: tuple[str, str, str], pieces: int = 3) -> Sequence[dict[str, Any]]:
    """The deltas of calls (id, name, arguments), whose arguments come in so many pieces."""
    deltas: list[dict[str, Any]] = []
    for index, (id, name, arguments) in enumerate(named):
        function = {"name": name, "arguments": ""}
        deltas.append({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
        size = -(-len(arguments) // pieces) or 1
        for start in range(0, len(arguments), size):
            piece = {"index": index, "function": {"arguments": arguments[start : start + size]}}
            deltas.append({"tool_calls": [piece]})
    return deltas


BOTH = calls(("up-1", "weather", OSLO), ("up-2", "weather", ROME))
