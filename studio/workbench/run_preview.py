"""What a run of a session's current workflow will do: steps, outputs known, and probably how much it takes.

Knows values only; the workbench reads what they are made of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from conductor.engine.assignment import Assignment
from conductor.engine.estimate import Estimate, estimate
from conductor.engine.extent import EDITED, Extent
from conductor.engine.schedule import BlastRadius, blast_radius, changed_pins
from conductor.output import Output
from conductor.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Outlook:
    """`radius` says which steps, `estimate` what they will probably take. `changed_pins` are pinned steps
    whose inputs are others by now than those that their output answers, as far as the inputs are known.
    """

    radius: BlastRadius
    estimate: Estimate
    changed_pins: frozenset[int]

    def resumption(self, covers: Collection[int]) -> Resumption | None:
        """What a run of these steps keeps of one that broke off; None where it keeps nothing."""
        kept = sum(step in self.radius.known for step in covers)
        return Resumption(kept=kept, steps=len(covers)) if kept else None


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a run keeps that goes on where one broke off: so many of the steps have their output already."""

    kept: int
    steps: int

    @property
    def words(self) -> str:
        """After "Resumes:"."""
        verb = "is" if self.kept == 1 else "are"
        return f"{self.kept} of {self.steps} steps {verb} kept" if self.steps > 1 else "its step is kept"


def outlook(
    assignment: Assignment,
    *,
    old: Workflow | None,
    outputs: Mapping[str, Output],
    extent: Extent = EDITED,
    preloaded: Mapping[int, Output],
) -> Outlook:
    """See `blast_radius` for the arguments."""
    radius = blast_radius(old, assignment, outputs, extent=extent, preloaded=preloaded)
    return Outlook(
        radius=radius,
        estimate=estimate(assignment.workflow, radius.runs, outputs.values()),
        changed_pins=changed_pins(assignment, radius.known),
    )
