"""A session's state in one line, as the bar shows it: what runs, what would run, what was kept. Pure."""

from __future__ import annotations

from conductor.runs.state import RunState
from conductor.text.formatting import counted, duration
from pages.components.view_models.run_text import run_label, used_of
from pages.components.view_models.session import SessionView, outlook_sentence

_BROKEN_OFF = ("failed", "cancelled", "interrupted", "over_budget")


def state_text(view: SessionView, *, now: float) -> str:
    """Of a session with a workflow; `now` is in Unix seconds."""
    if view.head is None:
        return ""
    parts: list[str] = [view.head.workflow.topology]
    if view.head.origin != "conductor":
        parts.append("edited" if view.head.origin == "human" else "imported")
    if view.state is not None and view.as_run and view.state.round > 1:
        parts.append(f"round {view.state.round}")
    if view.live and view.state is not None:
        parts += ["running", progress_text(view.state, now=now)]
    elif view.planning is not None:
        parts.append("planning")
    elif view.as_run and view.state is not None:
        parts += [f"{run_label(view.state)}{_kept(view, view.state)}", *_shortfall(view.state)]
        parts += used_of(view.state, view.plan).known_words
    elif view.outlook is not None:
        parts.append(outlook_sentence(view.outlook, len(view.head.workflow)).removesuffix("."))
    return " · ".join(parts)


def progress_text(state: RunState, *, now: float) -> str:
    """The steps that are done, seconds, and the tokens and dollars that are known, where any are."""
    done = sum(step.done for step in state.steps)
    seconds = state.elapsed(now)
    parts = [f"{done} of {len(state.steps)} steps"]
    if seconds is not None:
        parts.append(duration(seconds))
    used = used_of(state)
    if used.tokens:
        parts.append(used.token_words)
    if used.cost:
        parts.append(used.cost_words)
    return " · ".join(parts)


def _kept(view: SessionView, state: RunState) -> str:
    """Of a run that broke off: what was kept, and what a rerun calls."""
    if state.status not in _BROKEN_OFF or view.outlook is None:
        return ""
    kept, runs = sum(step.output is not None for step in state.steps), len(view.outlook.radius.runs)
    return f": {kept} of {len(state.steps)} kept, a rerun runs {runs}"


def _shortfall(state: RunState) -> list[str]:
    """What a finished run did without: an answer does not show that steps it did not need have failed."""
    failed = state.counts["failed"]
    return [f"{counted(failed, 'step')} failed"] if failed and state.status == "finished" else []
