"""What each card of the graph shows, from the workflow, its last run and the blast radius. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conductor.drawing import CardFace, CardStatus, title_of
from conductor.engine.schedule import BlastRadius
from conductor.run_state import RunState, StepState
from conductor.workers.protocol import WorkerCard
from conductor.workflow import Step, Workflow
from pages.components.amounts import counted
from pages.components.stand_ins import cut_off, who_answers


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
    title, mark, body = title_of(step.instruction)
    status, note = _as_run(state, now) if state is not None else _as_planned(planned)
    kind = state.worker_kind if state is not None and state.worker_kind else card.kind if card else "model"
    return CardFace(
        title=title,
        mark=mark,
        body=body,
        worker=step.worker if state is None else who_answers(step.worker, state),
        status=status,
        note=note,
        badges=(*([] if kind == "model" else [kind]), *(["sees the round before"] * step.sees_previous)),
        remark="" if state is None else _remark(step, state, now),
        inside="" if state is None else inside_words(state.inner),
    )


def _as_planned(reused: bool | None) -> tuple[CardStatus, str]:
    if reused is None:
        return "waiting", ""
    return ("finished", "kept") if reused else ("stale", "will run")


def _as_run(state: StepState, now: float) -> tuple[CardStatus, str]:
    if state.reused:
        return state.status, "reused"
    wait = asked_again_in(state, now)
    if wait is not None:
        return "retrying", f"again in {wait:.1f} s"
    if state.status == "running" and state.started_at is not None:
        return phase(state, now), f"{max(0.0, now - state.started_at):.1f} s"
    return state.status, "" if state.seconds is None else duration(state.seconds)


def phase(state: StepState, now: float) -> CardStatus:
    """A step's status, with what a running one does that has not begun to answer."""
    if state.status != "running" or state.text:
        return state.status
    if state.reasoning:
        return "thinking"
    return "running" if asked_again_in(state, now) is None else "retrying"


def asked_again_in(state: StepState, now: float) -> float | None:
    """Seconds until a worker that gave nothing is asked again; None where that is not waited for."""
    if state.status != "running" or not state.retries or state.text or state.reasoning:
        return None
    last = state.retries[-1]
    left = last.at + last.seconds - now
    return left if left > 0 else None


def _remark(step: Step, state: StepState, now: float) -> str:
    """What must be said of the answer, or why there is none yet."""
    if asked_again_in(state, now) is not None:
        return state.retries[-1].message
    stood_in = [f"in place of {step.worker}"] if who_answers(step.worker, state) != step.worker else []
    return " · ".join([*stood_in, *cut_off(state)])


def inside_words(rounds: Sequence[RunState]) -> str:
    """What a step done by a workflow of its own has inside; "" for others."""
    workflows = [inner.workflow for inner in rounds if inner.workflow is not None]
    if len(workflows) > 1:
        return f"{counted(len(workflows), 'round')} inside"
    if workflows:
        return f"{counted(len(workflows[0]), 'step')} inside"
    return "a plan inside" if rounds else ""


def duration(seconds: float) -> str:
    """Seconds as people read them."""
    if seconds < 0.001:
        return "<1 ms"
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
