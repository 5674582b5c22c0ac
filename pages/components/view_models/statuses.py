"""What a session's state looks like in lists and headers: an icon and a word, never colour alone."""

from __future__ import annotations

from collections.abc import Mapping

from conductor.runs.state import RunState
from conductor.values.output import NO_ANSWER
from storage import SessionState

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
}
"""An icon for each state of a session; shown with the state's word."""

_WORDS: Mapping[SessionState, str] = {
    "unanswered": NO_ANSWER,
    "cancelled": "stopped",
    "over_budget": "stopped at its budget",
}


def state_label(state: SessionState) -> str:
    """A state as the screen shows it."""
    return _WORDS.get(state, state)


def run_label(state: RunState) -> str:
    """A run's status as the screen shows it; of a finished run, whether it has an answer."""
    return state_label("unanswered" if state.status == "finished" and not state.answered else state.status)
