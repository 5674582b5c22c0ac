"""The legend of a workflow's graph: each worker's mark, and what a run took of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conductor.drawing.marks import Mark
from conductor.drawing.network import CardContent
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.formatting import percent, quantity
from conductor.values.total import NOTHING
from conductor.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """A worker's steps, from 0, in a workflow; `figures` are what it took, the most important first."""

    worker: str
    mark: Mark | None
    steps: tuple[int, ...]
    figures: tuple[str, ...]


def worker_legend(
    workflow: Workflow, contents: Sequence[CardContent], run: RunState | None
) -> tuple[WorkerShare, ...]:
    """A share for each worker on the cards, in their order; a single step needs no legend.

    Before the first call of `run` it counts steps. What is unknown is left out. A share of the time is one of
    all calls' time, however many ran at once.
    """
    if len(contents) < 2:
        return ()
    by_worker: dict[str, list[int]] = {}
    for step, content in enumerate(contents):
        by_worker.setdefault(content.worker, []).append(step)
    states = run.steps if run is not None and run.is_run_of(workflow) else ()
    called = {at: state for at, state in enumerate(states) if state.started_at is not None}
    whole = sum(state.seconds or 0.0 for state in called.values())
    shares = []
    for worker, steps in by_worker.items():
        own = [called[at] for at in steps if at in called]
        figures = [quantity(sum(map(_calls, own)), "call") if called else quantity(len(steps), "step")]
        if own:
            figures += sum((state.used for state in own), NOTHING).known_words
        if own and whole:
            figures.append(f"{percent(sum(state.seconds or 0.0 for state in own) / whole)} of the time")
        shares.append(WorkerShare(worker, contents[steps[0]].mark, tuple(steps), tuple(figures)))
    return tuple(shares)


def _calls(state: StepState) -> int:
    """The requests that the worker got which answers a step."""
    return state.own_calls if state.stand_in is None else state.calls - state.own_calls
