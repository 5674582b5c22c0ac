"""A finding of the plan check, its fixes, and what the rules look at. Values only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Literal

from conductor.values.output import Output
from conductor.workflow.model import Workflow

Severity = Literal["warning", "note"]
"""A warning costs work or spoils the answer; a note is about tidiness."""


@dataclass(frozen=True)
class Fix:
    """One fix of a finding: what it does, and how."""

    label: str
    make: Callable[[], Workflow] = field(repr=False, compare=False)

    @cached_property
    def workflow(self) -> Workflow:
        """The whole workflow after it, without the finding."""
        return self.make()


@dataclass(frozen=True, slots=True)
class Finding:
    """What `rule` found at `step` (0-based; None: the whole workflow), the best fix first.

    `sentence` counts steps from 1. It may quote an instruction or name a worker, so it is untrusted text.
    There is no fix where only a person knows what was meant.
    """

    rule: str
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
    examples: Mapping[str, str] = field(default_factory=dict)

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


def reading(workflow: Workflow, step: int, reads: Iterable[int]) -> Fix:
    """Let `step` read these as well."""
    more = sorted(reads)
    access = {*workflow.steps[step].access, *more}
    return Fix(f"Let step {step + 1} read {named(more)}", partial(workflow.with_access, step, access))


def given_to_others(subject: Subject, step: int, *, besides: Collection[str]) -> list[Fix]:
    """Give a step to another worker: two are offered, those of the workflow first."""
    workflow, pool = subject.workflow, subject.workers
    names = [worker for worker in workflow.workers() if pool is None or worker in pool]
    others = [worker for worker in dict.fromkeys((*names, *(pool or ()))) if worker not in besides]
    return [
        Fix(f"Give step {step + 1} to {worker}", partial(workflow.with_worker, step, worker))
        for worker in others[:2]
    ]
