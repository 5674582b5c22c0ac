"""The content of each card of the graph, from the workflow, its last run and the blast radius. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from conductor.drawing.marks import Mark, marks
from conductor.drawing.network import CardContent, CardStatus, title_of
from conductor.engine.schedule import BlastRadius
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.excerpt import excerpt, last_line
from conductor.text.formatting import dollars, duration, named, quantity
from conductor.values.output import Output
from conductor.values.provenance import LIKELY_CHARACTERS
from conductor.values.total import NOTHING
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.run_text import ending_notes

_CALL = 120
"""Characters of a call of a tool in a line."""

PIN_CHANGED = "pinned, inputs changed"
"""The note on a pinned step whose request would differ from the one that its output answers."""

_GIVEN_LENGTH = 24
"""Characters of an output that an edge carries."""

_LONG_TOKENS = 1_000
"""An output from so many tokens on is named by its length."""


def worker_marks(cards: Mapping[str, WorkerCard], *others: str) -> dict[str, Mark]:
    """The mark of each worker of the pool, and of others, which a workflow names all the same."""
    return marks(
        {name: card.colour for name, card in cards.items()}
        | {name: None for name in sorted(others) if name not in cards}
    )


def step_name(workflow: Workflow, step: int) -> str:
    """A step as it is named everywhere: its number, counted from 1, and its title."""
    return f"{step + 1}. {title_of(workflow.steps[step].instruction)[0]}"


def card_contents(
    workflow: Workflow,
    *,
    run: RunState | None,
    radius: BlastRadius | None,
    cards: Mapping[str, WorkerCard],
    now: float,
    pin_changed: Collection[int] = (),
    notes: Mapping[int, int] = MappingProxyType({}),
) -> tuple[CardContent, ...]:
    """One content a step.

    While the workflow is the one last run, a card shows what happened; after an edit, and where that run
    left the step out, it shows what a rerun would do. `now` (Unix seconds) gives running steps their time.
    `pin_changed` are the pinned steps that would be asked something else by now; `notes` counts those that
    people wrote, by step.
    """
    as_run = run if run is not None and run.is_run_of(workflow) else None
    states = [
        as_run.steps[at] if as_run is not None and as_run.covered(at) else None for at in range(len(workflow))
    ]
    workers = [answering(step, state) for step, state in zip(workflow.steps, states, strict=True)]
    own = worker_marks(cards, *workflow.workers(), *workers)
    return tuple(
        _content(
            step,
            state=states[at],
            mark=own[workers[at]],
            planned="" if run is None or radius is None else _planned(radius, at),
            output=step.pin if radius is None else radius.outputs.get(at, step.pin),
            card=cards.get(step.worker),
            now=now,
            pin_changed=at in pin_changed,
            doubt=None if radius is None else radius.doubts.get(at),
            notes=notes.get(at, 0),
        )
        for at, step in enumerate(workflow.steps)
    )


def _planned(radius: BlastRadius, step: int) -> str:
    if step in radius.kept_steps:
        return "pinned"
    if step in radius.equal_steps:
        return "from an equal step"
    return "reused" if step in radius.reused else "will run"


def answering(step: Step, state: StepState | None) -> str:
    """The worker of a step; in a run, the one that answers it."""
    return step.worker if state is None else state.answered_by(step.worker)


def _content(
    step: Step,
    *,
    state: StepState | None,
    mark: Mark,
    planned: str,
    output: Output | None,
    card: WorkerCard | None,
    now: float,
    pin_changed: bool,
    doubt: str | None,
    notes: int,
) -> CardContent:
    title, _, body = title_of(step.instruction)
    pin = step.pin
    planned = planned or ("" if pin is None else "pinned")
    status, note = _as_planned(planned) if state is None else _as_run(state, now)
    by_pin = "model" if pin is None else pin.worker_kind
    kind = state.worker_kind if state is not None and state.worker_kind else card.kind if card else by_pin
    by_hand = pin is not None and pin.hand is not None
    by_rule = _own_text(state)
    badges = {
        kind: kind != "model" and not (by_hand or by_rule),
        "pinned": pin is not None and note != "pinned",
        "by hand": by_hand,
        "sees the previous round": step.sees_previous,
        "sees no file": not step.sees_files,
        "no tools": step.tools == (),
        "fewer tools": bool(step.tools),
        "by rule": by_rule,
        quantity(notes, "note"): notes > 0,
    }
    remarks = [PIN_CHANGED] if pin_changed else []
    if doubt is not None and (state is None or state.output is not None):
        remarks.append(f"runs again: {doubt}")
    if state is not None:
        remarks += _remarks(step, state, now)
    return CardContent(
        title=title,
        body=body,
        worker=answering(step, state),
        status=status,
        note=note,
        figures=() if state is None else figures([state]),
        badges=tuple(badge for badge, applies in badges.items() if applies),
        excerpt=_excerpt(output)
        if state is None
        else _excerpt(state.output) or last_line(state.text) or calls_now(state, now),
        streams=state is not None and state.output is None,
        gives="" if state is None else _amount(state.output),
        remark=" · ".join(remarks),
        inside="" if state is None else inside_text(state.inner),
        gate=step.gate,
        mark=mark,
    )


def _own_text(state: StepState | None) -> bool:
    """Whether the step failed, and the text of its rule for failures is its output."""
    stand_in = None if state is None or state.output is None else state.output.stand_in
    return stand_in is not None and stand_in.text


def _as_planned(planned: str) -> tuple[CardStatus, str]:
    if not planned:
        return "waiting", ""
    return ("stale" if planned == "will run" else "finished"), planned


def _as_run(state: StepState, now: float) -> tuple[CardStatus, str]:
    if state.reused:
        return state.status, "from an equal step" if state.of_equal_step else "reused"
    if state.kept_because is not None:
        return state.status, "pinned" if state.kept_because == "pinned" else "as before"
    wait = seconds_to_retry(state, now)
    if wait is not None:
        return "retrying", f"again in {wait:.1f} s"
    if state.status == "running" and state.started_at is not None:
        return phase(state, now), f"{max(0.0, now - state.started_at):.1f} s"
    return state.status, "" if state.seconds is None else duration(state.seconds)


def figures(states: Iterable[StepState]) -> tuple[str, ...]:
    """How often the workers were asked again and called tools, and what the calls used, as far as known."""
    called = [state for state in states if not (state.reused or state.kept_because is not None)]
    retries = sum(len(state.retries) for state in called)
    tools = sum(len(state.tool_uses) for state in called)
    used = sum((state.used for state in called), NOTHING)
    return (
        *(["1 retry" if retries == 1 else f"{retries:,} retries"] if retries else []),
        *([quantity(tools, "tool call")] if tools else []),
        *([] if used.tokens is None else [f"{used.token_sum.sign}{used.tokens:,} tok"]),
        *([f"{used.dollars.sign}{dollars(used.cost)}"] if used.cost else []),
    )


def _excerpt(output: Output | None) -> str:
    return "" if output is None else excerpt(output.text)


def _amount(output: Output | None) -> str:
    """An output as an edge carries it: its first words; of a long one, how long it is."""
    if output is None:
        return ""
    tokens = output.usage.completion_tokens
    count = len(output.text) / LIKELY_CHARACTERS if tokens is None else tokens
    if count < _LONG_TOKENS:
        return excerpt(output.text, _GIVEN_LENGTH)
    return f"{'~' if tokens is None else ''}{count / 1000:,.1f}k tokens"


def phase(state: StepState, now: float) -> CardStatus:
    """A step's status, with what a running one does that has not begun to answer."""
    if state.status != "running" or state.text:
        return state.status
    if state.reasoning:
        return "thinking"
    return "running" if seconds_to_retry(state, now) is None else "retrying"


