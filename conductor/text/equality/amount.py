"""The number that an answer is or holds, with its unit. Pure.

Numbers are compared by value, units by what they are in base units. What stands beside a number may make it
another ("> 5", "5!", "not 5", "x - 5", "5 dozen"): such a text holds no number that could be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from conductor.text.equality.units import CODES, SIGNS, Unit, is_money, money, rate_at, unit_at
from conductor.text.equality.writing import bare, plain

_LONGEST_NUMBER = 60
_MOST_DIGITS = 3_000
"""Digits of a power that is computed."""
_LONGEST = 1_000
"""Characters of a text in which a number is looked for."""

_WHOLE_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d{1,3})?", re.IGNORECASE)
_FRACTION = re.compile(r"([-+]?)(?:(\d{1,30})\s+)?(\d{1,30})\s*/\s*(\d{1,30})")
_DECIMAL = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_AMOUNT = re.compile(
    rf"(?:(?<![\w)\]}}°%^'])([-+]))?(?:((?:\b[A-Z]{{1,3}})?[{SIGNS}]|(?-i:\b(?:{CODES})\b))\s?([-+]?))?"
    r"(?<![\w.^])(?<!\^[-+])(?<![^\W\d_]-)"
    rf"(?:(?:({_DECIMAL})\s?[×*·x]\s?)?(\d{{1,6}})\s?\^\s?(-?\d{{1,3}})(?![\w.])"
    rf"|((?:\d{{1,30}}\s{{1,3}})?\d[\d,.]{{0,30}}\s?/\s?\d[\d,.]{{0,30}}"
    rf"|{_DECIMAL}(?:e[-+]?\d{{1,3}}(?!\w))?|\.\d+(?:e[-+]?\d{{1,3}}(?!\w))?))",
    re.IGNORECASE,
)
"""Sign, money, sign, and a power with its factor, base and exponent, or another number."""
_NEGATIVE = re.compile(
    rf"(^|[=(:]\s?|\b(?:is|are|equals|answer)\s)(?:minus|negative)\s(?=[{SIGNS}]?[\d.])", re.IGNORECASE
)
_IN_WORD = re.compile(r"[^\W\d_]\d+[^\W\d_]")
_RESULT = re.compile(r".*\b(?:is|are|equals|makes|gives)\b(?!\s+not\b)(.*)", re.DOTALL | re.IGNORECASE)
_SEVERAL = re.compile(
    r"=[^=]*(?:\b(?:or|and)\b|[,;])[^=]*=|\b(?:is|are)\b.*\bor\b.*\b(?:is|are)\b", re.DOTALL
)

_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
          "dozen": 12}  # fmt: skip
_SCALE = re.compile(rf"\s?({'|'.join(_SCALES)})s?\b(?!\s*(?:{'|'.join(_SCALES)}))", re.IGNORECASE)
_ABBREVIATED = re.compile(r"[kKMB](?!\w)|(?<=\d0)s(?!\w)")
"""Whether "5M" is five million is not known, nor whether "90s" are years."""

_CHANGED_BEFORE = re.compile(
    r"(?:[+/×÷·^<>≤≥≠±∓√∛&_\\]\s{0,3}|[-!]|\d[,:]|(?<![^\W\d_]{2}\s)-\s{1,3}|\||[<>!]=\s{0,3}|[\w)]\s?\*\s?"
    r"|\\[A-Za-z]+\{?|[^\W_][(\[{]"
    r"|\b(?:minus|negative|plus|no|non|than|least|most|over|under|above|below|up to|exceeds?|except|without"
    r"|between|root(?: of)?|half(?: of)?|twice|double|sin|cos|tan|log|ln|exp|sqrt)\s{1,3})$",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:\b(?:not|never|neither|nor)|n't)\b(?:(?!\bbut\b)[^,.;:]){0,80}$", re.IGNORECASE)
_CHANGED_AFTER = re.compile(
    r"\s?[/×÷·^<>≤≥≠±√∛*+]|\||(?!(?:st|nd|rd|th)\b)\w|[!(\[{'\"\\\u0300-\u036f]|-(?:\d|\s*$)|\s-\s?(?:\d|[^\W_aAI]\b)|[.,:]\d|\.\.|\s\\"
    rf"|\s[^\W\d_aAI](?!\w)|\s(?:{'|'.join(_SCALES)})s?\b"
    r"|\s(?:is|was|are)(?:n't| not| wrong| incorrect| false)\b"
    r"|\s(?:or|and) (?:more|less|fewer|over|above|below|up|older|younger|an? (?:half|third|quarter))\b"
    r"|\s?(?:squared|cubed|factorial|plus|minus|below)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Amount:
    value: Fraction
    unit: Unit = frozenset()

    def agrees_with(self, other: Amount) -> bool:
        """Whether their units are one, or only one of them has a unit, which the question names then."""
        return not self.unit or not other.unit or bool(self.unit & other.unit)


def number_in(text: str) -> Fraction | None:
    """The value of a text that is one number and nothing else; None for any other text."""
    text = plain(text)
    if fraction := _FRACTION.fullmatch(text):
        sign, whole, top, bottom = fraction.groups()
        if not int(bottom):
            return None
        value = Fraction(int(top), int(bottom)) + int(whole or 0)
        return -value if sign == "-" else value
    if not text or len(text) > _LONGEST_NUMBER or not _WHOLE_NUMBER.fullmatch(text):
        return None
    try:
        return Fraction(Decimal(text.replace(",", "")))
    except InvalidOperation:
        return None


def whole_amount(text: str) -> Amount | None:
    """The amount that a text is: a number with its unit, and nothing else."""
    if len(text) > _LONGEST:
        return None
    text = bare(plain(text))
    if (match := _AMOUNT.match(text)) is None:
        return None
    amount, rest = _read(match)
    return None if rest.strip() else amount


def amount_in(text: str) -> Amount | None:
    """The one amount that a text holds, or the one behind its last "is" or equals sign; None for none or
    several, and for a number that stands for another: in a comparison, a product, a function, a denial.
    """
    if len(text) > _LONGEST:
        return None
    text = bare(_signed(plain(text)))
    if _SEVERAL.search(text):
        return None
    if (amount := _only(text.rpartition("=")[2])) is None and (result := _RESULT.fullmatch(text)) is not None:
        return _only(result[1].rpartition("=")[2])
    return amount


def amounts_in(text: str) -> Iterator[tuple[str, Amount]]:
    """The amounts that stand in a plain text, each with what stands before it. A number that stands for
    another, or in a list without spaces, is none.
    """
    text = _signed(text)
    for match in _AMOUNT.finditer(text):
        before = text[max(0, match.start() - 100) : match.start()]
        amount, rest = _read(match)
        is_list = "," in match[0] and before.endswith(("(", "[", "{"))
        if amount is not None and not is_list and not stands_for_another(before, rest):
            yield before, amount


def _signed(text: str) -> str:
    return _NEGATIVE.sub(r"\1-", text)


def _only(text: str) -> Amount | None:
    text = bare(text)
    if len(_AMOUNT.findall(text)) != 1 or _IN_WORD.search(text):
        return None
    return next((amount for before, amount in amounts_in(text) if not _DENIED.search(before)), None)


def stands_for_another(before: str, after: str) -> bool:
    """Whether a number that stands between two plain texts is a part of another there, or compared with."""
    before, after = before[-100:], after[:100]
    if not _CHANGED_BEFORE.search(before):
        inner = before.rstrip("([{\"' ")
        if before[len(inner) :].strip():
            after = after.lstrip(")]}\"'")
            before = inner
    return bool(_CHANGED_BEFORE.search(before) or _CHANGED_AFTER.match(after))


def _read(match: re.Match[str]) -> tuple[Amount | None, str]:
    """The amount of a match, and the text behind it."""
    sign, coin, inner, factor, base, exponent, number = match.groups()
    value = number_in(number.rstrip(".,")) if number else _power(factor, base, exponent)
    rest = match.string[match.end() : match.end() + 200]
    if value is None:
        return None, rest
    if (scale := _SCALE.match(rest)) is not None:
        value, rest = value * _SCALES[scale[1].lower()], rest[scale.end() :]
    unit, behind = (
        (frozenset[str](), rest) if _ABBREVIATED.match(match.string, match.end()) else unit_at(rest)
    )
    if coin is not None and not is_money(unit):
        unit, behind = rate_at(frozenset({money(coin) or coin}), rest)
        behind = behind.removeprefix("!")
    return Amount(-value if "-" in (sign, inner) else value, unit), behind


def _power(factor: str | None, base: str, exponent: str) -> Fraction | None:
    if (not int(base) and int(exponent) < 0) or len(base) * abs(int(exponent)) > _MOST_DIGITS:
        return None
    times = number_in(factor) if factor else Fraction(1)
    return None if times is None else times * Fraction(int(base)) ** int(exponent)
