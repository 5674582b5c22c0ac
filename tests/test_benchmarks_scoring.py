"""The benchmark of scoring measures both ways; how fast either is, is no test's business."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.scoring import PAIRS, measure

pytestmark = pytest.mark.slow  # it starts a process for each formula


@pytest.mark.thorough
def test_both_ways_are_measured_in_turns() -> None:
    comparison = asyncio.run(measure(rounds=1))
    assert len(PAIRS) > 1
    assert comparison.new.minimum > 0
    assert comparison.warm.minimum > 0
    assert comparison.ratio == comparison.new.median / comparison.warm.median
