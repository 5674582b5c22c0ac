"""What both ways of asking have in common: texts in parts, and the extension `conductor`.

Models of JSON only; what they mean is told where they are used.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from conductor.api.parameters import Asked
from conductor.budget import Budget
from conductor.modes import MAX_ROUNDS
from conductor.workflow import MAX_STEPS

Temperature = Annotated[float, Field(ge=0, le=2)] | None
Tokens = Annotated[int, Field(ge=1)] | None
One = Annotated[float, Field(ge=1, le=1)] | None
"""A share of which only the whole can be had."""
Metadata = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=64)], Annotated[str, Field(max_length=512)]],
    Field(max_length=16),
]

METADATA = "up to 16 names of at most 64 characters, each with a text of at most 512"


class BudgetAsked(Asked):
    """The most that the request may spend: tokens, US dollars, seconds and calls."""

    tokens: Tokens = None
    cost: Annotated[float, Field(gt=0)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    calls: Annotated[int, Field(ge=1)] | None = None

    @property
    def budget(self) -> Budget:
        """As the orchestra knows it."""
        return Budget(**self.model_dump())


class Steering(Asked):
    """The extension `conductor` of a request: how the answer is sought.

    `workers` are the only ones it may have, `exclude` those it may not. `workflow` is a document of the
    format conductor-workflow that is run as it is. With `events` a stream tells the run's events as well.
    """

    workers: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    exclude: tuple[str, ...] = ()
    max_steps: Annotated[int, Field(ge=1, le=MAX_STEPS)] | None = None
    rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] | None = None
    budget: BudgetAsked = BudgetAsked()
    workflow: dict[str, Any] | None = Field(default=None, description="see conductor-workflow-1.schema.json")
    events: bool = False


UNSTEERED = Steering()

COMMON_REASONS = {
    "tools": "workers answer in text and call no tools.",
    "tool_choice": 'there are no tools to choose from; only "none" and "auto" mean anything.',
    "top_p": "workers are asked with their own; only 1 changes nothing.",
    "top_logprobs": "an answer of several models has no log probabilities.",
    "moderation": "nothing is moderated here.",
    "service_tier": 'there is one tier; only "auto" and "default" mean anything.',
    "prompt_cache_options": "no prompts are cached here.",
    "metadata": f"it may have {METADATA}.",
}
"""Why parameters that both ways of asking have are not supported, or only with one value."""
