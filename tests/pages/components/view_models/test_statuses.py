"""States in words: what people read is never the name that a state is stored under, where that is another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from conductor.drawing.network import CardStatus
from conductor.report.words import OUTCOMES, STATUSES
from conductor.runs.state import RunState
from conductor.runs.step_state import StepStatus
from pages.components.view_models.statuses import STATE_ICONS, run_label, state_label
from pages.components.widgets.step_result import _STATUS
from studio.cli import session_show

ICONS = Path(__file__).parents[4] / "pages/components/graph/icons.js"


def test_a_stopped_run_or_step_is_called_so_wherever_it_is_read_or_heard():
    drawn = ICONS.read_text(encoding="utf-8").partition("STATUS_SHAPES")[0]
    spoken = dict(re.findall(r'(\w+): "([^"]*)"', drawn))
    steps = {status for part in get_args(CardStatus) for status in get_args(part) or (part,)}
    assert steps <= spoken.keys()
    assert set(get_args(StepStatus)) == STATUSES.keys() <= _STATUS.keys()
    words = (
        spoken["cancelled"],
        STATUSES["cancelled"],
        OUTCOMES["cancelled"],
        _STATUS["cancelled"][2],
        state_label("cancelled"),
        session_show.state_word("cancelled"),
    )
    assert set(words) == {"stopped"}
    assert not [state for state in STATE_ICONS if "cancel" in state_label(state)]


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (RunState(status="finished", answered=True), "finished"),
        (RunState(status="finished"), "no answer"),
        (RunState(status="failed"), "failed"),
        (RunState(status="cancelled"), "stopped"),
    ],
)
def test_a_finished_run_without_an_answer_says_so(state, word):
    assert run_label(state) == word
