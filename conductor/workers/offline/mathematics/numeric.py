"""A formula evaluated by numbers: exact fractions where possible, else mpmath to 30 digits.

A second way to a value, independent of SymPy's, for the checker. Knows trees and numbers only.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import mpmath

from conductor.workers.offline.mathematics.formula import Node

MAX_BITS = 70_000
MAX_FACTORIAL = 5_000
MAX_TRIED = 10**12
"""The largest number that is tried for divisors one by one."""

_CONTEXT = mpmath.MPContext()
_CONTEXT.dps = 30
_TOLERANCE = 1e-6
_CONSTANTS = {
    "pi": _CONTEXT.pi,
    "e": _CONTEXT.e,
    "i": _CONTEXT.j,
    "oo": _CONTEXT.inf,
    "infinity": _CONTEXT.inf,
}


def evaluate(node: Node, values: Mapping[str, Any] | None = None) -> Any:
    """The value of a tree with `values` for its names: a `Fraction`, or a number of mpmath.

    Raises `ArithmeticError` where there is none or it is too large, `KeyError` for a name without a value or
    an operation that is not evaluated here.
    """
    known = values or {}
    if node.kind == "number":
        return Fraction(node.text)
    if node.kind == "name":
        return known[node.text] if node.text in known else +_CONSTANTS[node.text.lower()]
    parts = [evaluate(part, known) for part in node.parts]
    if node.kind not in _SIGNS:
        return _FUNCTIONS[node.kind](*map(_inexact, parts))
    exact = all(isinstance(part, Fraction) for part in parts)
    return _SIGNS[node.kind](*(parts if exact else map(_inexact, parts)))


def close(left: Any, right: Any) -> bool:
    """Whether two values are the same: exactly for fractions, else to six digits."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left == right
    left, right = _inexact(left), _inexact(right)
    return bool(_CONTEXT.almosteq(left, right, rel_eps=_TOLERANCE, abs_eps=_TOLERANCE))


def integral(function: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The integral of a function between bounds, by quadrature."""
    return _CONTEXT.quad(lambda at: _inexact(function(at)), [_inexact(low), _inexact(high)])


def slope(function: Callable[[Any], Any], at: Any, *, order: int = 1) -> Any:
    """The derivative of a function at a point, by difference quotients."""
    return _CONTEXT.diff(lambda point: _inexact(function(point)), _CONTEXT.mpf(_inexact(at)), order)


def is_prime(number: int) -> bool:
    """By trial division. Raises `ArithmeticError` above `MAX_TRIED`."""
    if number > MAX_TRIED:
        raise ArithmeticError("too large for trial division")
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def _inexact(value: Any) -> Any:
    return _CONTEXT.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _power(base: Any, exponent: Any) -> Any:
    if not (isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1):
        return _inexact(base) ** _inexact(exponent)
    if max(base.numerator.bit_length(), base.denominator.bit_length()) * abs(exponent) > MAX_BITS:
        raise ArithmeticError("too large")
    return base**exponent.numerator


def _factorial(value: Any) -> Fraction:
    if value not in range(MAX_FACTORIAL):
        raise ArithmeticError("no factorial, or too large")
    return Fraction(math.factorial(int(value)))


_SIGNS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "mod": operator.mod, "pow": _power, "neg": operator.neg, "percent": lambda value: value / 100,
    "factorial": _factorial, "abs": abs, "max": max, "min": min,
    "mean": lambda *values: sum(values) / len(values),
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "arcsin": _CONTEXT.asin, "arccos": _CONTEXT.acos, "arctan": _CONTEXT.atan,
    "degree": _CONTEXT.radians,
    "log2": lambda value: _CONTEXT.log(value, 2),
    **{
        name: getattr(_CONTEXT, name)
        for name in "sin cos tan sec csc cot asin acos atan sinh cosh tanh exp ln log log10 sqrt cbrt".split()
    },
}  # fmt: skip
