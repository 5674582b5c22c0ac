"""Days of the calendar and hours of the day: the parts of a question about them, and its answer.

Knows dates that are written in one sense only: 2024-03-01, 4 July 1976, July 4, 1976; 10/12/2024 is none.
The functions in `ANSWERS` take the named parts of a pattern, and raise `ValueError` or `OverflowError` for a
day or an hour that does not exist.
"""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta

from dateutil.relativedelta import relativedelta

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    f"{'|'.join(_MONTHS)})"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}|{_DAY} (?:of )?{_MONTH},? \d{{4}}|{_MONTH} {_DAY},? \d{{4}}"
HOLES = {
    **{name: f"(?P<{name}>{_DATE})" for name in ("date", "start", "end")},
    "month": f"(?P<month>{_MONTH})",
    "year": r"(?P<year>\d{4})",
    "clock": r"(?P<clock>\d{1,2}:\d{2})( ?(?P<half>am|pm))?",
}
"""The regular expressions of the parts of a question that are dates or hours, by their names in patterns."""


def _date(text: str) -> date:
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if re.match(r"\d{4}", text):
        return date(*numbers)
    return date(numbers[1], _month(re.sub(r"\d+(?:st|nd|rd|th)?|\bof\b|\W", "", text)), numbers[0])


def _month(word: str) -> int:
    return _MONTHS.index(word[:3].lower()) + 1


def _between(said: Mapping[str, str]) -> str:
    days = abs((_date(said["end"]) - _date(said["start"])).days)
    weeks, rest = divmod(days, 7)
    return f"{days} days" if said["measure"] == "day" else f"{weeks} weeks and {rest} days"


def _shifted(said: Mapping[str, str]) -> str:
    span = relativedelta(**{f"{said['unit'].lower()}s": int(said["count"])})
    start = _date(said["date"])
    day = start - span if said["way"].lower() in ("-", "before") else start + span
    return f"{day.isoformat()} ({day:%A})"


def _time(said: Mapping[str, str]) -> str:
    hour, minute = map(int, said["clock"].split(":"))
    half = said.get("half", "").lower()
    if half and not 1 <= hour <= 12:
        raise ValueError("Half a day has the hours 1 to 12.")
    start = datetime.combine(
        date(2000, 1, 1), time(hour % 12 + 12 * (half == "pm") if half else hour, minute)
    )
    span = timedelta(**{f"{said['unit'].lower()}s": float(said["count"])})
    end = start - span if said["way"].lower() in ("-", "before") else start + span
    days = (end.date() - start.date()).days
    moved = f" ({abs(days)} {'day' if abs(days) == 1 else 'days'} {'later' if days > 0 else 'earlier'})"
    return (f"{end:%I:%M %p}".lstrip("0") if half else f"{end:%H:%M}") + (moved if days else "")


def _leap(said: Mapping[str, str]) -> str:
    is_leap = isleap(int(said["year"]))
    return f"{'yes' if is_leap else 'no'}, {said['year']} is {'' if is_leap else 'not '}a leap year"


ANSWERS: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    "time between": _between,
    "date shifted": _shifted,
    "time shifted": _time,
    "leap year": _leap,
    "weekday": lambda said: f"{_date(said['date']):%A}",
    "days of month": lambda said: str(monthrange(int(said["year"]), _month(said["month"]))[1]),
    "days of year": lambda said: "366" if isleap(int(said["year"])) else "365",
}
"""The answer to each kind of question about dates, by its name in patterns."""
