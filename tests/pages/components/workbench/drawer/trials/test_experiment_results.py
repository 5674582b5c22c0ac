"""What is reported of an edge that was left out: only what its trials prove."""

from __future__ import annotations

import pytest

from conductor.engine.experiments import EdgeVerdict
from pages.components.workbench.drawer.trials.experiment_results import verdict_text


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (EdgeVerdict((0, 1), changes=(), lost=0, pending=1), "waiting for its answer"),
        (EdgeVerdict((0, 1), changes=(0.0,), lost=0, pending=0), "the same answer"),
        (EdgeVerdict((0, 1), changes=(), lost=1, pending=0), "1 run without an answer"),
        (EdgeVerdict((0, 1), changes=(), lost=0, pending=0, broken=1), "stopped early, no result"),
        (
            EdgeVerdict((0, 1), changes=(0.0,), lost=0, pending=0, broken=2),
            "the same answer, 2 stopped early",
        ),
        (
            EdgeVerdict((0, 1), changes=(0.5, 0.25), lost=0, pending=0, beyond_noise=True),
            "38% of the answer differs (25% to 50%, 2 runs), more than the noise",
        ),
        (
            EdgeVerdict((0, 1), changes=(0.25, 0.25), lost=0, pending=0, beyond_noise=False),
            "25% of the answer differs (25% to 25%, 2 runs), not more than the noise",
        ),
    ],
)
def test_an_edge_is_reported_by_the_trials_that_came_to_an_end(verdict: EdgeVerdict, words: str) -> None:
    assert verdict_text(verdict) == words
