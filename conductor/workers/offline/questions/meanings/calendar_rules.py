"""What the grammar's rules about days and hours mean, from the day that is today."""

from __future__ import annotations

import re
from calendar import day_name, isleap, month_abbr, monthrange
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from dateutil.relativedelta import relativedelta

from conductor.workers.offline.questions.meanings.meaning import WORDS, Answer, NotUnderstood
from conductor.workers.offline.questions.meanings.quantity import Quantity, number_text


@dataclass(frozen=True)
class Day:
    """A day, and whether its year was named; without one it comes again every year."""

    on: date
    dated: bool = True


def _month(text: str) -> int:
    return [name.lower() for name in month_abbr].index(text[:3].lower())


def _made(year: int, month: int, day: int, dated: bool) -> Day:
    try:
        return Day(date(year, month, day), dated)
    except ValueError as error:
        raise NotUnderstood("no such day") from error


def _written(day: date) -> str:
    return f"{day.isoformat()} ({day:%A})"


def _span(text: str) -> relativedelta:
    count, unit = text.lower().split()
    number = 1 if count in ("a", "an") else int(count)
    if number > 100_000:
        raise NotUnderstood("too far away")
    return relativedelta(**{f"{unit.removesuffix('s')}s": number})


def _counted(start: date, end: date, unit: str) -> Answer:
    """The time between two days, in whole units and the days that are left."""
    unit, days = unit.lower(), (end - start).days
    if days < 0:
        raise NotUnderstood("the end is before the start")
    if unit == "days":
        text = _plural(days, "day")
    elif unit == "weeks":
        weeks, rest = divmod(days, 7)
        text = _plural(weeks, "week") + (f" and {_plural(rest, 'day')}" if rest else "")
    elif unit in ("months", "years"):
        apart = relativedelta(end, start)
        months = apart.years * 12 + apart.months
        years, left = divmod(months, 12)
        over = f" and {_plural(apart.days, 'day')}" if apart.days else ""
        text = _plural(months, "month") + over
        if unit == "years":
            text = _plural(years, "year") + (f", {_plural(left, 'month')}" if left else "") + over
    else:
        raise NotUnderstood("days have no hours here")
    return Answer(text, (f"From {_written(start)} to {_written(end)}",))


def _plural(count: int, unit: str) -> str:
    return f"{count} {unit}{'' if count == 1 else 's'}"


# -- the hours of a day ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Clock:
    """A time of day, and whether it was written with am or pm."""

    at: timedelta
    halves: bool


def clock(text: str, half: str = "") -> Clock:
    hour, _, minute = text.partition(":")
    hours, minutes = int(hour), int(minute or 0)
    if minutes > 59 or (hours > 23 if not half else not 1 <= hours <= 12):
        raise NotUnderstood("no such time")
    if half:
        hours = hours % 12 + (12 if half.lower() == "pm" else 0)
    return Clock(timedelta(hours=hours, minutes=minutes), bool(half))


def _time(span: Quantity) -> timedelta:
    if span.base != (("s", 1),):
        raise NotUnderstood("this is no time")
    return timedelta(seconds=float(span.value))


def shifted(start: Clock, span: Quantity, sign: int = 1) -> Answer:
    end = start.at + sign * _time(span)
    days, rest = end.days, timedelta(seconds=end.seconds)
    if rest.seconds % 60:
        raise NotUnderstood("only whole minutes are shown")
    moment = datetime(2000, 1, 1) + rest
    text = f"{moment:%I:%M %p}".lstrip("0") if start.halves else f"{moment:%H:%M}"
    moved = f" ({_plural(abs(days), 'day')} {'later' if days > 0 else 'earlier'})" if days else ""
    return Answer(text + moved, (f"{_clock(start.at)} {'+' if sign > 0 else '-'} {span.how}",))


def _clock(at: timedelta) -> str:
    return f"{at.seconds // 3600:02}:{at.seconds // 60 % 60:02}"


