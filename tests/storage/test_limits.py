"""Limits as values: the periods of budgets, what is left of them, and what is no limit."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from conductor.values.budget import Budget
from storage.limits import Limits, Period, Spent, begin_of, day_of, end_of


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("period", "now", "begin", "end"),
    [
        ("day", "2026-11-21T23:59:59", "2026-11-21", "2026-11-22"),
        ("day", "2026-12-31T00:00:00", "2026-12-31", "2027-01-01"),
        ("month", "2026-11-01T00:00:00", "2026-11-01", "2026-12-01"),
        ("month", "2024-02-29T12:00:00", "2024-02-01", "2024-03-01"),
        ("month", "2026-12-31T23:00:00", "2026-12-01", "2027-01-01"),
    ],
)
def test_a_period_is_one_of_the_calendar(period: Period, now: str, begin: str, end: str) -> None:
    assert begin_of(period, now=at(now)) == at(begin)
    assert end_of(period, now=at(now)) == at(end)


def test_a_total_has_neither_beginning_nor_end() -> None:
    now = at("2026-11-21")
    assert day_of(begin_of("total", now=now)) == day_of(0.0)
    assert end_of("total", now=now) is None


@pytest.mark.parametrize("wrong", [{"tokens": 0}, {"cost": -1.0}, {"cost": float("inf")}, {"period": "year"}])
def test_a_limit_that_means_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate(wrong)


@pytest.mark.parametrize(
    ("spent", "left"),
    [
        (Spent(), Budget(tokens=10, cost=0.5)),
        (Spent(tokens=9, cost=0.25), Budget(tokens=1, cost=0.25)),
        (Spent(tokens=10), None),
        (Spent(tokens=11), None),
        (Spent(cost=0.5), None),
    ],
)
def test_what_is_left_of_a_budget_ends_with_the_first_of_its_limits(
    spent: Spent, left: Budget | None
) -> None:
    assert Limits(tokens=10, cost=0.5).left(spent) == left
