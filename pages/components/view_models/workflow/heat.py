"""The heat of a graph: what a run took and what trials of it showed, by step or edge.

Knows runs and verdicts; knows no colours and no store. A figure in words is there for each share. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from conductor.engine.experiments import EdgeVerdict
from conductor.engine.step_verdicts import StepVerdict
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.formatting import dollars, duration, percent
from conductor.values.total import UNKNOWN, ZERO, BoundedSum, sum_of
from conductor.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Heat:
    """A figure of a step or an edge: in words, and as a share of the largest one, 0 to 1; None: unknown."""

    text: str
    share: float | None


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The figures of one kind, of steps (by their position) or of edges (by "read-reader").

    `trial` is the experiment that showed them, "" for a map of the run itself.
    """

    name: str
    label: str
    steps: Mapping[int, Heat] = field(default_factory=dict)
    edges: Mapping[str, Heat] = field(default_factory=dict)
    trial: str = ""


def run_heat(
    workflow: Workflow, run: RunState | None, *, now: float, cards: Iterable[Sequence[int]] | None = None
) -> tuple[HeatMap, ...]:
    """The time and the cost of the steps that `run` called; nothing before the first call, or of another
    workflow. `now` (Unix seconds) gives running steps their time. The steps of one of `cards` have one figure
    together, at the last of them.
    """
    if run is None or not run.is_run_of(workflow):
        return ()
    called = {
        at: state for at, state in enumerate(run.steps) if run.covered(at) and state.started_at is not None
    }
    if not called:
        return ()
    own = {step: steps[-1] for steps in cards or () for step in steps}
    times, costs = dict[int, BoundedSum](), dict[int, BoundedSum]()
    for step, state in called.items():
        at = own.get(step, step)
        times[at] = times.get(at, ZERO) + _seconds(state, now)
        costs[at] = costs.get(at, ZERO) + step_cost(state)
    return (
        HeatMap("time", "Time", _shares(times, duration, unknown="time unknown")),
        HeatMap("cost", "Cost", _shares(costs, dollars, unknown="cost unknown")),
    )


def edge_heat(verdicts: Iterable[EdgeVerdict], *, trial: str) -> HeatMap:
    """How much the answer changed without each edge that a test left out."""
    return HeatMap(
        "edges",
        "Edge test",
        edges={
            f"{each.edge[0]}-{each.edge[1]}": _without(each) for each in verdicts if each.edge is not None
        },
        trial=trial,
    )


def step_heat(verdicts: Iterable[StepVerdict], *, trial: str) -> HeatMap:
    """How often the answer turned right with another output of each step that was replaced; of several
    outputs of one step, the first verdict counts.
    """
    steps: dict[int, Heat] = {}
    for each in verdicts:
        if each.replacement is not None:
            steps.setdefault(each.replacement.step, _turned(each))
    return HeatMap("steps", "Find the step", steps, trial=trial)


def _seconds(state: StepState, now: float) -> BoundedSum:
    if state.status == "running" and state.started_at is not None:
        return sum_of(max(0.0, now - state.started_at))
    return sum_of(state.seconds)


def step_cost(state: StepState) -> BoundedSum:
    """What the step cost, 0 for one that calls no model."""
    used = state.used
    return UNKNOWN if used.cost is None and (used.calls or used.may_call) else used.dollars


def _shares(
    amounts: Mapping[int, BoundedSum], written: Callable[[float], str], *, unknown: str
) -> dict[int, Heat]:
    """Each amount as a share of the largest; in words also as one of the sum, where that is known exactly."""
    most = max((amount.best or 0.0 for amount in amounts.values()), default=0.0)
    whole = sum(amounts.values(), ZERO).exact
    heat = {}
    for step, amount in amounts.items():
        if amount.best is None:
            heat[step] = Heat(unknown, None)
            continue
        words = f"{amount.sign}{written(amount.best)}"
        heat[step] = Heat(
            f"{words} · {percent(amount.best / whole)}" if whole else words,
            amount.best / most if most else 0.0,
        )
    return heat


def _without(verdict: EdgeVerdict) -> Heat:
    if verdict.change is None:
        if verdict.lost:
            return Heat("no answer", 1.0)
        return Heat("stopped" if verdict.broken else "waiting", None)
    noise = " (noise)" if verdict.beyond_noise is False and verdict.matters else ""
    lost = f", {verdict.lost} lost" if verdict.lost else ""
    return Heat(f"{percent(verdict.change)}{lost}{noise}", 1.0 if verdict.lost else verdict.change)


def _turned(verdict: StepVerdict) -> Heat:
    if verdict.share is None:
        return Heat("stopped" if verdict.broken else "waiting", None)
    return Heat(f"right in {verdict.right} of {verdict.ended}", verdict.share)
