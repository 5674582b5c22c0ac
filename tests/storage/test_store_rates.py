"""Rates in the store: the rate of each token and person, in any process, at any time of the clock."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.runs.request import Asker
from storage import SessionStore
from storage.limits import Levels, Limits
from tests.support.cases.property_cases import cases

ADA, BOB, TOKEN = Asker(person="ada"), Asker(person="bob"), Asker(token="ada")
BOTH = Limits(requests_per_minute=3, tokens_per_minute=600)


class Clock:
    """Unix seconds, set by hand."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def timed(
    clock: Clock, empty_store: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SessionStore]:
    """A store on SQLite, whose time is that clock's."""
    file = tmp_path_factory.mktemp("rates") / "conductor.db"
    shutil.copyfile(empty_store, file)
    with SessionStore.open(f"sqlite:///{file}", clock=clock) as store:
        yield store


def test_a_minute_brings_as_many_requests_as_it_may(timed: SessionStore, clock: Clock) -> None:
    by, limits = Asker(person="three"), Limits(requests_per_minute=3)
    levels = [timed.people.take(by, limits) for _ in range(4)]
    assert levels == [*(Levels(True, left, None) for left in (2, 1, 0)), Levels(False, 0, None)]
    assert levels[3].wait(limits) == (20, "requests")
    clock.now += 20
    assert timed.people.take(by, limits).passed


def test_a_request_that_has_to_wait_takes_nothing(timed: SessionStore) -> None:
    by, limits = Asker(person="waits"), Limits(requests_per_minute=1)
    timed.people.take(by, limits)
    assert {timed.people.take(by, limits).wait(limits) for _ in range(5)} == {(60, "requests")}


def test_tokens_are_taken_afterwards_and_a_debt_is_waited_for(timed: SessionStore, clock: Clock) -> None:
    by = Asker(person="owes")
    assert timed.people.take(by, BOTH).passed
    timed.people.spend(by, BOTH, 900)
    refused = timed.people.take(by, BOTH)
    assert refused == Levels(False, 2, -300)
    assert refused.wait(BOTH) == (pytest.approx(30.1), "tokens")
    clock.now += 31
    assert timed.people.take(by, BOTH) == Levels(True, 2, pytest.approx(10))


def test_what_a_long_request_used_is_owed_though_its_bucket_was_full_meanwhile(
    timed: SessionStore, clock: Clock
) -> None:
    by = Asker(person="long")
    timed.people.take(by, BOTH)
    clock.now += 3600
    timed.people.spend(by, BOTH, 900)
    assert timed.people.take(by, BOTH) == Levels(False, 3, -300)


def test_another_limit_holds_at_once_for_what_is_left(timed: SessionStore) -> None:
    by = Asker(person="changed")
    timed.people.take(by, Limits(requests_per_minute=10))
    assert timed.people.take(by, Limits(requests_per_minute=2)) == Levels(True, 1, None)
    assert timed.people.take(by, BOTH) == Levels(True, 0, 600), "a new rate begins full"


@pytest.mark.parametrize("back", [0.5, 59.0, 61.0, 1e6])
def test_a_clock_that_goes_backwards_gives_nothing_and_takes_nothing(
    timed: SessionStore, clock: Clock, back: float
) -> None:
    by, limits = Asker(person=f"back {back}"), Limits(requests_per_minute=2)
    for _ in range(2):
        assert timed.people.take(by, limits).passed
    clock.now -= back
    try:
        assert not timed.people.take(by, limits).passed
        clock.now += 60 + 30
        assert timed.people.take(by, limits).passed, "at most a minute later it fills again"
    finally:
        clock.now += back


@given(
    st.integers(1, 50),
    st.lists(st.tuples(st.floats(0, 40), st.sampled_from([0.0, -3.0]), st.integers(0, 3)), max_size=40),
)
@cases(100)
def test_no_stretch_of_time_brings_more_than_its_share(
    timed: SessionStore, clock: Clock, limit: int, steps: list[tuple[float, float, int]]
) -> None:
    """Two machines ask in any order, the clock of one is 3 s late, and at times a clock goes backwards."""
    by, limits = Asker(person=f"{clock.now} {limit} {len(steps)}"), Limits(requests_per_minute=limit)
    real, shift, passed = clock.now, 0.0, list[float]()
    begin = clock.now
    for pause, late, jump in steps:
        real += pause
        shift -= {1: 30.0, 2: 600.0}.get(jump, 0.0)
        clock.now = real + shift + late
        if timed.people.take(by, limits).passed:
            passed.append(real)
            for since in passed:
                in_it = sum(at >= since for at in passed)
                assert in_it <= limit + (real - since + 3) * limit / 60 + 1e-6
    clock.now = max(real, begin) + 1000


def test_each_has_a_rate_of_their_own_also_where_a_token_is_named_as_a_person(store: SessionStore) -> None:
    one = Limits(requests_per_minute=1)
    for by in (ADA, BOB, TOKEN):
        assert store.people.look(by, one).passed
        assert store.people.take(by, one) == Levels(True, 0, None)
        assert not store.people.look(by, one).passed
        assert not store.people.take(by, one).passed


def test_a_debt_and_a_rate_hold_on_either_database(store: SessionStore) -> None:
    assert store.people.take(ADA, BOTH) == Levels(True, 2, 600)
    store.people.spend(ADA, BOTH, 6_000_000)
    refused = store.people.take(ADA, BOTH)
    assert not refused.passed
    assert refused.wait(BOTH)[1] == "tokens"
    assert refused.wait(BOTH)[0] > 500_000


def test_who_has_no_rate_asks_the_store_nothing(store: SessionStore) -> None:
    store.close()
    assert store.people.take(ADA, Limits(tokens=5)) == Levels(True, None, None)
    store.people.spend(ADA, Limits(tokens=5, requests_per_minute=1), 7)
