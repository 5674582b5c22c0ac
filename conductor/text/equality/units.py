"""The unit at the beginning of a text, as behind a number: of measure, money or time. Knows no numbers.

Pint knows the units of measure; it is imported where it is used, since that takes half a second.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

Unit = frozenset[str]
"""What a unit may be: a pound is one of money or of weight. Empty for no unit."""

SIGNS = "$¢-¥\u058f\u060b\u09f3\u0e3f\u20a0-\u20cf"
"""Signs of currencies, as ranges for a class of a pattern."""

_MONEY = {
    word: code
    for code, words in {
        "usd": "$ us$ usd dollar dollars", "eur": "€ eur euro euros", "gbp": "£ gbp", "jpy": "¥ jpy yen",
        "inr": "₹ inr rupee rupees", "chf": "chf", "cny": "cny rmb yuan", "krw": "₩ krw won", "rub": "₽ rub",
        "aud": "a$ aud", "cad": "c$ cad", "kr": "kr krone kroner krona kronor", "pln": "zł pln",
        "¢": "¢ cent cents",
    }.items()
    for word in words.split()
}  # fmt: skip
CODES = "|".join(sorted({code.upper() for code in _MONEY.values() if code.isascii()}))
"""Codes of currencies, which may stand before a number, as a pattern."""

_TIMES = {"am": "am", "pm": "pm", "bc": "bc", "bce": "bc", "ad": "ad", "ce": "ad"}
_WORDS = frozenset("in a an as at are is or of to do".split())
"""Words that are units only where nothing follows."""
_NO_UNITS = frozenset("e k c R π st nd rd th pt pts point points".split())
"""What Pint knows, but is a factor of a number, the end of an ordinal, or counted in games."""
_EITHER = {
    "C": "coulomb degC", "F": "farad degF", **dict.fromkeys(("°", "degree", "degrees"), "degree degC degF"),
}  # fmt: skip
"""What may be one of several units of measure."""

_POWERED = r"[^\W\d_]{1,20}(?:\^-?[0-9]{1,2}|[0-9])?(?![\w^])"
_TOKEN = re.compile(
    rf"\s?((?:[ap]\.m|b\.c|a\.d)\b\.?|(?:[A-Z]{{1,3}})?[{SIGNS}]|°\s?[CFK]\b|degrees?\s(?:celsius|fahrenheit|kelvin)\b|[°%‰]"
    rf"|(?:(?:square|cubic)\s)?{_POWERED}(?:\s(?:squared|cubed)\b)?)",
    re.IGNORECASE,
)
_FURTHER = re.compile(
    rf"\s?(?:[/·*]|\bper\s)\s?{_POWERED}|\s(?:[^\W\d_]{{1,5}}\^-[0-9]|hours?|met(?:er|re)s?)(?!\w)",
    re.IGNORECASE,
)
_RATE = re.compile(rf"\s?(?:/|\bper\s)\s?({_POWERED})", re.IGNORECASE)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_FACTOR = r"(?:[^\W\d_]+|[%‰])(?:\^-?[1-9][0-9]?)?"
_PRODUCT = re.compile(rf"{_FACTOR}(?:[/*]{_FACTOR})*")
"""What Pint gets to read: a power of zero is an error of its own, and one of a power takes minutes."""
_WRITTEN = (
    (re.compile("[⁰¹²³⁴-⁹⁻]+"), lambda match: f"^{match[0].translate(_SUPERSCRIPTS)}"),
    (re.compile(r"degrees?\s(?=celsius|fahrenheit|kelvin)", re.IGNORECASE), ""),
    (re.compile(r"°\s?(?=[CFK]\b)"), "deg"),
    (re.compile("°"), "degree"),
    (re.compile(r"square\s(\w+)", re.IGNORECASE), r"\1^2"),
    (re.compile(r"cubic\s(\w+)", re.IGNORECASE), r"\1^3"),
    (re.compile(r"\ssquared", re.IGNORECASE), "^2"),
    (re.compile(r"\scubed", re.IGNORECASE), "^3"),
    (re.compile(r"(?<=[^\W\d_])(?=\d)"), "^"),
    (re.compile(r"\s?\bper\s"), "/"),
    (re.compile(r"[·\s]+"), "*"),
)


def unit_at(text: str) -> tuple[Unit, str]:
    """The unit that a plain text begins with, and the text behind it; without one no unit, and the text.

    Capitals count where both ways are units: mW is not MW.
    """
    if (token := _TOKEN.match(text)) is None or token[1] == "per":
        return rate_at(frozenset(), text)
    word, rest = token[1], text[token.end() :]
    time = _TIMES.get(word.lower().replace(".", ""))
    if time is not None and (word.islower() or word.isupper()):
        return frozenset({time}), rest
    if (code := money(word)) is not None:
        return rate_at(frozenset({code}), rest)
    if word.lower() in ("pound", "pounds"):
        return frozenset({"gbp", measure("lb") or ""}), rest
    if word in _EITHER and not _FURTHER.match(rest):
        return frozenset(measure(each) or "" for each in _EITHER[word].split()), rest
    is_word = word in _NO_UNITS or (word.lower() in _WORDS and rest.strip(" .,;"))
    if is_word or (unit := measure(word)) is None:
        return frozenset(), text
    while (further := _FURTHER.match(rest)) and (longer := measure(word + further[0])) is not None:
        word, unit, rest = word + further[0], longer, rest[further.end() :]
    return frozenset({unit}), rest


def rate_at(unit: Unit, text: str) -> tuple[Unit, str]:
    """The unit with what it is counted for ("/hour", "per day"), where the text begins so, and the rest."""
    rate = _RATE.match(text)
    if rate is None or (each := measure(rate[1])) is None:
        return unit, text
    return frozenset({f"{''.join(sorted(unit))}/{each}"}), text[rate.end() :]


def money(word: str) -> str | None:
    """The code of a currency's name or sign, or the sign."""
    code = _MONEY.get(word.lower())
    return word if code is None and re.fullmatch(rf"[A-Za-z]*[{SIGNS}]", word) else code


def is_money(unit: Unit) -> bool:
    """Whether it can only be a currency."""
    return bool(unit) and all(money(code) is not None for code in unit)


def is_share(unit: Unit) -> bool:
    """Whether it makes a number a part of a hundred or a thousand."""
    return bool(unit & {measure("percent"), measure("permille")})


@lru_cache(maxsize=4_096)
def measure(name: str) -> str | None:
    """What one of the unit is in base units, by which two names of one unit are equal; None for no unit."""
    import pint  # noqa: PLC0415

    for pattern, form in _WRITTEN:
        name = pattern.sub(form, name)
    try:
        base = registry().Quantity(1, pint_unit(name)).to_base_units()
    except (pint.PintError, ValueError, TypeError, AttributeError, OverflowError):
        return None
    powers = (f"{name}^{power}" for name, power in sorted(base.dimensionality.items()))
    return " ".join((str(base.magnitude), *powers))


def pint_unit(name: str) -> Any:
    """Pint's unit of a name as people write it: in small letters where it is none as it is written.

    Raises `pint.PintError` for no unit.
    """
    import pint  # noqa: PLC0415

    if _PRODUCT.fullmatch(name) is None:
        raise pint.UndefinedUnitError(name)
    is_unit = re.split(r"[\^/*]", name)[0] in registry()
    return registry().parse_units((name if is_unit else name.lower()).replace("^", "**"))


@cache
def registry() -> Any:
    """Pint's units, with fractions as numbers."""
    import pint  # noqa: PLC0415

    return pint.UnitRegistry(non_int_type=Fraction, autoconvert_offset_to_baseunit=True)
