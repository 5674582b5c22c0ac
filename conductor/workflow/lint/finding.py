"""A finding of the plan check, its fixes, and what the rules look at. Values only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from typing import Literal

from conductor.values.output import Output
from conductor.workflow.model import Workflow

_LONG_RUN = 4
"""Steps one after another that are named by their ends."""

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
    tools: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def sees_nothing(self, step: int) -> bool:
        """Whether a step reads no other one, of this round or the one before."""
        own = self.workflow.steps[step]
        return not own.access and not (self.later_round and own.sees_previous)


def step_numbers(steps: Sequence[int]) -> str:
    """Ascending steps (0-based), counted from 1: "step 2", "steps 1, 2 and 4", "steps 1 and 4 to 9"."""
    parts: list[str] = []
    for _, pairs in groupby(enumerate(steps, start=1), key=lambda pair: pair[1] - pair[0]):
        run = [str(step + 1) for _, step in pairs]
        parts += run if len(run) < _LONG_RUN else [f"{run[0]} to {run[-1]}"]
    if len(steps) == 1:
        return f"step {parts[0]}"
    return f"steps {', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else f"steps {parts[0]}"


def let_read(workflow: Workflow, step: int, reads: Iterable[int]) -> Fix:
    """Let `step` read these as well."""
    more = sorted(reads)
    access = {*workflow.steps[step].access, *more}
    return Fix(f"Let step {step + 1} read {step_numbers(more)}", partial(workflow.with_access, step, access))


def given_to_others(subject: Subject, step: int, *, besides: Collection[str]) -> list[Fix]:
    """Give a step to another worker: two are offered, those of the workflow first."""
    workflow, pool = subject.workflow, subject.workers
    names = [worker for worker in workflow.workers() if pool is None or worker in pool]
    others = [worker for worker in dict.fromkeys((*names, *(pool or ()))) if worker not in besides]
    return [
        Fix(f"Give step {step + 1} to {worker}", partial(workflow.with_worker, step, worker))
        for worker in others[:2]
    ]