def calls_now(state: StepState, now: float) -> str:
    """The calls of tools that a step waits for, of a single one the arguments, and their time; "" if none."""
    calls = state.unanswered
    if state.done or not calls:
        return ""
    lines = [call.tool.line for call in calls if call.tool is not None]
    names = lines if len(lines) == 1 else [*dict.fromkeys(call.name for call in calls)]
    return f"calls {named(names, cut=_CALL)} · {max(0.0, now - calls[0].started_at):.1f} s"


def seconds_to_retry(state: StepState, now: float) -> float | None:
    """Seconds until a worker that gave nothing is asked again, or None if that is not waited for."""
    if state.status != "running" or not state.retries or state.text or state.reasoning:
        return None
    last = state.retries[-1]
    left = last.at + last.seconds - now
    return left if left > 0 else None


def _remarks(step: Step, state: StepState, now: float) -> list[str]:
    """Notes on the answer, or why there is no answer yet."""
    if seconds_to_retry(state, now) is not None:
        return [state.retries[-1].reason]
    if state.message is not None:
        return [state.message]
    if state.questions:
        return ["a tool may act: decide"]
    stood_in = [f"in place of {step.worker}"] if state.answered_by(step.worker) != step.worker else []
    return [*stood_in, *ending_notes(state)]


def inside_text(rounds: Sequence[RunState]) -> str:
    """The summary of a step's nested workflow; "" for steps without one."""
    workflows = [inner.workflow for inner in rounds if inner.workflow is not None]
    if len(workflows) > 1:
        return f"{quantity(len(workflows), 'round')} inside"
    if workflows:
        return f"{quantity(len(workflows[0]), 'step')} inside"
    return "a plan inside" if rounds else ""
