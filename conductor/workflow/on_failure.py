"""A step's rule for a worker that gives no answer. Values only.

Knows neither workers nor runs; `engine.failure_rule` applies a rule.
"""

from __future__ import annotations

from pydantic import Field

from conductor.text.formatting import quantity
from conductor.values.messages import Value

MAX_RETRIES = 10
"""The most calls that a rule may add."""

MAX_PAUSE = 600.0
"""The longest pause between two calls, in seconds."""

MAX_TEXT = 1_000_000
"""The most characters that a rule's own output may have."""


class OnFailure(Value):
    """In this order: call the worker again, call the fallback, take the text `output` as the step's output.

    An empty `output` lets the run go on without one; None leaves the step failed. A later run calls the
    worker again where another answered in its place, unless `keep` is set.
    """

    retries: int = Field(
        default=0, ge=0, le=MAX_RETRIES, strict=True, description="how often it is called again"
    )
    pause: float = Field(default=1.0, ge=0, le=MAX_PAUSE, description="seconds before each further call")
    fallback: str | None = Field(default=None, description="worker of the pool that answers in its place")
    output: str | None = Field(
        default=None,
        max_length=MAX_TEXT,
        description="text that takes the place of its output; an empty one skips the step",
    )
    keep: bool = Field(
        default=False,
        exclude_if=lambda keep: not keep,
        description="whether a later run takes over what stood in, and does not call the worker again",
    )

    @property
    def nothing(self) -> bool:
        """Whether the step is done as if it had no rule."""
        return not self.retries and self.fallback is None and self.output is None and not self.keep

    def of_worker(self, worker: str) -> OnFailure | None:
        """The rule for a step of `worker`, which cannot be its own fallback; None if nothing is left."""
        if self.fallback != worker:
            return self
        left = self.model_copy(update={"fallback": None})
        return None if left.nothing else left

    @property
    def words(self) -> str:
        """The rule in words, without a full stop."""
        parts = [f"{quantity(self.retries, 'more call')}"] if self.retries else []
        parts += [] if self.fallback is None else [f"{self.fallback} answers in its place"]
        if self.output is not None:
            parts += ["a text takes its place" if self.output.strip() else "the step is skipped"]
        words = ", then ".join(parts) or "the step fails"
        return f"{words}; the replacement stays" if self.keep else words


NO_RULE = OnFailure()
