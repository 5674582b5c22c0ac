"""Experiments on a workflow that has run: variants of it, each run on the same frozen outputs. Pure.

Knows workflows and extents; how trials are run and kept is the store's matter, how they look the pages'.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Literal

from pydantic import Field

from conductor.engine.extent import EDITED, Extent
from conductor.errors import WorkflowError
from conductor.messages import Value
from conductor.output import Output
from conductor.run_state import RunState
from conductor.word_diff import compare_texts
from conductor.workflow import Workflow

MAX_REPEATS = 9
MAX_TRIALS = 200
"""The most runs of one experiment; each may call many workers."""

Edge = tuple[int, int]
"""An access by its two steps, 0-based: who is read, who reads."""


class Swap(Value):
    """One step done by several workers, on what it saw in the run that is compared with."""

    kind: Literal["swap"] = "swap"
    step: int
    workers: tuple[str, ...] = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=MAX_REPEATS)


class EdgeTest(Value):
    """Each of `edges` left out, once for each repeat; what depends on it is run again.

    With more than one repeat there is a control as well: nothing is left out, and what reads the tested edges
    is called anew, so that one sees how much the answer changes by itself.
    """

    kind: Literal["edges"] = "edges"
    edges: tuple[Edge, ...] = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=MAX_REPEATS)


Experiment = Swap | EdgeTest


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of an experiment: its workflow and how much of it is run.

    `worker` does the step in a swap; `edge` is left out in an edge test, None in its control. `repeat` counts
    from 1.
    """

    workflow: Workflow
    extent: Extent
    worker: str | None = None
    edge: Edge | None = None
    repeat: int = 1


def trials_of(experiment: Experiment, workflow: Workflow) -> tuple[Trial, ...]:
    """The runs that `experiment` on `workflow` takes, in order, repeats of one variant side by side.

    Raises `WorkflowError` where it names a step or an edge that `workflow` does not have, tests an edge into
    a pinned step, or takes more than `MAX_TRIALS` runs.
    """
    trials = tuple(
        _swaps(experiment, workflow) if isinstance(experiment, Swap) else _edges(experiment, workflow)
    )
    if len(trials) > MAX_TRIALS:
        raise WorkflowError(
            f"This takes {len(trials)} runs; an experiment has at most {MAX_TRIALS}. Choose fewer edges or "
            "workers, or fewer repeats."
        )
    return trials


def _swaps(swap: Swap, workflow: Workflow) -> list[Trial]:
    if not 0 <= swap.step < len(workflow):
        raise WorkflowError(f"There is no step {swap.step + 1}; this workflow has {len(workflow)}.")
    extent = Extent(kind="only", step=swap.step)
    return [
        Trial(
            workflow=workflow.with_pin(swap.step, None).with_worker(swap.step, worker),
            extent=extent,
            worker=worker,
            repeat=repeat,
        )
        for worker in dict.fromkeys(swap.workers)
        for repeat in range(1, swap.repeats + 1)
    ]


def _edges(test: EdgeTest, workflow: Workflow) -> list[Trial]:
    for read, reader in test.edges:
        if not 0 <= reader < len(workflow) or read not in workflow.steps[reader].access:
            raise WorkflowError(f"Step {reader + 1} does not read step {read + 1}; choose one of the edges.")
        if reader in workflow.pins:
            raise WorkflowError(
                f"Step {reader + 1} is pinned, so nothing depends on what it reads; unpin it first.",
                step=reader,
            )
    repeats = range(1, test.repeats + 1)
    trials: list[Trial] = []
    for read, reader in dict.fromkeys(test.edges):
        access = set(workflow.steps[reader].access) - {read}
        # Once, what is known may count; to see how much a worker varies, it has to be asked each time.
        extent = EDITED if test.repeats == 1 else Extent(kind="from", step=reader)
        trials += (
            Trial(
                workflow=workflow.with_access(reader, access),
                extent=extent,
                edge=(read, reader),
                repeat=repeat,
            )
            for repeat in repeats
        )
    if test.repeats > 1:
        first = min(reader for _, reader in test.edges)
        trials += (
            Trial(workflow=workflow, extent=Extent(kind="from", step=first), repeat=repeat)
            for repeat in repeats
        )
    return trials


def edges_to_test(workflow: Workflow) -> tuple[Edge, ...]:
    """The edges that can be left out to some effect, in the order of who reads."""
    return tuple(
        (read, reader)
        for reader, step in enumerate(workflow.steps)
        if reader not in workflow.pins
        for read in step.access
    )


@dataclass(frozen=True, slots=True)
class EdgeVerdict:
    """What leaving out `edge` (None: nothing, the control) did to the answer.

    `changes` has for each trial with an answer how much of the text is another than in the run that is
    compared with, from 0 to 1. `lost` counts the trials that ended without an answer, `pending` those that
    have not ended, `broken` those that were stopped or interrupted, which says nothing of the edge.
    """

    edge: Edge | None
    changes: tuple[float, ...]
    lost: int
    pending: int
    broken: int = 0

    @property
    def change(self) -> float | None:
        """The mean change; None before there is an answer."""
        return mean(self.changes) if self.changes else None

    @property
    def matters(self) -> bool:
        """Whether some answer was another one, or none was given."""
        return self.lost > 0 or any(self.changes)


def edge_verdicts(
    answer: str, trials: Sequence[Trial], states: Mapping[int, RunState]
) -> tuple[EdgeVerdict, ...]:
    """A verdict for each edge, the one that changed most first, and the control's last.

    `states` are the runs so far by the trial's place.
    """
    edges = dict.fromkeys(trial.edge for trial in trials)
    verdicts = [
        _verdict(edge, answer, [states.get(at) for at, trial in enumerate(trials) if trial.edge == edge])
        for edge in edges
    ]
    return tuple(sorted(verdicts, key=_rank))


def _verdict(edge: Edge | None, answer: str, states: Collection[RunState | None]) -> EdgeVerdict:
    over = [state for state in states if state is not None and not state.live]
    ended = [state for state in over if state.status in ("finished", "failed")]
    answers = [state.answer for state in ended if state.answer is not None]
    return EdgeVerdict(
        edge=edge,
        changes=tuple(1 - compare_texts(answer, other).share for other in answers),
        lost=len(ended) - len(answers),
        pending=len(states) - len(over),
        broken=len(over) - len(ended),
    )


def _rank(verdict: EdgeVerdict) -> tuple[bool, int, float, Edge]:
    """Controls last; first of all the edges without which there was no answer."""
    change = -1.0 if verdict.change is None else verdict.change
    return (verdict.edge is None, -verdict.lost, -change, verdict.edge or (0, 0))


def frozen_outputs(state: RunState) -> dict[str, Output]:
    """A run's outputs by fingerprint: what its trials may reuse. Hand-written ones count as pinned only."""
    return {
        output.fingerprint: output
        for output in state.outputs.values()
        if output.hand is None and output.fingerprint
    }
