"""The answers to questions about days of the calendar and hours of the day.

Each function takes the named parts of a pattern of `questions.txt`. It raises `ValueError` or `OverflowError`
for a day or an hour that does not exist.
"""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta

from dateutil import parser
from dateutil.relativedelta import relativedelta


def _moment(text: str) -> datetime:
    moment: datetime = parser.parse(text, default=datetime(2000, 1, 1))
    return moment


def _date(text: str) -> date:
    return _moment(text).date()


def _between(parts: Mapping[str, str]) -> str:
    days = abs((_date(parts["end"]) - _date(parts["start"])).days)
    weeks, rest = divmod(days, 7)
    return f"{days} days" if parts["measure"] == "day" else f"{weeks} weeks and {rest} days"


def _direction(parts: Mapping[str, str]) -> int:
    return -1 if parts["way"].lower() in ("-", "before") else 1


def _shifted(parts: Mapping[str, str]) -> str:
    span = relativedelta(**{f"{parts['unit'].lower()}s": int(parts["count"])})
    day = _date(parts["date"]) + _direction(parts) * span
    return f"{day.isoformat()} ({day:%A})"


def _time(parts: Mapping[str, str]) -> str:
    half = parts.get("half", "")
    start = _moment(parts["clock"] + half)
    span = timedelta(**{f"{parts['unit'].lower()}s": float(parts["count"])})
    end = start + _direction(parts) * span
    days = (end.date() - start.date()).days
    moved = f" ({abs(days)} {'day' if abs(days) == 1 else 'days'} {'later' if days > 0 else 'earlier'})"
    return (f"{end:%I:%M %p}".lstrip("0") if half else f"{end:%H:%M}") + (moved if days else "")


def _leap(parts: Mapping[str, str]) -> str:
    is_leap = isleap(int(parts["year"]))
    return f"{'yes' if is_leap else 'no'}, {parts['year']} is {'' if is_leap else 'not '}a leap year"


def _days_of_month(parts: Mapping[str, str]) -> str:
    return str(monthrange(int(parts["year"]), _date(f"1 {parts['month']} 2000").month)[1])


ANSWERS: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    "time between": _between,
    "date shifted": _shifted,
    "time shifted": _time,
    "leap year": _leap,
    "weekday": lambda parts: f"{_date(parts['date']):%A}",
    "days of month": _days_of_month,
    "days of year": lambda parts: "366" if isleap(int(parts["year"])) else "365",
}
"""The answer to each kind of question about dates, by its name in patterns."""
