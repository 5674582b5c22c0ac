"""The benchmark of starts measures every program; how fast any is, is no test's business."""

from __future__ import annotations

import pytest

from benchmarks.start import APPS, COMMANDS, measure

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


def test_every_start_is_measured_and_compared_with_the_least_of_its_kind() -> None:
    starts = measure(rounds=1)
    assert list(starts) == [*COMMANDS, *APPS]
    assert all(start.seconds.minimum > 0 for start in starts.values())
    for kind in (COMMANDS, APPS):
        assert starts[next(iter(kind))].ratio == 1
