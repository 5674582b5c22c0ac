"""Reports the end of a run, as a sentence and as an exit code."""

from __future__ import annotations

from collections.abc import Mapping

from conductor.runs.state import RunState, RunStatus

END_WORDS: Mapping[RunStatus, str] = {
    "running": "the run has not ended",
    "finished": "the run finished",
    "failed": "the run failed",
    "cancelled": "the run was stopped",
    "interrupted": "the run was interrupted",
    "over_budget": "the run was stopped at its budget",
    "paused": "the run waits",
}
_EXIT_CODES: Mapping[RunStatus, int] = {"finished": 0, "cancelled": 130, "paused": 4}

_UNANSWERED = 3
"""The exit code of a run that finished where the worker declined to answer, or wrote nothing."""


def exit_code(state: RunState) -> int:
    """The exit code of the command that ran it, or followed it."""
    if state.status == "finished" and not state.answered:
        return _UNANSWERED
    return _EXIT_CODES.get(state.status, 1)