def _apart(start: Clock, end: Clock) -> int:
    """Minutes; a time of twelve hours that ends before it starts may mean the next morning or be a slip."""
    if end.at <= start.at and not (start.halves and end.halves):
        raise NotUnderstood("on which day?")
    return int((end.at - start.at).total_seconds() // 60) % (24 * 60)


def lasted(start: Clock, end: Clock) -> Answer:
    if start.halves != end.halves and start.at < timedelta(hours=13) and not start.halves:
        raise NotUnderstood("morning or evening?")
    hours, minutes = divmod(_apart(start, end), 60)
    text = (
        " ".join(filter(None, (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")))
        or "0 min"
    )
    return Answer(text, (f"From {_clock(start.at)} to {_clock(end.at)}",))


def lasted_in(unit: str, start: Clock, end: Clock) -> Answer:
    minutes = _apart(start, end)
    if unit.lower() not in ("hours", "minutes"):
        raise NotUnderstood("too short for that")
    count = Fraction(minutes, 60) if unit.lower() == "hours" else Fraction(minutes)
    return Answer(f"{number_text(count)} {unit.lower()}", (f"From {_clock(start.at)} to {_clock(end.at)}",))


# -- the days of a year --------------------------------------------------------------------------------


def day_month(day: str, month: str, year: str | None = None) -> Day:
    # 2024 was a leap year: 29 February is no mistake before its year is known.
    return _made(int(year or 2024), _month(month), int(re.sub(r"\D", "", day)), year is not None)


def holiday(name: str, year: str | None = None) -> Day:
    month, day = WORDS["holidays"][name.lower().split(" day", maxsplit=1)[0].removesuffix(" 's")]
    return _made(int(year or 2024), month, day, year is not None)


def coming(day: Day, today: date) -> date:
    """The next time that a day comes."""
    for year in (today.year + at for at in range(9 * (not day.dated))):
        with suppress(ValueError):  # 29 February
            if (found := day.on.replace(year=year)) >= today:
                return found
    return day.on


def passed(day: Day) -> date:
    if day.dated:
        return day.on
    raise NotUnderstood("of which year?")


def between(unit: str, start: Day, end: Day) -> Answer:
    if start.dated and not end.dated and end.on.replace(year=start.on.year) >= start.on:
        end = Day(end.on.replace(year=start.on.year))
    if end.dated and not start.dated and start.on.replace(year=end.on.year) <= end.on:
        start = Day(start.on.replace(year=end.on.year))
    if start.dated and end.dated:
        return _counted(min(start.on, end.on), max(start.on, end.on), unit)
    first, last = start.on.replace(year=2023), end.on.replace(year=2023)
    leap = (end.on - start.on).days
    if last < first or (last - first).days != leap:
        raise NotUnderstood("of which year?")  # With 29 February between them it matters.
    return _counted(first, last, unit)


def weekday(day: Day) -> Answer:
    on = passed(day)
    return Answer(f"{on:%A}", (f"{on.isoformat()} is a {on:%A}",))


def later(day: Day, text: str, sign: int = 1) -> date:
    try:
        end: date = passed(day) + sign * _span(text)
    except (ValueError, OverflowError) as error:
        raise NotUnderstood("no such day") from error
    return end


def weekday_in(name: str, text: str, sign: int = 1) -> Answer:
    start = next(at for at, day in enumerate(day_name) if day.lower() == name.lower())
    span = _span(text)
    if span.months or span.years:
        raise NotUnderstood("months differ in length")
    return Answer(
        day_name[(start + sign * span.days) % 7],
        (f"{span.days} days = {span.days // 7} weeks and {span.days % 7} days",),
    )


def days_of_month(month: str, year: Quantity | str | None = None) -> Answer:
    at = _month(month)
    if year is None and at == 2:
        return Answer("28 (29 in a leap year)")
    number = 2023 if year is None else int(year if isinstance(year, str) else year.whole)
    return Answer(str(monthrange(number, at)[1]))


def leap(year: str) -> Answer:
    holds = isleap(int(year))
    return Answer(f"{'yes' if holds else 'no'}, {year} is {'' if holds else 'not '}a leap year")


# -- ages -----------------------------------------------------------------------------------------------


def age(today: date, born: Day | str, year: str | None = None) -> Answer:
    """How old a person is, or becomes in a year; without the day of birth there are two possible ages."""
    if isinstance(born, Day) and year is None:
        if passed(born) > today:
            raise NotUnderstood("not born yet")
        years = relativedelta(today, born.on).years
        return Answer(str(years), (f"From {born.on.isoformat()} to {today.isoformat()}",))
    return lived(passed(born).year if isinstance(born, Day) else born, year or today.year)


def lived(born: str | int, year: str | int) -> Answer:
    years = int(year) - int(born)
    if not 0 <= years <= 125:
        raise NotUnderstood("no such age")
    return Answer(
        f"{years} ({years - 1} before the birthday)" if years else "0", (f"{year} - {born} = {years}",)
    )


RULES: Mapping[str, Callable[..., Any]] = {
    "today": lambda today: Answer(_written(today)), "this_year": lambda today: Answer(str(today.year)),
    "until": lambda unit, day, today: _counted(today, coming(day, today), unit),
    "until_days": lambda day, today: _counted(today, coming(day, today), "days"),
    "since": lambda unit, day, today: _counted(passed(day), today, unit),
    "days_of_year": lambda year: Answer("366" if isleap(int(year)) else "365"),
    "leap_days": lambda: Answer("366"),
    "next_leap": lambda today: Answer(
        str(next(year for year in range(today.year + (not isleap(today.year)), 9999) if isleap(year)))
    ),
    "moved_date": lambda day: Answer(_written(day)),
    "moved_day": lambda day: Answer(f"{day:%A}", (_written(day),)),
    "weekday_ago": lambda name, text: weekday_in(name, text, -1),
    "year_moved": lambda year: Answer(str(year)), "years_ago": lambda today, count: today.year - int(count),
    "years_on": lambda today, count: today.year + int(count),
    "earlier": lambda day, text: later(day, text, -1), "weekday_today": lambda today: weekday(Day(today)),
    "later_today": lambda today, text: later(Day(today), text),
    "earlier_today": lambda today, text: later(Day(today), text, -1),
    "iso": lambda text: Day(date.fromisoformat(text)), "today_date": Day,
    "tomorrow": lambda today: Day(today + timedelta(days=1)),
    "yesterday": lambda today: Day(today - timedelta(days=1)),
    "overmorrow": lambda today: Day(today + timedelta(days=2)),
    "year_end": lambda today: Day(date(today.year, 12, 31)), "noon": lambda: clock("12:00"),
    "clock_start": lambda *parts: parts[-1], "shifted_back": lambda start, span: shifted(start, span, -1),
}  # fmt: skip
"""What each rule means whose name no function here has."""
