"""Every day of the calendar is read and shown, wherever the machine is, and no moment is too far away."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.report import words
from conductor.text.calendar_time import local_time, unix_seconds, utc_time
from conductor.values.output import HandEdit, Output
from pages.components.sessions.filter_url import address_of, begin_of, day_of, end_of, filter_of
from pages.components.view_models import run_text
from studio.cli import options
from studio.cli.output import terminal
from studio.cli.sessions import listing

ZONES = {"UTC": "UTC0", "UTC+14": "<+14>-14", "UTC-12": "<-12>12", "Asia/Kolkata": "IST-5:30"}
"""As POSIX writes zones: no files of the system are needed."""

DAYS = [
    date(1, 1, 1),
    date(1, 1, 2),
    date(1969, 12, 31),
    date(1970, 1, 1),
    date(1970, 1, 2),
    date(9999, 12, 30),
    date(9999, 12, 31),
]


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A place where the machine is."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", ZONES[request.param])
        time.tzset()
        yield request.param
    time.tzset()


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_a_day_is_the_same_there_and_back(zone: str, day: date) -> None:
    assert day_of(begin_of(day)) == day_of(end_of(day)) == day
    assert end_of(day) - begin_of(day) == pytest.approx(86_400, abs=0.001)
    named = {"from": [day.isoformat()], "to": [day.isoformat()]}
    assert address_of(filter_of(named)) == named
    assert (options.first_moment(day.isoformat()), listing._last_moment(day.isoformat())) == (
        begin_of(day),
        end_of(day),
    )


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_it_begins_where_the_zone_has_it(zone: str, day: date) -> None:
    behind = timedelta(hours={"UTC+14": 14, "UTC-12": -12, "Asia/Kolkata": 5.5}.get(zone, 0))
    since = datetime.combine(day, datetime.min.time(), UTC) - datetime(1970, 1, 1, tzinfo=UTC) - behind
    assert begin_of(day) == since.total_seconds()


def test_a_moment_with_a_zone_is_that_moment(zone: str) -> None:
    for text, seconds in (
        ("1970-01-01T00:00+00:00", 0),
        ("9999-12-31T23:59:59-14:00", 253_402_351_199),
        ("0001-01-01T00:00+14:00", -62_135_647_200),
    ):
        assert options.first_moment(text) == unix_seconds(datetime.fromisoformat(text)) == seconds


FAR = (-1e308, -1e18, -62_135_650_000.0, -1.0, 0.0, 253_402_300_799.9, 253_402_360_000.0, 1e18, 1e308)
"""Moments that files may name: before, in and after the calendar."""

TEXTS: dict[str, Callable[[float], object]] = {
    "a local time": local_time,
    "a time in UTC": utc_time,
    "a report": words.moment,
    "a list": run_text.clock,
    "a terminal": terminal.moment,
    "an edited output": lambda at: run_text.by_hand(
        Output(
            fingerprint="f",
            text="a",
            worker="b",
            worker_kind="model",
            seconds=1,
            run="r",
            step=0,
            hand=HandEdit(by="c", at=at),
        )
    ),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_every_moment_is_shown(zone: str, kind: str) -> None:
    for at in FAR:
        assert TEXTS[kind](at)


def test_moments_beyond_the_calendar_are_its_ends(zone: str) -> None:
    for show in (local_time, utc_time):
        assert [show(at).date() for at in (-1e18, 1e18)] == [date(1, 1, 1), date(9999, 12, 31)]


@given(st.datetimes(datetime(1970, 1, 5), datetime(9999, 12, 27)))
def test_within_the_calendar_it_is_what_python_has(at: datetime) -> None:
    seconds = unix_seconds(at)
    assert seconds == at.timestamp()
    assert local_time(seconds) == datetime.fromtimestamp(seconds)
    assert utc_time(seconds) == pytest.approx(
        datetime.fromtimestamp(seconds, UTC), abs=timedelta(milliseconds=1)
    )


OF_THE_CLOCK = {
    "storage/migrations/__init__.py",
    "storage/limits.py",
    "storage/store/backup.py",
    "studio/telemetry/logs.py",
}
"""They take the moments of this machine's clock alone."""


@pytest.mark.slow
def test_no_other_place_makes_a_date_of_a_moment() -> None:
    root = Path(__file__).parent.parent
    files = set()
    for place in ("conductor", "storage", "studio", "pages"):
        for file in (root / place).rglob("*.py"):
            if re.search(r"\b(?:fromtimestamp|localtime|gmtime|mktime)\(", file.read_text(encoding="utf-8")):
                files.add(str(file.relative_to(root)))
    assert files == {"conductor/text/calendar_time.py", *OF_THE_CLOCK}
