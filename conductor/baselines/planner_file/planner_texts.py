"""A planner that learnt replaces texts of its Conductor's prompt by these.

Values only, which a model may have written: their lengths are bounded, and the prompt takes each in one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from conductor.planner.conductor import PlanRequest
from conductor.values.messages import Value

MAX_INSTRUCTION = 4_000
MAX_STRENGTHS = 400
MAX_EXAMPLES = 3


class PlannerTexts(Value):
    """The `instruction` on how to plan ("": the prompt's own), `strengths` of workers by their names (of the
    others: the pool's), and the questions whose plans are the `examples` (none: the nearest solved ones).
    """

    instruction: Annotated[str, Field(max_length=MAX_INSTRUCTION)] = ""
    strengths: Mapping[str, Annotated[str, Field(max_length=MAX_STRENGTHS)]] = Field(default_factory=dict)
    examples: Annotated[tuple[str, ...], Field(max_length=MAX_EXAMPLES)] = ()

    def applied(self, request: PlanRequest) -> PlanRequest:
        """The request with the instruction and the strengths."""
        workers = tuple(
            card.model_copy(update={"strengths": self.strengths.get(card.name, card.strengths)})
            for card in request.workers
        )
        return request.model_copy(update={"instruction": self.instruction, "workers": workers})

    @property
    def lines(self) -> Mapping[str, str]:
        """Each text by what it is, for people."""
        return {
            **({"instruction": self.instruction} if self.instruction else {}),
            **{f"strengths of {worker}": text for worker, text in self.strengths.items()},
            **{f"example {at}": question for at, question in enumerate(self.examples, start=1)},
        }


def text_differences(one: PlannerTexts | None, other: PlannerTexts | None) -> tuple[str, ...]:
    """In which texts two planners differ, a line each."""
    mine, theirs = ((texts or PlannerTexts()).lines for texts in (one, other))
    unset = "the pool's and the prompt's own"
    return tuple(
        f"{what}: {mine.get(what, unset)}, then {theirs.get(what, unset)}"
        for what in dict.fromkeys((*mine, *theirs))
        if mine.get(what) != theirs.get(what)
    )
