"""The value of a formula in numbers, without SymPy: another way to what `expression.py` computes by rules.

Whole numbers and fractions are exact; everything else is computed to `DIGITS` digits by mpmath.
"""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import mpmath

from conductor.errors import FormatError
from conductor.workers.offline.mathematics.formula import Node

Number = Any  # A Fraction, or a real or complex number of mpmath.

DIGITS = 40
TOLERANCE = 1e-6
"""How far an inexact number may be off, as a part of it."""

MAX_BITS = 100_000
"""The longest power that is computed exactly, and the largest number of things that are counted."""

MAX_EXPONENT = 10**100
"""A number of mpmath has an exponent of its own, and so takes no room, up to here."""

mpmath.mp.dps = DIGITS


def number_of(node: Node, values: Mapping[str, Number]) -> Number:
    """The value of a formula with `values` for its names.

    Raises `FormatError` where a name has no value, or what it asks for is not computed here;
    `ArithmeticError`, `ValueError` or `TypeError` where there is no such value.
    """
    if node.kind == "number":
        return Fraction(node.text)
    if node.kind == "name":
        value = values.get(node.text, _CONSTANTS.get(node.text.lower()))
        if value is None:
            raise FormatError(f"{node.text} has no value.")
        return value
    parts = [number_of(part, values) for part in node.parts]
    if node.kind == "pow":
        return _power(*parts)
    if node.kind in _EXACT and all(isinstance(part, Fraction) for part in parts):
        return Fraction(_EXACT[node.kind](*parts))
    if node.kind not in _INEXACT:
        raise FormatError(f"{node.kind} is not computed in numbers.")
    return _INEXACT[node.kind](*map(inexact, parts))


def inexact(value: Number) -> Number:
    """The number of mpmath that is nearest to a value."""
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def same(left: Number, right: Number) -> bool:
    """Whether two values are the same: exactly for fractions, else up to `TOLERANCE`."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left == right
    return bool(mpmath.almosteq(inexact(left), inexact(right), TOLERANCE, TOLERANCE))


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > MAX_EXPONENT:
        raise FormatError("An exponent is too large for numbers.")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length()) * abs(exponent)
        return (base if bits <= MAX_BITS else inexact(base)) ** int(exponent)
    return inexact(base) ** inexact(exponent)


def _of_whole(function: Callable[..., int]) -> Callable[..., int]:
    def counted(*values: Fraction) -> int:
        if any(value.denominator != 1 or value > MAX_BITS for value in values):
            raise FormatError("This is computed of whole numbers that are not too large.")
        return function(*map(int, values))

    return counted


_CONSTANTS = {"pi": mpmath.pi, "e": mpmath.e, "i": mpmath.j, "oo": mpmath.inf, "infinity": mpmath.inf}
_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "neg": operator.neg, "abs": abs, "percent": lambda value: value / 100, "max": max, "min": min,
}  # fmt: skip
_EXACT: Mapping[str, Callable[..., Any]] = {
    **_ARITHMETIC, "mod": operator.mod, "mean": lambda *values: statistics.mean(values),
    "median": lambda *values: statistics.median(values), "floor": math.floor, "ceil": math.ceil,
    **{name: _of_whole(getattr(math, name)) for name in ("gcd", "lcm", "factorial")},
    "binomial": _of_whole(math.comb),
}  # fmt: skip
_NAMED_ALIKE = "sin cos tan sec csc cot asin acos atan sinh cosh tanh exp ln log sqrt cbrt floor ceil".split()
_INEXACT: Mapping[str, Callable[..., Any]] = {
    **_ARITHMETIC, **{name: getattr(mpmath, name) for name in _NAMED_ALIKE},
    **{f"arc{name}": getattr(mpmath, f"a{name}") for name in ("sin", "cos", "tan")},
    "degree": mpmath.radians, "log2": lambda value: mpmath.log(value, 2),
    "log10": lambda value: mpmath.log(value, 10), "factorial": mpmath.factorial,
}  # fmt: skip
