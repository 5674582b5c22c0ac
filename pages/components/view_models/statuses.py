"""What a session's state looks like in lists and headers: an icon and a word, never colour alone."""

from __future__ import annotations

from collections.abc import Mapping

from storage import SessionState

STATE_ICONS: Mapping[SessionState, str] = {
    "new": ":material/edit_note:",
    "planned": ":material/account_tree:",
    "rejected": ":material/rule:",
    "running": ":material/progress_activity:",
    "finished": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/stop_circle:",
    "interrupted": ":material/power_off:",
    "over_budget": ":material/savings:",
}
"""An icon for each state of a session; shown with the state's word."""

_WORDS: Mapping[SessionState, str] = {"cancelled": "stopped", "over_budget": "stopped at its budget"}


def state_word(state: SessionState) -> str:
    """A state as people say it."""
    return _WORDS.get(state, state)
