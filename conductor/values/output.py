"""A step's output as it is stored: text, cost and where it came from. Values only."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.message_parts.tool_use import ToolUse
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import FinishReason, Usage, Value

WorkerKind = Literal["model", "embedded", "offline", "simulated"]
"""Who answers: a served language model, a small one in this program or a process of its own, a worker that
computes, or a simulated worker.
"""

EMBEDDED_LABEL = "tiny, on this machine, often wrong"

OFFLINE_LABEL = "offline, no model is called"
SIMULATED_LABEL = "simulated, no model is called"
"""The label of all output of a pool in which no served model answers."""

SMALL_CONDUCTOR = "the Conductor is a small model on this machine"
"""The end of such a label where a plan takes tokens that are not paid for."""

KIND_LABELS: Mapping[WorkerKind, str] = MappingProxyType(
    {"embedded": EMBEDDED_LABEL, "offline": OFFLINE_LABEL, "simulated": SIMULATED_LABEL}
)
"""What stands beside all words of a kind of worker; a served model has no label."""

CUT_OFF = "cut off at the token limit"
"""The mark of an answer that ended where its worker had no tokens left."""

NO_ANSWER = "no answer"
"""The mark of a text in which a worker declines to answer."""


_UNSEEN = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that no font draws: fillers of Hangul, and Braille without a dot."""


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: white space, and characters that only control or join others."""
    stripped = text.strip()
    # Nearly every text ends here: the rest is for those that begin with a character of no width.
    if not stripped or stripped[0].isalnum():
        return not stripped or (stripped[0] in _UNSEEN and is_blank(stripped[1:]))
    return all(
        each.isspace() or each in _UNSEEN or unicodedata.category(each) in {"Cc", "Cf"} for each in stripped
    )


class HandEdit(Value):
    """That a person wrote an output's text."""

    at: float
    """When, in Unix seconds."""
    by: str = "a person"
    """The author's name, if it is known."""


class StandIn(Value):
    """That a step's own worker gave no answer, and its rule for failures gave this output."""

    reason: str
    """Why the worker gave none."""
    fallback: str | None = None
    """The worker that the rule names, or None."""
    text: bool = False
    """The output is the rule's own text, because the fallback, too, gave no answer."""


class Output(Value):
    """What a worker answered under a fingerprint, or what a person wrote in its place."""

    fingerprint: str
    """The key of all that the answer depends on."""
    text: str
    """The answer."""
    reasoning: str = ""
    """What a model thought before it answered; no other step is shown it."""
    worker: str
    """The one that answered."""
    worker_kind: WorkerKind
    """Who answered."""
    usage: Usage = Usage()
    """The tokens that it took."""
    seconds: float
    """From the start of the call to its end."""
    finish_reason: FinishReason = "stop"
    """Why the text ends."""
    instead_of: str | None = None
    """The worker that was called first, where `worker` answered in its place."""
    request_id: str | None = None
    """The provider's name of the call, or None."""
    hand: HandEdit | None = None
    """The edit by a person whose text this is, or None."""
    tool_calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=lambda calls: not calls)
    """Those that the client is to make."""
    tool_uses: tuple[ToolUse, ...] = Field(default=(), exclude_if=lambda uses: not uses)
    """What its worker's own tools were called with, and answered, in order."""
    requests: int = Field(default=1, ge=1, exclude_if=lambda requests: requests == 1)
    """How many requests gave it: one, and one more after each round of tools."""
    stand_in: StandIn | None = Field(default=None, exclude_if=lambda stand_in: stand_in is None)
    """Set where the step's rule for failures gave the output."""
    logprobs: tuple[TokenLogprob, ...] = Field(default=(), exclude_if=lambda logprobs: not logprobs)
    """Those of the text's tokens, if they were requested and given."""
    left_out: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """The parameters that its worker's endpoint was called without."""
    thoughts: str | None = Field(default=None, exclude_if=lambda thoughts: thoughts is None)
    """The members of the message with the reasoning and its signatures, as JSON text; no other worker is sent
    them.
    """
    run: str
    """The run in which it was first made."""
    step: int
    """Its step there, from 0."""

    @property
    def empty(self) -> bool:
        """Whether the worker answered nothing; an empty output is shown but never passed on or taken over."""
        return not self.tool_calls and is_blank(self.text)

    def doubt(self, version_of: Callable[[str], str | None]) -> str | None:
        """Why its worker's tools may give other results now, None if it called none or they do not; see
        `ToolUse.doubt`. `version_of` returns what a tool server of this name reports.
        """
        reasons = (use.doubt(version_of(use.server)) for use in self.tool_uses)
        return next((reason for reason in reasons if reason is not None), None)

    @property
    def answered_instead(self) -> str | None:
        """The worker that answered in the place of the step's own; None for the own one, and for a text."""
        return None if self.instead_of is None else self.worker

    @property
    def silence(self) -> str:
        """Why an empty output has no text, as a sentence or two; thoughts without an answer are counted."""
        limit = " Its tokens were used up (finish reason length); raise max_tokens." if self.cut_off else ""
        tokens = self.usage.completion_tokens
        if not self.reasoning and not (self.cut_off and tokens):
            return f"Its worker answered with nothing.{limit}"
        size = f"{len(self.reasoning):,} characters" if tokens is None else f"{tokens:,} tokens"
        return f"Its worker only thought, {size} long, and gave no answer.{limit}"

    @property
    def display_text(self) -> str:
        """The text, and the calls of tools in words (Markdown), for people."""
        if not self.tool_calls:
            return self.text
        texts = (self.text, *(call.words for call in self.tool_calls))
        return "\n\n".join(text for text in texts if text.strip())

    @property
    def loss(self) -> str:
        """The parameters in `left_out`, for people; "" without any."""
        return f"asked without {', '.join(self.left_out)}, as its endpoint requires" if self.left_out else ""

    @property
    def cut_off(self) -> bool:
        """Whether it ends where the worker had no tokens left."""
        return self.finish_reason == "length"

    @property
    def refused(self) -> bool:
        """Whether the worker declined to answer; its text gives the reason, and is passed on as any other."""
        return self.finish_reason == "refused"

    def by_hand(self, text: str, *, edit: HandEdit) -> Output:
        """The output as a person rewrote it, with the fingerprint of the output that it replaces.

        What the worker had used, taken and thought is not this text's.
        """
        return Output(
            fingerprint=self.fingerprint,
            text=text,
            worker=self.worker,
            worker_kind=self.worker_kind,
            seconds=self.seconds,
            hand=edit,
            run=self.run,
            step=self.step,
        )
