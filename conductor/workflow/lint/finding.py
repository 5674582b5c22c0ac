"""A finding of the plan check, its fixes, and the rules there are. Values only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from conductor.values.output import Output
from conductor.workflow.model import Workflow

Severity = Literal["warning", "note"]
"""A warning costs work or spoils the answer; a note is about tidiness."""

Rule = Literal[
    "too-many-steps",
    "blind-final-step",
    "unread-output",
    "speaks-of-unseen",
    "leaked-output",
    "checks-own-work",
    "same-instruction",
    "redundant-access",
    "pinned-before",
]

RULES: Mapping[Rule, str] = {
    "too-many-steps": "There are no more steps than the limit allows.",
    "blind-final-step": "The final step sees the work that the answer is made of.",
    "unread-output": "Every step's output is read by another step.",
    "speaks-of-unseen": "An instruction refers only to outputs that its step may read.",
    "leaked-output": "No instruction repeats, word for word, an output that its step may not read.",
    "checks-own-work": "No worker checks its own step.",
    "same-instruction": "No worker gets the same instruction twice.",
    "redundant-access": "No step reads what another step that it reads repeats word for word.",
    "pinned-before": "No pinned output answers other inputs than those that its step has now.",
}
"""Each rule and what holds where it finds nothing, in the order of the findings of a step."""


@dataclass(frozen=True, slots=True)
class Fix:
    """One fix of a finding: what it does, and the whole workflow after it, without the finding."""

    label: str
    workflow: Workflow = field(repr=False)


@dataclass(frozen=True, slots=True)
class Finding:
    """What `rule` found at `step` (0-based; None: the whole workflow), the best fix first.

    `sentence` counts steps from 1. It may quote an instruction or name a worker, so it is untrusted text.
    There is no fix where only a person knows what was meant.
    """

    rule: Rule
    step: int | None
    severity: Severity
    sentence: str
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """What the rules look at; see `check` for the fields."""

    workflow: Workflow
    max_steps: int
    outputs: Mapping[int, Output]
    later_round: bool
    query: str
    workers: Sequence[str] | None
    changed_pins: Collection[int] = ()

    def sees_nothing(self, step: int) -> bool:
        """Whether a step reads no other one, of this round or the one before."""
        own = self.workflow.steps[step]
        return not own.access and not (self.later_round and own.sees_previous)


def named(steps: Sequence[int]) -> str:
    """Steps (0-based) in words, counted from 1: "step 2", "steps 1, 2 and 4"."""
    numbers = [str(step + 1) for step in steps]
    if len(numbers) == 1:
        return f"step {numbers[0]}"
    return f"steps {', '.join(numbers[:-1])} and {numbers[-1]}"
