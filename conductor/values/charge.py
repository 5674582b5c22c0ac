"""The entry of the ledger: what one request to a worker took, once it has ended. Values only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from conductor.values.messages import NOTHING_USED, Usage
from conductor.values.output import WorkerKind
from conductor.values.total import NOTHING, Total

Purpose = Literal[
    "plan", "step", "retry", "fallback", "tools", "nested", "judge", "reflect", "doctor", "embedding",
    "earlier"
]  # fmt: skip
"""What a request was made for. `retry`, `fallback` and `tools` are further requests for the same step, the
last with the results of tools that its worker called; `nested` is one inside a step; `earlier` is what a
version without a ledger stored of a whole plan or step."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What one request took: `usage` as its endpoint reported it and our price has it, field by field.

    `wrote`: a part of an answer came, or its end. `stopped`: it was broken off on our side. `estimate` has
    the tokens and US dollars of what was not reported, None if all was. A dataclass, because each step makes
    one.
    """

    worker: str
    kind: WorkerKind
    purpose: Purpose
    usage: Usage = Usage()
    wrote: bool = True
    stopped: Annotated[bool, Field(exclude_if=lambda stopped: not stopped)] = False
    estimate: Annotated[Usage | None, Field(exclude_if=lambda estimate: estimate is None)] = None

    @property
    def counts(self) -> bool:
        """Whether it took anything: a server that refuses, or breaks off before a word, and reports nothing
        bills nothing.
        """
        if self.wrote or self.stopped:
            return True
        usage = self.usage
        reported = (usage.prompt_tokens, usage.completion_tokens, usage.cost)
        return any(number is not None for number in reported)

    @property
    def total(self) -> Total:
        """What it took, as a sum of one."""
        return Total.of([self.usage if self.counts else NOTHING_USED])

    @property
    def nested(self) -> Charge:
        """The same as a request inside a step."""
        return replace(self, purpose="nested")

    @property
    def charged_tokens(self) -> int:
        """The tokens that a limit is charged for it: those that are known, and the estimate of the rest."""
        amount = self.usage.total
        if amount is not None or not self.counts:
            return amount or 0
        rest = self.estimate or NOTHING_USED
        prompt, completion = self.usage.prompt_tokens, self.usage.completion_tokens
        return (rest.prompt_tokens or 0 if prompt is None else prompt) + (
            rest.completion_tokens or 0 if completion is None else completion
        )

    @property
    def charged_cost(self) -> float:
        """The US dollars of `charged_tokens`; 0 without a price."""
        amount = self.usage.cost
        if amount is None and self.counts and self.estimate is not None:
            amount = self.estimate.cost
        return amount or 0.0


def total_of(charges: Iterable[Charge]) -> Total:
    """What these requests took together."""
    return sum((charge.total for charge in charges), NOTHING)
