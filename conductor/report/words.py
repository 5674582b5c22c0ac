"""The report's short texts: amounts, states, and notes on an answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from conductor.runs.state import RunState, RunStatus
from conductor.runs.step_state import StepState, StepStatus
from conductor.text.calendar_time import utc_time
from conductor.text.formatting import dollars, duration, quantity, tokens
from conductor.values.output import CUT_OFF, KIND_LABELS, NO_ANSWER, Output
from conductor.values.provenance import Source, SourceKind
from conductor.values.total import Total
from conductor.workflow.model import Step

OUTCOMES: Mapping[RunStatus, str] = {
    "running": "still running when this was written",
    "finished": "finished",
    "failed": "failed",
    "cancelled": "stopped",
    "interrupted": "interrupted",
    "over_budget": "stopped at its budget",
    "paused": "waits for a person",
}

STATUSES: Mapping[StepStatus, str] = {
    "waiting": "not run",
    "running": "running",
    "finished": "finished",
    "refused": NO_ANSWER,
    "empty": "empty answer",
    "failed": "failed",
    "blocked": "blocked",
    "cancelled": "stopped",
    "interrupted": "interrupted",
    "paused": "waits for a person",
}


def outcome(state: RunState) -> tuple[str, str]:
    """How a run ended: the name of its look, and the words."""
    if state.status == "finished" and not state.answered:
        return "refused", f"finished, {NO_ANSWER}"
    return state.status, OUTCOMES[state.status]


_PARTIAL: tuple[StepStatus, ...] = ("failed", "cancelled", "interrupted")


def moment(at: float | None) -> str:
    """A time (Unix seconds) for readers anywhere; "-" where it is unknown."""
    return "-" if at is None else f"{utc_time(at):%d %b %Y, %H:%M} UTC"


def run_facts(state: RunState) -> list[tuple[str, str]]:
    """What a run did and took, by name."""
    counts, used = state.counts, state.used
    facts = [
        ("Time", duration(state.seconds)),
        ("Steps", f"{len(state.steps)} ({counts['ran']} ran)"),
        ("Calls", f"{state.calls:,}"),
        ("Tokens", used.token_sum.words(_count)),
        ("Cost", used.dollars.words(dollars)),
    ]
    for what in ("reused", "pinned"):
        facts += [(what.capitalize(), quantity(counts[what], "step"))] if counts[what] else []
    facts += [("Round", f"{state.round}")] if state.round > 1 else []
    if state.crossing is not None:
        facts.append(("Budget", state.crossing.words))
    return facts


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def session_facts(used: Total | None) -> list[tuple[str, str]]:
    """What the run's session has used so far, by name; nothing where that is unknown."""
    if used is None or used.tokens is None:
        return []
    cost = [] if used.cost is None else [used.cost_words]
    return [("Session, with planning", ", ".join([used.token_words, *cost]))]


def output_notes(step: Step, state: StepState) -> list[str]:
    """Notes on a step's output: how it came to be and what is wrong with it."""
    notes = [state.reuse_origin] if state.reuse_origin else []
    notes += ["pinned"] if state.kept_because == "pinned" else []
    notes += ["as it was before"] if state.kept_because == "preloaded" else []
    if state.output is not None and state.output.hand is not None:
        return [*notes, *by_hand(state.output)]
    notes += ["partial, not passed on"] if state.status in _PARTIAL and state.text else []
    notes += filter(None, [KIND_LABELS.get(state.worker_kind or "model")])
    stood_in = state.answered_by(step.worker)
    notes += [f"answered by {stood_in} in place of {step.worker}"] if stood_in != step.worker else []
    if state.output is not None and state.output.cut_off:
        notes.append(CUT_OFF)
    notes += [state.output.loss] if state.output is not None and state.output.loss else []
    return notes


def by_hand(output: Output) -> list[str]:
    """That a person wrote it, who and when; nothing where a worker did."""
    hand = output.hand
    if output.stand_in is not None and hand is not None:
        return [f"the step's text for a failure: {output.stand_in.reason}"]
    return [] if hand is None else [f"written by hand by {hand.by}, {moment(hand.at)}"]


def step_facts(state: StepState) -> list[str]:
    """What a step's call took; where its output was made, if it took none."""
    if state.reused or state.kept_because:
        origin = [] if state.output is None else [f"made in run {state.output.run[:8] or '-'}"]
        return [*origin, *request_name(state)]
    if state.started_at is None:
        return []
    used = state.used
    return [
        duration(state.seconds),
        used.token_sum.words(tokens),
        *([] if used.dollars.best is None else [used.dollars.words(dollars)]),
        *request_name(state),
    ]


def request_name(state: StepState) -> list[str]:
    """How the provider names the call that gave the output, to ask it about that."""
    named = None if state.output is None else state.output.request_id
    return [] if named is None else [f"request id {named}"]


def mark(state: StepState) -> str:
    """A step's end in a word or two, for its card and its row."""
    if state.status == "refused":
        return STATUSES[state.status]
    if state.reuse is not None:
        return state.reuse
    if state.kept_because is not None:
        return "pinned" if state.kept_because == "pinned" else "as before"
    if state.status == "finished":
        return duration(state.seconds)
    return STATUSES[state.status]


_NAMES: Mapping[SourceKind, str] = {
    "system": "Instructions",
    "turn": "Conversation",
    "query": "Query",
    "task": "Own task",
    "tool": "Tool calls",
    "frame": "App's wording",
}


def source_name(source: Source) -> str:
    """A source as people read it: "Step 2", "Round 1, step 2", "Query"."""
    if source.kind == "step" and source.step is not None:
        number = f"step {source.step + 1}"
        return f"Step {source.step + 1}" if source.round is None else f"Round {source.round}, {number}"
    return _NAMES.get(source.kind, "A step")
