"""The schedule: steps that are ready, steps that an edit makes run again, the step with the answer. Pure: no
clock, no worker, no event.

Knows the one rule of order: a step is ready the moment the last step it reads is done.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.known_outputs import KnownOutputs, Takeover
from conductor.runs.scope import EDITED, RunScope
from conductor.values.output import Output
from conductor.workflow.fingerprint import outline_of
from conductor.workflow.model import Workflow


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


def kept_outputs(
    workflow: Workflow, *, covers: frozenset[int], preloaded: Mapping[int, Output]
) -> dict[int, Output]:
    """The outputs that count without a call in a run that `covers` these steps: pinned ones, and what is
    `preloaded` for the steps it leaves out.
    """
    if not preloaded and not workflow.pins:
        return {}
    needs = covers | {read for step in covers for read in workflow.steps[step].access}
    outside = {step: output for step, output in preloaded.items() if step not in covers}
    preset = {**outside, **workflow.pins}
    return {step: preset[step] for step in sorted(needs & preset.keys())}


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """What a run of an edited workflow will do, by step position.

    `runs`: will be called. `spared` are those of `runs` that are shown only the response of a step of `runs`:
    if that stays the same, they may be reused after all. `behind` are those of `runs` that a gate comes
    before: the run ends without them, and the run that continues it calls them.
    `outputs`: what steps have without a call. `kept_steps` are those of them that are pinned or
    preloaded; the others are `reused`, and `equal_steps` are those of the reused whose output was another,
    equal step's. `doubts`: why those of `runs` are called that have an answer to the same request.
    `edited`: differ from the old workflow's step at that position, in more than a gate and what is
    done on a failure. `outdated` are those of `runs` whose outputs an earlier version stored.
    """

    runs: frozenset[int]
    outputs: Mapping[int, Output]
    spared: frozenset[int]
    edited: frozenset[int]
    kept_steps: frozenset[int] = frozenset()
    behind: frozenset[int] = frozenset()
    equal_steps: frozenset[int] = frozenset()
    outdated: frozenset[int] = frozenset()
    doubts: Mapping[int, str] = field(default_factory=dict)

    @property
    def called(self) -> frozenset[int]:
        """Steps that the run calls before it ends or waits, where no step answers as before."""
        return self.runs - self.behind

    @property
    def reused(self) -> frozenset[int]:
        """Steps that will not be called, because an output for just their request is known."""
        return frozenset(self.outputs) - self.kept_steps


def blast_radius(
    old: Workflow | None,
    bound: BoundWorkflow,
    reusable: KnownOutputs,
    *,
    scope: RunScope = EDITED,
    preloaded: Mapping[int, Output] | None = None,
) -> BlastRadius:
    """What a run of `bound` will do that goes as far as `scope`, given outputs that are `reusable`.

    `old` is the workflow last run; `preloaded` are outputs by position, as `WorkflowRun` takes them.
    """
    new = bound.workflow
    covers, forced = scope.covers(new), scope.forced(new)
    preset = kept_outputs(new, covers=covers, preloaded=preloaded or {})
    takeover = Takeover(reusable, bound, scope=scope, preset=preset)
    without_call: dict[int, Output] = dict(preset)
    runs: set[int] = set()
    spared: set[int] = set()
    behind: set[int] = set()
    equal: set[int] = set()
    doubts: dict[int, str] = {}
    gates = scope.holds(new)
    for step in sorted(covers - preset.keys()):
        reads = new.steps[step].access
        if step in forced:
            runs.add(step)
        elif any(read in runs for read in reads):
            runs.add(step)
            if takeover.may_take(step):
                spared.add(step)
        elif all(read in without_call for read in reads):
            address = bound.fingerprint(step, without_call)
            output = takeover.take(step, address, without_call)
            if output is None:
                runs.add(step)
                if (doubt := takeover.doubt(step, address)) is not None:
                    doubts[step] = doubt
            else:
                without_call[step] = output
                if not takeover.is_own(step, output):
                    equal.add(step)
        if step in runs and (step in gates or not behind.isdisjoint(reads)):
            behind.add(step)
    edited = {
        step
        for step, own in enumerate(new.steps)
        if old is None or step >= len(old.steps) or old.steps[step].unguarded != own.unguarded
    }
    return BlastRadius(
        runs=frozenset(runs),
        outputs=without_call,
        spared=frozenset(spared),
        edited=frozenset(edited),
        kept_steps=frozenset(preset),
        behind=frozenset(behind),
        equal_steps=frozenset(equal),
        outdated=frozenset(step for step in runs if takeover.is_outdated(step)),
        doubts=doubts,
    )


def changed_pins(bound: BoundWorkflow, outputs: Mapping[int, Output]) -> frozenset[int]:
    """The pinned steps whose request now differs from the one that their output answers.

    `outputs` are known by position. A pinned step is left out where an output that it reads is unknown, and
    where its own has no fingerprint to compare: written from nothing, or by an earlier version. So is one
    whose worker the pool does not have, as more than its name decides a fingerprint.
    """
    return frozenset(
        step
        for step, pin in bound.workflow.pins.items()
        if outline_of(pin.fingerprint) is not None
        and bound.workflow.steps[step].worker not in bound.uncalled
        and all(read in outputs for read in bound.workflow.steps[step].access)
        and (pin.worker not in bound.cards or not bound.would_give(step, pin, outputs))
    )


def answer_of(
    workflow: Workflow, outputs: Mapping[int, Output], *, goal: int, lost: Collection[int]
) -> tuple[int | None, str | None]:
    """The step whose response is the answer, and a warning where it is not simply the final step's.

    None if no step has a response, or the run was not for the final step (`goal`). `lost` are the steps
    that failed or were blocked. All positions.
    """
    final = workflow.final
    if final not in outputs or goal != final:
        return None, None
    failed = ", ".join(str(step + 1) for step in sorted(lost))
    warning = f"Failed or blocked, but not needed for the answer: step {failed}." if failed else None
    if not outputs[final].empty:
        return final, warning
    spoken = [step for step, output in outputs.items() if not output.empty]
    if not spoken:
        return None, f"Every step's response is empty. Step {final + 1}: {outputs[final].silence}"
    step = max(spoken)
    instead = f"The final step's response is empty; this is the response of step {step + 1}."
    return step, f"{instead} Step {final + 1}: {outputs[final].silence}"
