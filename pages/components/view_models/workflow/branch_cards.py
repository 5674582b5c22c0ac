"""The cards of a graph with collapsed branches: state, figures, heat of all their steps. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from conductor.drawing.branches import Branches, branches_of, main_branches
from conductor.drawing.network import CardContent, CardStatus
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.formatting import duration, quantity
from conductor.workflow.model import Workflow
from pages.components.view_models.workflow.card_content import figures
from pages.components.view_models.workflow.heat import Heat, HeatMap

_FIRST: tuple[CardStatus, ...] = (
    "running", "thinking", "retrying", "paused", "failed", "blocked", "interrupted", "cancelled", "stale",
    "waiting", "refused", "empty", "finished",
)  # fmt: skip
"""Of several states, the first one of these is that of the card."""

_DONE: frozenset[CardStatus] = frozenset({"finished", "refused", "empty"})
"""The states of steps with an output that counts."""

_LARGE = 10
"""Of so many steps, all finished branches can be collapsed at once."""


def finished_branches(workflow: Workflow, contents: Sequence[CardContent]) -> list[int]:
    """The last steps of the branches of a large workflow that have nothing left to do."""
    done = [step for step, content in enumerate(contents) if content.status in _DONE]
    return sorted(main_branches(workflow, done)) if len(workflow) >= _LARGE else []


def branch_contents(
    branches: Branches, contents: Sequence[CardContent], run: RunState | None, *, now: float
) -> tuple[CardContent, ...]:
    """A content for each card, from those of the steps; `run` and `now` are as in `card_contents`."""
    return tuple(_contents(branches, contents, run, now))


def _contents(
    branches: Branches, contents: Sequence[CardContent], run: RunState | None, now: float
) -> Iterator[CardContent]:
    workflow = branches.workflow
    states = run.steps if run is not None and run.is_run_of(workflow) else ()
    sizes = list(map(len, branches_of(workflow)))
    for steps in branches.cards:
        own = contents[steps[-1]]
        if len(steps) > 1:
            own = _of_branch(
                [contents[at] for at in steps], steps, [states[at] for at in steps if states], now
            )
        numbered = len(branches.cards) < len(workflow)
        yield replace(own, steps=steps if numbered else None, branch=sizes[steps[-1]])


def _of_branch(
    parts: Sequence[CardContent], steps: Sequence[int], states: Sequence[StepState], now: float
) -> CardContent:
    own, workers = parts[-1], {part.worker for part in parts}
    at = min(range(len(parts)), key=lambda at: _FIRST.index(parts[at].status))
    first = parts[at]
    remark = first.remark if first is own or not first.remark else f"Step {steps[at] + 1}: {first.remark}"
    badges = [badge for part in (own, *parts) for badge in part.badges]
    if len(workers) > 1:
        badges.append(quantity(len(workers), "worker"))
    if any(part.gate for part in parts[:-1]):
        badges.append("a gate inside")
    says = own if own.excerpt else first
    return replace(
        own,
        status=first.status,
        note=_note(parts, states, now),
        figures=figures(states),
        badges=tuple(dict.fromkeys(badges)),
        excerpt=says.excerpt,
        streams=says.streams,
        remark=remark or own.remark,
        inside=quantity(len(parts), "step"),
    )


def _note(parts: Sequence[CardContent], states: Sequence[StepState], now: float) -> str:
    """How many are done, or will run; once all are, the time from the first call to the last one's end."""
    count, stale = len(parts), sum(part.status == "stale" for part in parts)
    if stale:
        return f"{stale} of {count} will run"
    done = sum(part.status in _DONE for part in parts)
    if done < count:
        started = done or any(state.started_at is not None for state in states)
        return f"{done} of {count} done" if started else ""
    called = [
        (state.started_at, state.finished_at or now) for state in states if state.started_at is not None
    ]
    if called:
        return duration(max(end for _, end in called) - min(start for start, _ in called))
    notes = {part.note for part in parts}
    return notes.pop() if len(notes) == 1 else ""


def branch_heat(heat: HeatMap, branches: Branches) -> HeatMap:
    """A trial's map by cards: each card has the largest figure of its steps, an edge that of its accesses."""
    card_of = {step: at for at, steps in enumerate(branches.cards) for step in steps}
    steps: dict[int, Heat] = {}
    for steps_of in branches.cards:
        measured = [heat.steps[step] for step in steps_of if step in heat.steps]
        if measured:
            steps[steps_of[-1]] = max(measured, key=_share)
    edges: dict[str, Heat] = {}
    for edge, figure in heat.edges.items():
        read, reader = (card_of.get(int(step)) for step in edge.split("-"))
        name = f"{read}-{reader}"
        if read != reader:
            edges[name] = max(edges.get(name, figure), figure, key=_share)
    return replace(heat, steps=steps, edges=edges)


def _share(heat: Heat) -> float:
    return -1.0 if heat.share is None else heat.share
