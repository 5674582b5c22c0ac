"""A timed call: a request to a step's worker, or a call of a tool, with the time that the step waited.

Pure values; how events of a step make them is in `step_state`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conductor.text.formatting import duration
from conductor.values.message_parts.tool_use import ToolRequest, ToolUse

_NAME = 80
"""Characters of a worker's name in a line."""


@dataclass(frozen=True, slots=True)
class TimedCall:
    """A request to `worker`, or where `tool` is set a call that it made; a `ToolUse` once it has ended.

    Times are Unix seconds, or seconds since a run began; `ended_at` is None while it lasts, and where the
    process died. `lane`: how many calls before it began with it.
    """

    worker: str
    started_at: float
    ended_at: float | None = None
    tool: ToolRequest | None = None
    failed: bool = False
    lane: int = 0

    @property
    def name(self) -> str:
        """The worker, or the tool with its server."""
        return self.worker if self.tool is None else self.tool.words

    def line(self, until: float) -> str:
        """What it was, how long it took, up to `until` if it has no end, and how it ended, in one line."""
        took = duration(max(0.0, (until if self.ended_at is None else self.ended_at) - self.started_at))
        if self.tool is None:
            return f"Request to {self.worker[:_NAME]}, {took}{', failed' if self.failed else ''}"
        if not isinstance(self.tool, ToolUse):
            return f"{self.tool.line}, {took}, {'under way' if self.ended_at is None else 'no result'}"
        failed = ["an error"] if self.failed else []
        return ", ".join([self.tool.line, took, *failed, *self.tool.origin])

    @property
    def has_result(self) -> bool:
        """Whether it is of a tool that gave a result, if only an error."""
        return isinstance(self.tool, ToolUse)

    def ended(self, at: float, *, failed: bool) -> TimedCall:
        """The same with its end, if it has none yet."""
        return (
            self if self.ended_at is not None else replace(self, ended_at=self._not_before(at), failed=failed)
        )

    def answered(self, use: ToolUse, by: float) -> TimedCall:
        """The call of a tool with its result, which was there `by` then."""
        at = min(by, self.started_at + use.seconds)
        return replace(self, ended_at=self._not_before(at), tool=use, failed=use.is_error)

    def moved(self, by: float) -> TimedCall:
        """The same so many seconds later."""
        ended_at = None if self.ended_at is None else self.ended_at + by
        return replace(self, started_at=self.started_at + by, ended_at=ended_at)

    def _not_before(self, at: float) -> float:
        return max(self.started_at, at)


TimedCalls = tuple[TimedCall, ...]


def with_request(calls: TimedCalls, worker: str, at: float) -> TimedCalls:
    """The calls and one more request."""
    return (*calls, TimedCall(worker, at))


def with_tools(calls: TimedCalls, tools: Sequence[ToolRequest], at: float) -> TimedCalls:
    """The calls and, as the last request is answered, those of tools, which begin at once."""
    worker = calls[-1].worker if calls else ""
    own = (TimedCall(worker, at, tool=tool, lane=lane) for lane, tool in enumerate(tools))
    return (*all_ended(calls, at), *own)


def with_results(calls: TimedCalls, uses: Sequence[ToolUse], at: float) -> TimedCalls:
    """The calls as the last ones, which are of tools, are answered, and the request that follows."""
    first = len(calls) - len(uses)
    if first < 0:
        return calls
    answered = (call.answered(use, at) for call, use in zip(calls[first:], uses, strict=True))
    return with_request((*calls[:first], *answered), calls[-1].worker if calls else "", at)


def all_ended(calls: TimedCalls, at: float, *, failed: bool = False) -> TimedCalls:
    """The calls as those that last end."""
    return tuple(call.ended(at, failed=failed) for call in calls)
