"""What a run of a session's current workflow will do: steps, outputs known, and probably how much it takes.

Knows values only; the workbench reads what they are made of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.estimate import Estimate, estimate
from conductor.engine.schedule import BlastRadius, blast_radius, changed_pins
from conductor.engine.scope import EDITED, RunScope
from conductor.values.output import Output
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Outlook:
    """`radius` names the steps, `estimate` what they will probably take. `changed_pins` are pinned steps
    whose inputs, as far as they are known, have changed since their output was given.
    """

    radius: BlastRadius
    estimate: Estimate
    changed_pins: frozenset[int]

    def resumption(self, covers: Collection[int]) -> Resumption | None:
        """What a run of these steps reuses of one that broke off; None where it reuses nothing."""
        kept = sum(step in self.radius.known for step in covers)
        return Resumption(kept=kept, steps=len(covers)) if kept else None


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a run reuses of one that broke off: how many of the steps have their output already."""

    kept: int
    steps: int

    @property
    def words(self) -> str:
        """After "Resumes:"."""
        verb = "is" if self.kept == 1 else "are"
        return f"{self.kept} of {self.steps} steps {verb} kept" if self.steps > 1 else "its step is kept"


def outlook(
    bound: BoundWorkflow,
    *,
    old: Workflow | None,
    outputs: Mapping[str, Output],
    scope: RunScope = EDITED,
    preloaded: Mapping[int, Output],
    cards: Mapping[str, WorkerCard],
) -> Outlook:
    """See `blast_radius` for the arguments; `cards` are the pool's by name."""
    radius = blast_radius(old, bound, outputs, scope=scope, preloaded=preloaded)
    return Outlook(
        radius=radius,
        estimate=estimate(bound, radius.runs, outputs.values(), cards=cards, known=radius.known),
        changed_pins=changed_pins(bound, radius.known),
    )
