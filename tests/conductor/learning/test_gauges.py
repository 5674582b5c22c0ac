from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conductor.learning.gauges import DEMONSTRATION, WINDOW, Alarm, CollapseWatch, Gauges, gauges_of
from conductor.learning.reward import Outcome

ONE = Outcome("right", steps=1, workers=("a",), tokens=100)
TWO = Outcome("wrong", steps=2, workers=("a", "b"), tokens=300)
NONE = Outcome("no plan")


def test_gauges_are_taken_from_what_they_speak_of():
    gauges = gauges_of([ONE, ONE, TWO, NONE, ONE, ONE], [1, 1, 0.5, 0, 1, 1], [2, 2, 3, 3, 1, 1], group=2)
    assert gauges.valid == pytest.approx(5 / 6)
    assert gauges.right == pytest.approx(4 / 6)
    assert gauges.steps == pytest.approx(6 / 5)
    assert gauges.one_step == pytest.approx(2 / 3)  # the last two questions need one step
    assert gauges.live == pytest.approx(1 / 3)
    assert gauges.tokens == pytest.approx(140)
    assert gauges.entropy == pytest.approx(0.65, abs=0.01)


def test_what_nothing_is_known_of_is_none():
    gauges = gauges_of([NONE, NONE], [0, 0], [None, 2], group=2)
    assert (gauges.steps, gauges.one_step, gauges.entropy, gauges.tokens) == (None, None, None, None)
    assert gauges.row["steps"] is None


def gauges(one_step: float | None, *, valid: float = 1.0) -> Gauges:
    return Gauges(
        reward=0.5, valid=valid, right=0.5, steps=1.5, one_step=one_step, entropy=1.0, live=0.5, tokens=100
    )


def alarms(shares: Sequence[float | None], *, valid: float = 1.0) -> list[tuple[int, Alarm]]:
    """Alarms with the number of their step, from 1."""
    watch = CollapseWatch()
    read = [(step, watch.read(gauges(share, valid=valid))) for step, share in enumerate(shares, start=1)]
    return [(step, alarm) for step, alarm in read if alarm is not None]


@pytest.mark.parametrize(
    ("shares", "step"),
    [
        ([1.0] * 20, WINDOW),
        ([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.0, 1.0], 7),
    ],
)
def test_a_conductor_that_becomes_a_router_is_noticed_once_with_its_cure(shares: list[float], step: int):
    ((at, alarm),) = alarms(shares)
    assert at == step
    assert "router" in alarm.what
    assert "--grpo-lr" in alarm.cure


@pytest.mark.parametrize(
    "shares", [[0.6, 0.5, 0.4, 0.3, 0.2, 0.1], [1.0, 0.6, 0.9, 0.5, 1.0, 0.6], [None] * 9]
)
def test_a_healthy_training_raises_no_alarm(shares: list[float | None]):
    assert alarms(shares) == []


def test_a_lost_form_is_noticed():
    ((at, alarm),) = alarms([0.2] * 9, valid=0.3)
    assert at == WINDOW
    assert "30% of the plans are valid" in alarm.what


@pytest.mark.parametrize(
    ("shares", "step"),
    [([0.1] * 12, None), ([0.1] * 4 + [0.8] * 6 + [0.2] * 6, 13)],
)
def test_a_form_that_is_still_to_be_learnt_is_not_missed_before_it_was_there(
    shares: list[float], step: int | None
):
    watch = CollapseWatch(replace(DEMONSTRATION, form_to_learn=True))
    warned = [at for at, valid in enumerate(shares, start=1) if watch.read(gauges(0.2, valid=valid))]
    assert warned == ([] if step is None else [step])


def test_steps_taken_earlier_count_and_are_not_warned_of():
    watch = CollapseWatch(before=[gauges(1.0)] * 9)
    assert watch.read(gauges(1.0)) is not None
    assert watch.read(gauges(1.0)) is None
