"""A meter adds up what is spent and tells once, when a limit is crossed."""

from __future__ import annotations

import pytest

from conductor.budget import NO_BUDGET, Budget
from conductor.engine.meter import Crossing, Meter
from conductor.messages import Usage


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_without_a_budget_nothing_is_ever_crossed() -> None:
    meter = Meter(Budget())
    for _ in range(1000):
        assert meter.admit()
        meter.add(Usage(prompt_tokens=10**9, completion_tokens=10**9, cost=1e9))
    assert meter.crossing is None


@pytest.mark.parametrize(
    ("budget", "usage", "crossing"),
    [
        (Budget(tokens=10), Usage(prompt_tokens=8, completion_tokens=3), Crossing("tokens", 11, 10)),
        (Budget(cost=0.5), Usage(cost=0.75), Crossing("cost", 0.75, 0.5)),
    ],
)
def test_a_call_that_used_too_much_crosses_the_limit(
    budget: Budget, usage: Usage, crossing: Crossing
) -> None:
    meter, told = Meter(budget), list[Crossing]()
    meter.watch(told.append)
    meter.add(usage)
    meter.add(usage)
    assert told == [crossing]
    assert not meter.admit()


def test_a_call_for_which_no_room_is_left_is_not_admitted() -> None:
    meter, told = Meter(Budget(calls=2)), list[Crossing]()
    meter.watch(told.append)
    assert [meter.admit() for _ in range(4)] == [True, True, False, False]
    assert (meter.calls, told) == (2, [Crossing("calls", 2, 2)])


def test_exactly_the_limit_is_not_too_much_but_leaves_no_room() -> None:
    meter = Meter(Budget(tokens=10))
    meter.add(Usage(prompt_tokens=10, completion_tokens=0))
    assert meter.crossing is None
    assert not meter.admit()


def test_what_is_unknown_counts_as_nothing() -> None:
    meter = Meter(Budget(tokens=10, cost=1))
    meter.add(Usage(prompt_tokens=9))
    assert meter.crossing is None


def test_time_counts_from_the_making() -> None:
    clock = Clock()
    meter, told = Meter(Budget(seconds=5), clock=clock), list[Crossing]()
    clock.now = 4.0
    meter.check()
    assert (meter.seconds_left, told) == (1.0, [])
    unwatch = meter.watch(told.append)
    clock.now = 5.0
    meter.check()
    assert (meter.seconds_left, told) == (0.0, [Crossing("seconds", 5.0, 5.0)])
    unwatch()


def test_a_budget_is_open_until_any_of_it_is_limited() -> None:
    assert NO_BUDGET.open
    assert not any(Budget.model_validate({name: 1}).open for name in Budget.model_fields)
