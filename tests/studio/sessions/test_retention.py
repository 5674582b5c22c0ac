"""How long deleted sessions are kept: the setting, and that it is applied once a day."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.errors import StorageError
from storage import SessionStore
from studio.sessions.retention import (
    DAY,
    UNSTORED,
    VARIABLE,
    apply_daily,
    retention_days,
    unstored_seconds,
)


class Calendar:
    """A clock that stands until it is moved."""

    now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def calendar() -> Calendar:
    """The store's clock."""
    return Calendar()


@pytest.fixture
def dated(url: str, calendar: Calendar) -> Iterator[SessionStore]:
    """A store that goes by the calendar."""
    with SessionStore.open(url, clock=calendar) as store:
        yield store


def deleted(store: SessionStore) -> str:
    session = store.sessions.create("why?").id
    store.sessions.delete(session)
    return session


def there(store: SessionStore, session: str) -> bool:
    return session in store.sessions.named(session)


@pytest.mark.parametrize(
    ("setting", "days"), [(None, 30), ("", 30), (" 7 ", 7), ("0", None), ("000", None), ("999999", 999_999)]
)
def test_the_variable_says_how_many_days(
    monkeypatch: pytest.MonkeyPatch, setting: str | None, days: int | None
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if setting is not None:
        monkeypatch.setenv(VARIABLE, setting)
    assert retention_days() == days


@pytest.mark.parametrize("setting", ["-1", "a week", "1.5", "٣", "1" * 400])
def test_what_is_no_number_of_days_is_refused(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv(VARIABLE, setting)
    with pytest.raises(StorageError, match=r"which is not a number of days; .* Nothing was removed") as error:
        retention_days()
    assert len(str(error.value)) < 250


@pytest.mark.parametrize(("setting", "seconds"), [("", 900.0), ("0", 0.0), ("90", 5400.0)])
def test_what_is_not_to_be_stored_waits_for_some_minutes(
    monkeypatch: pytest.MonkeyPatch, setting: str, seconds: float
) -> None:
    monkeypatch.setenv(UNSTORED, setting)
    assert unstored_seconds() == seconds
    monkeypatch.setenv(UNSTORED, "soon")
    with pytest.raises(StorageError, match="'soon', which is not a number of minutes"):
        unstored_seconds()


@pytest.mark.slow
def test_it_is_applied_once_a_day(dated: SessionStore, calendar: Calendar) -> None:
    first = deleted(dated)
    calendar.now += 30 * DAY
    apply_daily(dated)
    assert there(dated, first), "deleted just 30 days ago"
    calendar.now += DAY - 1
    apply_daily(dated)
    assert there(dated, first), "the day is not over"
    calendar.now += 1
    apply_daily(dated)
    assert not there(dated, first)


@pytest.mark.slow
def test_a_clock_that_was_set_back_does_not_keep_it_from_being_applied(
    dated: SessionStore, calendar: Calendar
) -> None:
    session = deleted(dated)
    calendar.now += 900 * DAY
    assert dated.housekeeping.is_due("retention_applied", every=DAY)
    calendar.now -= 800 * DAY
    apply_daily(dated)
    assert not there(dated, session)


@pytest.mark.slow
def test_with_no_retention_nothing_goes(
    dated: SessionStore, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    session = deleted(dated)
    calendar.now += 900 * DAY
    apply_daily(dated)
    assert there(dated, session)


@pytest.mark.slow
def test_what_keeps_it_from_being_applied_is_logged(
    dated: SessionStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, "soon")
    with caplog.at_level(logging.WARNING):
        apply_daily(dated)
    assert f"{VARIABLE} is 'soon'" in caplog.text


@pytest.mark.slow
def test_two_stores_on_one_database_share_the_day(
    dated: SessionStore, url: str, calendar: Calendar, file: Path
) -> None:
    assert file.exists()
    assert dated.housekeeping.is_due("task", every=DAY)
    with SessionStore.open(url, clock=calendar) as other:
        assert not other.housekeeping.is_due("task", every=DAY)
        assert other.housekeeping.is_due("another", every=DAY)
