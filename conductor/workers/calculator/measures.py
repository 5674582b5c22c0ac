"""Units and dates: "5 miles in km", "days between 2024-01-01 and 2024-03-01". Pure.

Pint knows the units and computes with fractions, dateutil knows dates. A text counts only as a whole: other
words in it make it none. Both are imported where they are used, since that takes half a second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from conductor.errors import FormatError
from conductor.text.equality.units import pint_unit, registry
from conductor.workers.calculator.arithmetic import number_text

_UNIT = r"([A-Za-zµ]{1,20}(?:\^[23])?(?:/[A-Za-z]{1,20}(?:\^[23])?)?)"
_AMOUNT = r"(-?\d[\d,]{0,30}(?:\.\d{1,30})?|an?|one)"
_INTO = re.compile(rf"(?:(?:convert|change|what is) )?{_AMOUNT} ?{_UNIT} (?:in|to|into|as) {_UNIT}", re.I)
_UNIT_WORDS = (
    (r"\bdegrees? (celsius|fahrenheit|kelvin)\b", r"\1"), (r" ?° ?([CF])\b", r" deg\1"), ("²", "^2"),
    ("³", "^3"), (r"\bsquare (\w+)", r"\1^2"), (r"\bcubic (\w+)", r"\1^3"), (r" per ", "/"),
    (rf"^how many {_UNIT} (?:(?:are|is) )?(?:there )?(?:in )?{_AMOUNT} ?{_UNIT}$", r"\2 \3 in \1"),
    (r"\b([CFK]) (in|to|into|as) ([CFK])$", r"deg\1 \2 deg\3"),
)  # fmt: skip

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}"
_DAY = r"\d\d?(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\b(?:\d{{4}}-\d\d?-\d\d?|{_DAY}(?: of)? {_MONTH},? \d{{4}}|{_MONTH} {_DAY},? \d{{4}})\b", re.I
)
_SPAN = re.compile(r"\b(\d{1,6}|an?|one) (day|week|month|year)s?\b", re.I)
_BACK = frozenset("before earlier minus subtract -".split())
_DATE_WORDS = _BACK | frozenset(
    "what which how many long is was will be are there the a day days week weeks weekday of date on in fall "
    "falls fell between and from to until after later than plus + add does it".split()
)


def converted(text: str) -> Sequence[str] | None:
    """The lines of a conversion, else None. Raises `FormatError` for units of different kinds."""
    text = text.strip(" ?.!")
    for pattern, words in _UNIT_WORDS:
        text = re.sub(pattern, words, text, flags=re.I)
    if (conversion := _INTO.fullmatch(text)) is None:
        return None
    import pint  # noqa: PLC0415

    amount, source, target = conversion.groups()
    number = Fraction(1) if amount[0].isalpha() else Fraction(amount.replace(",", ""))
    try:
        exact = registry().Quantity(number, pint_unit(source)).to(pint_unit(target)).magnitude
    except pint.UndefinedUnitError:
        return None
    except pint.DimensionalityError:
        raise FormatError(f"{source} and {target} measure different things. Name two of one kind.") from None
    value = number_text(exact)
    value = f"{number_text(float(exact)) if '/' in value else value} {target}"
    return [f"{number_text(number)} {source} = {value}", f"Answer: {value}"]


def dated(text: str) -> Sequence[str] | None:
    """The days between two dates, a date before or after another, or the day of the week; else None.

    Raises `FormatError` for a day that does not exist.
    """
    rest = _DATE.sub(" ", text)
    spans = _SPAN.findall(rest)
    words = set(re.findall(r"[^\W_]+|[-+]", _SPAN.sub(" ", rest).lower()))
    if rest == text or not words <= _DATE_WORDS:
        return None
    from dateutil import parser, relativedelta  # noqa: PLC0415

    try:
        dates = sorted(parser.parse(each).date() for each in _DATE.findall(text))
        match len(dates), len(spans):
            case 2, 0:
                days = (dates[1] - dates[0]).days
                answer = f"{number_text(Fraction(days, 7))} weeks" if "weeks" in words else f"{days} days"
                return [f"From {dates[0]} to {dates[1]}: {days} days", f"Answer: {answer}"]
            case 1, 1:
                number = 1 if spans[0][0][0].isalpha() else int(spans[0][0])
                span = relativedelta.relativedelta(**{f"{spans[0][1].lower()}s": number})
                moved = dates[0] - span if words & _BACK else dates[0] + span
                return [f"{moved} is a {moved:%A}.", f"Answer: {moved}"]
            case 1, 0 if words & {"day", "weekday"}:
                return [f"Answer: {dates[0]:%A}"]
    except (ValueError, OverflowError):
        raise FormatError("There is no such day. Check the dates: the years are 1 to 9999.") from None
    return None
