"""What is said of an edge that was left out: only what its trials prove."""

from __future__ import annotations

import pytest

from conductor.engine.trials import EdgeVerdict
from pages.components.edge_view import said


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (EdgeVerdict((0, 1), changes=(), lost=0, pending=1), "waits for its answer"),
        (EdgeVerdict((0, 1), changes=(0.0,), lost=0, pending=0), "the same answer"),
        (EdgeVerdict((0, 1), changes=(), lost=1, pending=0), "1 run without an answer"),
        (EdgeVerdict((0, 1), changes=(), lost=0, pending=0, broken=1), "was broken off, which says nothing"),
        (EdgeVerdict((0, 1), changes=(0.0,), lost=0, pending=0, broken=2), "the same answer, 2 broken off"),
    ],
)
def test_an_edge_is_told_by_the_trials_that_came_to_an_end(verdict: EdgeVerdict, words: str) -> None:
    assert said(verdict) == words
