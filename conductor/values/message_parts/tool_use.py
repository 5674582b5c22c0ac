"""A use of a worker's own tool: its call, its result, and a person's decision. Values only.

The tools are those of servers that the pool file names. Those that a client of the API offers, and calls
itself, are in `tools`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from pydantic import Field

from conductor.text.bounded_value import json_value
from conductor.text.control_characters import escaped
from conductor.text.json_text import portable
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Request
from conductor.values.portable_model import PortableModel

Permission = Literal["reads", "pool", "person", "earlier"]
"""Who allowed a call: its server marks the tool as one that only reads, the pool file never asks, or a person
did, for this call or (`earlier`) for one of the same tool before it."""

ResultSource = Literal["server", "person", "refusal", "record"]
"""Who gave a result: the tool; a person, in its place or as the reason of a refusal; or a run before, whose
result is repeated without a call."""

_PERMISSIONS: Mapping[Permission, str] = {
    "reads": "the server marks it as reading",
    "pool": "the pool file never asks",
    "person": "allowed by a person",
    "earlier": "allowed before",
}
_SOURCES: Mapping[ResultSource, str] = {
    "person": "answered by a person",
    "refusal": "refused by a person",
    "record": "recorded result, not called",
}

_SHORT = 80
"""Characters of arguments in a line."""


class ToolRequest(PortableModel):
    """A call that a worker makes of the `tool` of a `server`; its `call` is as the worker wrote it. `acts`:
    the server does not mark the tool as one that only reads.
    """

    server: str
    tool: str
    call: ToolCall
    acts: bool = Field(default=False, exclude_if=lambda acts: not acts)

    @property
    def words(self) -> str:
        """The tool with its server, such as files:read_text."""
        return f"{self.server}:{self.tool}" if self.server else self.tool

    @property
    def line(self) -> str:
        """The same with the beginning of its arguments, on one line."""
        return f"{self.words} {_short(self.call.arguments)}".rstrip()


class ToolUse(ToolRequest):
    """A call and its `result`, which is untrusted text. `cut`: how many characters the server gave, if those
    are not all here. `repeatable`: the server states that a further call has no further effect.
    `allowed_by` is None if no tool was called, or an earlier version wrote this. `sent` are the arguments
    that a person wrote in the place of the worker's, as JSON text. `server_version` is the name and version
    that the server reported.
    """

    result: str
    is_error: bool = False
    seconds: float = 0.0
    cut: int | None = Field(default=None, exclude_if=lambda cut: cut is None)
    repeatable: bool = False
    allowed_by: Permission | None = Field(default=None, exclude_if=lambda who: who is None)
    source: ResultSource = Field(default="server", exclude_if=lambda source: source == "server")
    sent: str | None = Field(default=None, exclude_if=lambda sent: sent is None)
    server_version: str = Field(default="", exclude_if=lambda version: not version)

    @property
    def origin(self) -> tuple[str, ...]:
        """Who allowed the call, changed its arguments and gave the result, for people; empty if no one did,
        and if that is not known.
        """
        allowed = None if self.allowed_by is None else _PERMISSIONS[self.allowed_by]
        changed = None if self.sent is None else f"changed by a person: {_short(self.sent)}"
        return tuple(filter(None, (allowed, changed, _SOURCES.get(self.source))))

    def doubt(self, version: str | None) -> str | None:
        """Why a further call may give another result, None if it gives this one. `version` is what the server
        reports now, None if that is not known.
        """
        if self.source == "record":
            return f"{self.words} was not called, but answered as in a run before"
        if self.source == "server" and not self.repeatable:
            return f"{self.words} may give another result"
        if self.server_version and version not in (None, self.server_version):
            return f"the tool server {self.server} was {self.server_version} and is {version}"
        return None


QuestionReason = Literal["acts", "unsure"]
"""Why a call needs a person's yes: its tool may act, or the program ended while it was under way, so that it
may have acted already."""


class ToolQuestion(PortableModel):
    """The call at position `at` of an answer needs a person's yes. `once`: a yes is one for all further calls
    of that tool in the session.
    """

    at: int = Field(ge=0)
    why: QuestionReason
    once: bool = Field(default=False, exclude_if=lambda once: not once)


Verdict = Literal["allow", "refuse", "answer"]


class ToolDecision(PortableModel):
    """What a person decides of the call at position `at`, with this `id`, that `step` (0-based) waits with.

    `allow`: it is made, with these `arguments` as JSON text where they are not None. `refuse`: it is not,
    and the worker is sent `text` as the reason. `answer`: it is not, and `text` is the result. `turn` is the
    mark of the `ToolTurn` that the person saw; "": the one that waits now.
    """

    step: int = Field(ge=0)
    at: int = Field(ge=0)
    id: str
    verdict: Verdict
    arguments: str | None = Field(default=None, exclude_if=lambda arguments: arguments is None)
    text: str = Field(default="", exclude_if=lambda text: not text)
    turn: str = Field(default="", exclude_if=lambda turn: not turn)


class WaitingCall(NamedTuple):
    """A call that `step` (0-based) waits with, what a person is asked of it, and the mark of its turn."""

    step: int
    call: ToolRequest
    question: ToolQuestion
    turn: str

    def decided(self, verdict: Verdict, *, text: str = "", arguments: str | None = None) -> ToolDecision:
        """The decision of this call; see `ToolDecision`."""
        return ToolDecision(
            step=self.step,
            at=self.question.at,
            id=self.call.call.id,
            verdict=verdict,
            text=text,
            arguments=arguments,
            turn=self.turn,
        )

    @property
    def shape(self) -> dict[str, Any]:
        """The call for programs, which send `step`, `at`, `id` and `turn` back with their decision."""
        return {
            "step": self.step,
            "at": self.question.at,
            "id": self.call.call.id,
            "turn": self.turn,
            "tool": self.call.words,
            "arguments": self.call.call.arguments,
            "why": self.question.why,
        }


def indented(arguments: str) -> str:
    """The arguments of a call as they are read best: JSON with a member a line, and escapes for what would
    turn the text around it; anything else as it is.
    """
    try:
        return escaped(portable(json.dumps(json_value(arguments), indent=2, ensure_ascii=False)))
    except ValueError:
        return arguments


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _SHORT].split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"


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
