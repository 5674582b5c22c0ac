"""A run and its steps in words: states and their icons, notes on an answer, the budget used. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.calendar_time import local_time
from conductor.text.formatting import dollars, duration
from conductor.values.budget import Limit
from conductor.values.output import CUT_OFF, EMBEDDED_LABEL, NO_ANSWER, Output, WorkerKind
from conductor.values.total import Total
from storage import Plan, SessionState

STATE_ICONS: Mapping[SessionState, str] = {
    "new": ":material/edit_note:",
    "planned": ":material/account_tree:",
    "rejected": ":material/rule:",
    "unplanned": ":material/error:",
    "running": ":material/progress_activity:",
    "finished": ":material/check_circle:",
    "unanswered": ":material/help:",
    "failed": ":material/error:",
    "cancelled": ":material/stop_circle:",
    "interrupted": ":material/power_off:",
    "over_budget": ":material/savings:",
    "paused": ":material/front_hand:",
}
"""An icon for each state of a session; shown with the state's word, never by colour alone."""

_WORDS: Mapping[SessionState, str] = {
    "unanswered": NO_ANSWER,
    "cancelled": "stopped",
    "over_budget": "stopped at its budget",
    "paused": "waits for a person",
}


def clock(at: float) -> str:
    """A time (Unix seconds) by day and minute, as lists show it."""
    return f"{local_time(at):%d %b, %H:%M}"


def state_label(state: SessionState) -> str:
    """A state as the screen shows it."""
    return _WORDS.get(state, state)


def run_state(state: RunState) -> SessionState:
    """The state of a session that this is the run of: of a finished one, whether it has an answer."""
    return "unanswered" if state.status == "finished" and not state.answered else state.status


def run_label(state: RunState) -> str:
    """A run's status as the screen shows it."""
    if state.held:
        return state.waits_for
    return state_label(run_state(state))


def used_of(state: RunState, plan: Plan | None = None) -> Total:
    """What the calls of a run, and of the planning before it, have used so far; a lower bound where one of
    them is unknown. Built-in experts and planning rules use nothing.
    """
    planned = [] if plan is None or plan.planner_kind == "offline" else [plan.usage]
    return Total.of(planned) + state.used


def progress_text(state: RunState, *, now: float) -> str:
    """The steps that are done, of a run that is over those with an output; seconds; the tokens and dollars
    that are known, where any are; whether it goes on by itself with one whose process ended.
    """
    done = sum(step.done if state.live else step.output is not None for step in state.steps)
    seconds = state.elapsed(now)
    parts = [f"{done} of {len(state.steps)} steps"]
    if seconds is not None:
        parts.append(duration(seconds))
    used = used_of(state)
    if used.tokens:
        parts.append(used.token_words)
    if used.cost:
        parts.append(used.cost_words)
    if state.scope.resumption:
        parts.append("resumed by itself")
    return " · ".join(parts)


# -- notes on an answer ------------------------------------------------------------------------------


def author_notes(worker: str, state: StepState) -> list[str]:
    """Notes on a text that a step of `worker` wrote: who wrote it, and what is wrong with it."""
    if hand := by_hand(state.output):
        return [worker, *hand]
    return [stand_in(worker, state) or worker, *kind_notes(state.worker_kind), *ending_notes(state)]


def kind_notes(kind: WorkerKind | None) -> list[str]:
    """The kind of the worker that wrote a text, where that is no served model."""
    return [] if kind is None or kind == "model" else [EMBEDDED_LABEL if kind == "embedded" else kind]


def by_hand(output: Output | None) -> list[str]:
    """That a person wrote it, who and when; nothing where a worker did."""
    if output is None or output.hand is None:
        return []
    if output.stand_in is not None:
        return ["by its failure rule"]
    return [f"edited by hand by {output.hand.by}, {local_time(output.hand.at):%d %b %Y, %H:%M}"]


def stand_in(worker: str, state: StepState) -> str | None:
    """That another worker answered, or None if the step's own did."""
    output = state.output
    if output is not None and output.instead_of is not None:
        return f"answered by {output.worker} in place of {output.instead_of}"
    return None if state.stand_in is None else f"answered by {state.stand_in} in place of {worker}"


def ending_notes(state: StepState) -> list[str]:
    """That the worker declined to answer, or had no tokens left."""
    return [*([NO_ANSWER] if state.status == "refused" else []), *([CUT_OFF] if state.cut_off else [])]


def answer_notes(state: RunState) -> list[str]:
    """The notes on a run's answer, without its worker's kind."""
    if state.workflow is None or state.answer_step is None:
        return []
    step = state.steps[state.answer_step]
    fallback = stand_in(state.workflow.steps[state.answer_step].worker, step)
    return [
        *(["pinned"] if step.kept_because == "pinned" else []),
        *by_hand(step.output),
        *([] if fallback is None else [fallback]),
        *ending_notes(step),
    ]


def answer_kind(state: RunState) -> list[str]:
    """The kind of worker that gave a run's answer where that is no model, in a pool that has others, too."""
    if state.answer_step is None:
        return []
    step = state.steps[state.answer_step]
    return [] if by_hand(step.output) else kind_notes(step.worker_kind)


# -- budget -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spent:
    """One limit: what was used of it in words, and as a share (0 to 1, never more)."""

    limit: Limit
    words: str
    share: float


def spent(state: RunState, *, now: float) -> tuple[Spent, ...]:
    """Each limited quantity of the run with what led to it, as far as known. `now` is in Unix seconds."""
    budget, usage, before = state.budget, state.used.lower, state.used_before
    seconds, calls = before.seconds + (state.elapsed(now) or 0.0), before.calls + state.calls
    tokens, cost = before.tokens + (usage.total or 0), before.cost + (usage.cost or 0.0)
    quantities: list[Spent] = []

    def add(limit: Limit, share: float, words: str, *, exact: bool = True) -> None:
        quantities.append(Spent(limit, words if exact else f"at least {words}", min(share, 1.0)))

    if budget.tokens is not None:
        words = f"{tokens:,} of {budget.tokens:,} tokens"
        add("tokens", tokens / budget.tokens, words, exact=state.usage.total is not None)
    if budget.cost is not None:
        words = f"{dollars(cost)} of {dollars(budget.cost)}"
        add("cost", cost / budget.cost, words, exact=state.usage.cost is not None)
    if budget.seconds is not None:
        add("seconds", seconds / budget.seconds, f"{seconds:.0f} of {budget.seconds:g} seconds")
    if budget.calls is not None:
        add("calls", calls / budget.calls, f"{calls:,} of {budget.calls:,} calls")
    return tuple(quantities)
