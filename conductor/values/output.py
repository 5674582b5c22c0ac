"""A step's output as it is kept: text, cost and where it came from. Values only."""

from __future__ import annotations

from typing import Literal

from conductor.messages import FinishReason, Usage, Value

WorkerKind = Literal["model", "offline", "simulated"]
"""Who answers: a language model, a built-in expert that computes, or the shipped fake."""

CUT_OFF = "cut off at the token limit"
"""What is said of an answer that ended where its worker had no tokens left."""


class HandEdit(Value):
    """That a person wrote an output's text: when (Unix seconds), and who, as far as that was said."""

    at: float
    by: str = "a person"


class Output(Value):
    """What a worker answered under a fingerprint, or what a person wrote in its place (`hand`).

    `seconds` is the time from start to end; `run` and `step` (0-based) say where it was first made.
    `reasoning` is what a model thought before it answered, which nobody else is shown. `instead_of` is the
    worker that was asked first, where `worker` stood in for it.
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
    hand: HandEdit | None = None
    run: str
    step: int

    @property
    def empty(self) -> bool:
        """Whether the worker answered nothing; an empty output is shown but never passed on."""
        return not self.text.strip()

    @property
    def cut_off(self) -> bool:
        """Whether it ends where the worker had no tokens left."""
        return self.finish_reason == "length"

    def by_hand(self, text: str, *, edit: HandEdit) -> Output:
        """The output as a person rewrote it; it keeps the fingerprint of what it takes the place of.

        What the worker had used, taken and thought is not this text's.
        """
        return self.model_copy(
            update={
                "text": text,
                "reasoning": "",
                "usage": Usage(),
                "finish_reason": "stop",
                "instead_of": None,
                "hand": edit,
            }
        )
