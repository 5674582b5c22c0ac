"""Exact arithmetic, bounded: fractions, and floats behind a root, a logarithm or an angle. Pure.

The size of a power or factorial is checked before it is computed, that of any other result afterwards, so
that no formula takes long or much memory. Raises `FormatError` for an operation without a value, and
`QueryError` for a number that is too large.
"""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from fractions import Fraction

from conductor.errors import FormatError, QueryError

Number = Fraction | float
MAX_DIGITS = 1_000
"""The most digits of a numerator or denominator."""
_MAX_BITS = int(MAX_DIGITS * math.log2(10))


class Percent(Fraction):
    """A percentage: added to a number, or taken from it, it is that share of the number."""


def computed(operation: str, *values: Number) -> Number:
    """The result of an operation of `_OPERATIONS`."""
    try:
        return _bounded(_OPERATIONS[operation](*values))
    except OverflowError:
        raise QueryError(f"A number would have more than {MAX_DIGITS:,} digits. Use smaller ones.") from None
    except ZeroDivisionError:
        raise FormatError("This divides by 0, which has no value. Use another divisor.") from None
    except (TypeError, ValueError):
        raise FormatError(f"{operation} has no value for these numbers. Check what it is given.") from None


def _bounded(value: Number, exponent: Fraction = Fraction(1)) -> Number:
    """The value, if its power is not too large; raises `OverflowError`, as for an infinite float."""
    bits = max(map(int.bit_length, value.as_integer_ratio()))
    if (bits - 1) * abs(exponent) > _MAX_BITS:
        raise OverflowError
    return value


def _power(base: Number, exponent: Number) -> Number:
    """Exact for whole exponents, and for square roots without a remainder."""
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            return Fraction(_bounded(base, exponent) ** int(exponent))
        if exponent == Fraction(1, 2) and base > 0:
            root = Fraction(*map(math.isqrt, base.as_integer_ratio()))
            if root**2 == base:
                return root
    # A root of a negative number is complex, which float refuses.
    return float(float(base) ** float(exponent))


def _plus(left: Number, right: Number, sign: int = 1) -> Number:
    share = isinstance(right, Percent) and not isinstance(left, Percent)
    return left + sign * (left * right if share else right)


def _whole(*values: Number) -> list[int]:
    if not all(isinstance(value, Fraction) and value.denominator == 1 for value in values):
        raise ValueError("whole numbers only")
    return list(map(int, values))


_OPERATIONS: Mapping[str, Callable[..., Number]] = {
    "add": _plus, "sub": lambda left, right: _plus(left, right, -1), "mul": operator.mul,
    "div": operator.truediv, "mod": operator.mod, "pow": _power, "neg": operator.neg, "abs": abs,
    "percent": lambda value: Percent(value / 100), "degrees": math.radians, "max": max, "min": min,
    # That of MAX_DIGITS is too large, and is not computed for more.
    "factorial": lambda value: Fraction(math.factorial(min(MAX_DIGITS, *_whole(value)))),
    "gcd": lambda *values: Fraction(math.gcd(*_whole(*values))),
    "lcm": lambda *values: Fraction(math.lcm(*_whole(*values))), "ln": math.log, "e": lambda: math.e,
    "sqrt": lambda value: _power(value, Fraction(1, 2)), "product": lambda *values: math.prod(values),
    "floor": lambda value: Fraction(math.floor(value)), "ceil": lambda value: Fraction(math.ceil(value)),
    "sum": lambda *values: sum(values, Fraction(0)), "median": lambda *values: statistics.median(values),
    "mean": lambda *values: sum(values, Fraction(0)) / len(values), "pi": lambda: math.pi,
    **{name: getattr(math, name) for name in "sin cos tan asin acos atan exp log log10 cbrt".split()},
}  # fmt: skip


def number_text(value: Number) -> str:
    """A value as people write it: whole, a decimal that ends soon, a fraction, or rounded to ten digits."""
    if isinstance(value, float):
        return f"{value:.10g}"
    places = next((at for at in range(13) if 10**at % value.denominator == 0), None)
    if places is None:
        return f"{value.numerator}/{value.denominator}"
    return f"{Decimal(int(value * 10**places)).scaleb(-places, Context(prec=2 * MAX_DIGITS)):f}"
