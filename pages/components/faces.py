"""What each card of the graph shows, from the workflow, its last run and the blast radius. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from conductor.drawing import CardFace, CardStatus, title_of
from conductor.engine.schedule import BlastRadius
from conductor.run_state import RunState, StepState
from conductor.workers.protocol import WorkerCard
from conductor.workflow import Step, Workflow


def step_name(workflow: Workflow, step: int) -> str:
    """A step as it is named everywhere: its number, counted from 1, and its title."""
    return f"{step + 1}. {title_of(workflow.steps[step].instruction)[0]}"


def faces(
    workflow: Workflow,
    *,
    run: RunState | None,
    radius: BlastRadius | None,
    cards: Mapping[str, WorkerCard],
    now: float,
) -> tuple[CardFace, ...]:
    """One face a step.

    While the workflow is the one last run, a card shows what happened; after an edit it shows what a rerun
    would do. `now` (Unix seconds) gives running steps their time.
    """
    as_run = run is not None and run.workflow == workflow
    return tuple(
        _face(
            step,
            state=run.steps[at] if as_run and run is not None else None,
            planned=None if as_run or run is None or radius is None else at in radius.reused,
            card=cards.get(step.worker),
            now=now,
        )
        for at, step in enumerate(workflow.steps)
    )


def _face(
    step: Step, *, state: StepState | None, planned: bool | None, card: WorkerCard | None, now: float
) -> CardFace:
    title, body = title_of(step.instruction)
    status, note = _as_run(state, now) if state is not None else _as_planned(planned)
    return CardFace(
        title=title,
        body=body,
        worker=step.worker,
        status=status,
        note=note,
        badges=() if card is None or card.kind == "model" else (card.kind,),
    )


def _as_planned(reused: bool | None) -> tuple[CardStatus, str]:
    if reused is None:
        return "waiting", ""
    return ("finished", "kept") if reused else ("stale", "will run")


def _as_run(state: StepState, now: float) -> tuple[CardStatus, str]:
    if state.reused:
        return state.status, "reused"
    if state.status == "running" and state.started_at is not None:
        return state.status, f"{max(0.0, now - state.started_at):.1f} s"
    return state.status, "" if state.seconds is None else duration(state.seconds)


def duration(seconds: float) -> str:
    """Seconds as people read them."""
    if seconds < 0.001:
        return "<1 ms"
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
