"""The benchmark of the small Conductor measures what it reports; how fast it is, is no test's business."""

from __future__ import annotations

import sys

import pytest

from benchmarks.small_conductor import measured


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory at its peak is read as Linux gives it")
def test_a_short_run_reports_every_number() -> None:
    figures = measured(questions=3)
    assert set(figures) == {"seconds", "peak", "plan", "rules"}
    assert min(figures.values()) > 0
