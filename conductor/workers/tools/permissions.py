"""Decides which tools may be called without a question, and what a decision makes of a call. Pure.

Knows what servers state of their tools, what the pool file sets and what persons decided; asks no person.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from conductor.text.bounded_value import json_object
from conductor.values.message_parts.tool_use import (
    Permission,
    QuestionReason,
    ToolDecision,
    ToolQuestion,
    ToolRequest,
    ToolUse,
)
from conductor.workers.tools.tool_server import ServedTool, allowed


@dataclass(frozen=True)
class Permissions:
    """Who may let a tool act. Servers in `never` need no question, those in `first` one for each of their
    tools. `allows` are patterns (see `allowed`) that the person allowed who began the run, `grants` those
    of an earlier yes. Not `attended`: no person can be asked. `limit` are patterns of the only tools that
    may be called at all, None for all.
    """

    never: frozenset[str] = frozenset()
    first: frozenset[str] = frozenset()
    allows: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    attended: bool = True
    limit: tuple[str, ...] | None = None

    def of(self, tool: ServedTool) -> Permission | None:
        """Who allows the tool; None: a person is asked."""
        if tool.reads_only:
            return "reads"
        if tool.server in self.never:
            return "pool"
        if allowed(self.allows, [tool]):
            return "person"
        return "earlier" if allowed(self.grants, [tool]) else None

    def within_limit(self, tools: Sequence[ServedTool]) -> Sequence[ServedTool]:
        """Those that may be called at all."""
        return tools if self.limit is None else allowed(self.limit, tools)

    def offers(self, tool: ServedTool) -> bool:
        """Whether a worker is offered the tool: it may call it, or a person can be asked."""
        return self.attended or self.of(tool) is not None

    def questions(
        self,
        calls: Sequence[ToolRequest],
        tools: Mapping[str, ServedTool],
        *,
        decided: Collection[int],
        unsure: bool,
    ) -> tuple[ToolQuestion, ...]:
        """What a person is asked before these calls are made of the `tools`, by wire name; those at the
        positions `decided` are not. `unsure`: the program ended while they were under way.
        """
        questions = []
        for at, call in enumerate(calls):
            tool = tools.get(call.call.name)
            if tool is None or at in decided:
                continue
            why = self._why(tool, unsure=unsure)
            if why is not None:
                questions.append(
                    ToolQuestion(at=at, why=why, once=why == "acts" and tool.server in self.first)
                )
        return tuple(questions)

    def _why(self, tool: ServedTool, *, unsure: bool) -> QuestionReason | None:
        if unsure and not (tool.reads_only or tool.idempotent):
            return "unsure"
        return "acts" if self.of(tool) is None else None


def without_call(request: ToolRequest, reason: str) -> ToolUse:
    """The use of a tool that no server was asked for, with the reason that its worker is sent."""
    return ToolUse(**dict(request), result=reason, is_error=True, repeatable=True)


def decided_use(request: ToolRequest, decision: ToolDecision) -> ToolUse | None:
    """What a person gave in the place of a call; None: it is to be made."""
    if decision.verdict == "answer":
        return ToolUse(**dict(request), result=decision.text, repeatable=True, source="person")
    if decision.verdict == "refuse":
        why = decision.text.strip() or "no reason was stated"
        refused = without_call(request, f"A person refused this call: {why}")
        return refused.model_copy(update={"source": "refusal"})
    return None


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
