"""A step's output as it is stored: text, cost and where it came from. Values only."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import FinishReason, Usage, Value

WorkerKind = Literal["model", "offline", "simulated"]
"""Who answers: a language model, a built-in expert that computes, or a simulated worker."""

OFFLINE_LABEL = "offline, no model is called"
SIMULATED_LABEL = "simulated, no model is called"
"""The label of all output of a pool in which no model answers."""

CUT_OFF = "cut off at the token limit"
"""The mark of an answer that ended where its worker had no tokens left."""

NO_ANSWER = "no answer"
"""The mark of a text in which a worker declines to answer."""


class HandEdit(Value):
    """That a person wrote an output's text: when (Unix seconds), and the author's name where it is known."""

    at: float
    by: str = "a person"


class StandIn(Value):
    """That a step's own worker gave no answer, for the `reason`, and its rule for failures gave this output.

    `fallback` is the worker that the rule names, None where it names none. `text`: the output is the rule's
    own text, because the fallback, too, gave no answer.
    """

    reason: str
    fallback: str | None = None
    text: bool = False


class Output(Value):
    """What a worker answered under a fingerprint, or what a person wrote in its place (`hand`).

    `seconds` is the time from start to end; `run` and `step` (0-based) name where it was first made.
    `reasoning` is what a model thought before it answered; no other step is shown it. `instead_of` is the
    worker that was called first, where `worker` answered in its place. `request_id` is the provider's name of
    the call, None where it has none. `tool_calls` are those that the client is to make. `stand_in` is set
    where the step's rule for failures gave the output. `logprobs` are those of the text's tokens, where they
    were asked for and given.
    """

    fingerprint: str
    text: str
    reasoning: str = ""
    worker: str
    worker_kind: WorkerKind
    usage: Usage = Usage()
    seconds: float
    finish_reason: FinishReason = "stop"
    instead_of: str | None = None
    request_id: str | None = None
    hand: HandEdit | None = None
    tool_calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=lambda calls: not calls)
    stand_in: StandIn | None = Field(default=None, exclude_if=lambda stand_in: stand_in is None)
    logprobs: tuple[TokenLogprob, ...] = Field(default=(), exclude_if=lambda logprobs: not logprobs)
    run: str
    step: int

    @property
    def empty(self) -> bool:
        """Whether the worker answered nothing; an empty output is shown but never passed on."""
        return not self.tool_calls and not self.text.strip()

    @property
    def shown(self) -> str:
        """The text, and the calls of tools in words (Markdown), for people."""
        if not self.tool_calls:
            return self.text
        texts = (self.text, *(call.words for call in self.tool_calls))
        return "\n\n".join(text for text in texts if text.strip())

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
        return self.model_copy(
            update={
                "text": text,
                "reasoning": "",
                "usage": Usage(),
                "finish_reason": "stop",
                "instead_of": None,
                "request_id": None,
                "tool_calls": (),
                "stand_in": None,
                "logprobs": (),
                "hand": edit,
            }
        )
