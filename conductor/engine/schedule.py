"""Which steps are ready, and what an edit makes run again. Pure: no clock, no worker, no event.

Knows the one rule of order: a step is ready the moment the last step it reads is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conductor.engine.assignment import Assignment
from conductor.messages import SeenResponse
from conductor.output import Output
from conductor.workers.pool import Pool
from conductor.workflow import Workflow


class Schedule:
    """Counts down what each step still waits for. Mutable; one for each run."""

    def __init__(self, workflow: Workflow) -> None:
        self._readers = workflow.readers
        self._missing = [len(step.access) for step in workflow.steps]

    def initial(self) -> list[int]:
        """Steps that read nothing."""
        return [step for step, missing in enumerate(self._missing) if not missing]

    def done(self, step: int) -> list[int]:
        """Steps that become ready because `step` has an output now."""
        ready = []
        for reader in self._readers[step]:
            self._missing[reader] -= 1
            if not self._missing[reader]:
                ready.append(reader)
        return ready


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """What a run of an edited workflow will do, by step position.

    `known`: the outputs of the steps that have one under their fingerprint; those are `reused`.
    `runs`: will be called. `spared` are those of `runs` that read a step of `runs`: should that step's
    output come out as before, they are reused after all.
    `edited`: differ from the old workflow's step at that position.
    """

    runs: frozenset[int]
    known: Mapping[int, Output]
    spared: frozenset[int]
    edited: frozenset[int]

    @property
    def reused(self) -> frozenset[int]:
        """Steps that will not be called."""
        return frozenset(self.known)


def blast_radius(
    old: Workflow | None,
    new: Workflow,
    outputs: Mapping[str, Output],
    *,
    query: str,
    pool: Pool,
    previous: tuple[SeenResponse, ...] = (),
) -> BlastRadius:
    """What running `new` will do, given outputs by fingerprint; `old` is the workflow last run.

    `previous` is what the steps of the round before answered.


    Raises `WorkflowError` when a step names a worker that the pool does not have.
    """
    assignment = Assignment.of(new, query=query, pool=pool, previous=previous)
    known: dict[int, Output] = {}
    runs: set[int] = set()
    spared: set[int] = set()
    for step, own in enumerate(new.steps):
        if any(read in runs for read in own.access):
            runs.add(step)
            spared.add(step)
            continue
        output = outputs.get(assignment.fingerprint(step, known))
        if output is None:
            runs.add(step)
        else:
            known[step] = output
    edited = {
        step
        for step, own in enumerate(new.steps)
        if old is None or step >= len(old.steps) or old.steps[step] != own
    }
    return BlastRadius(runs=frozenset(runs), known=known, spared=frozenset(spared), edited=frozenset(edited))
