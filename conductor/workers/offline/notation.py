"""SymPy results as plain text: x^2 instead of x**2, long numbers shortened and said to be so.

Knows writing only. Decimals are written where they end, else marked "about".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import sympy as sp
from sympy.printing.str import sstr

MAX_SHOWN_DIGITS = 400
_NAMES = {
    "I": "i",
    "E": "e",
    "oo": "infinity",
    "zoo": "undefined",
    "nan": "undefined",
    "log": "ln",
    "Abs": "abs",
}


def written(value: sp.Basic) -> str:
    """`value` in the notation people type."""
    if value.is_Integer:
        return shortened(str(value))
    text = sstr(value, order="lex" if value.is_number else None).replace("**", "^")
    text = re.sub(r"\b(?:I|E|oo|zoo|nan|log|Abs)\b", lambda name: _NAMES[name[0]], text)
    return re.sub(rf"\d{{{MAX_SHOWN_DIGITS + 1},}}", lambda digits: shortened(digits[0]), text)


def shortened(digits: str) -> str:
    """A long integer by its first and last digits and its length."""
    count = len(digits.lstrip("-"))
    if count <= MAX_SHOWN_DIGITS:
        return digits
    return f"{digits[:40]}...{digits[-40:]} ({count:,} digits, shortened)"


def decimal_of(value: sp.Expr) -> str | None:
    """The exact decimal of a fraction whose decimals end within 30 places, else None."""
    if not value.is_Rational:
        return None
    rest, twos, fives = value.q, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 30:
        return None
    scaled = abs(value.p) * 10**places // value.q
    digits = str(scaled).rjust(places + 1, "0")
    sign = "-" if value.p < 0 else ""
    return shortened(sign + digits) if not places else f"{sign}{digits[:-places]}.{digits[-places:]}"


def about(value: sp.Expr) -> str | None:
    """A decimal approximation, None where there is nothing to add: whole numbers, infinities, names."""
    if value.free_symbols or value.is_Integer or not value.is_finite or value.is_number is not True:
        return None
    exact = decimal_of(value)
    return exact if exact is not None else f"about {written(sp.N(value, 10))}"


def roots_written(name: str, roots: Iterable[sp.Expr]) -> str:
    """x = 2 or x = 3."""
    return " or ".join(f"{name} = {written(root)}" for root in roots)


def set_written(name: str, values: sp.Set) -> str:
    """A set of real numbers as bounds on `name`."""
    match values:
        case _ if values == sp.S.EmptySet:
            return "no real solution"
        case sp.Union():
            return " or ".join(set_written(name, part) for part in sorted(values.args, key=_lowest))
        case sp.Interval():
            return _interval_written(name, values)
        case sp.FiniteSet():
            return roots_written(name, sorted(values))
        case _ if values == sp.S.Reals:
            return f"every real {name}"
        case sp.ImageSet() if len(values.lamda.variables) == 1:
            index = values.lamda.variables[0]
            formula = sp.expand(values.lamda.expr).subs(index, sp.Symbol("n"))
            return f"{name} = {written(formula)}"
        case _:
            return f"{name} in {written(values)}"


def _lowest(values: sp.Set) -> float:
    lowest = values.inf if isinstance(values, sp.Interval | sp.FiniteSet) else sp.Integer(0)
    return float(lowest)


def _interval_written(name: str, values: sp.Interval) -> str:
    low, high = values.start, values.end
    below, above = "<" if values.left_open else "<=", "<" if values.right_open else "<="
    if low == -sp.oo and high == sp.oo:
        return f"every real {name}"
    if low == -sp.oo:
        return f"{name} {above} {written(high)}"
    if high == sp.oo:
        return f"{name} {below.replace('<', '>')} {written(low)}"
    return f"{written(low)} {below} {name} {above} {written(high)}"
