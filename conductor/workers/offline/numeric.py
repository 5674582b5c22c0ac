"""A formula evaluated in plain Python: exact fractions where possible, else complex floating point.

A second way to a value, independent of SymPy, for the checker. Knows trees and numbers only.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar, assert_never

from conductor.workers.offline.formula import Binary, Call, Name, Negative, Node, Number

Numeric = Fraction | complex
MAX_BITS = 70_000
TOLERANCE = 1e-6


def evaluate(node: Node, values: Mapping[str, Numeric] | None = None) -> Numeric:
    """The value of a tree with `values` for its names.

    Raises `ArithmeticError` where there is none or it is too large, `KeyError` for a name without a value.
    """
    known = values or {}
    match node:
        case Number(text):
            return Fraction(text)
        case Name(text):
            return known[text] if text in known else _CONSTANTS[text.lower()]
        case Negative(operand):
            return -evaluate(operand, known)
        case Binary(sign, left, right):
            return _binary(sign, evaluate(left, known), evaluate(right, known))
        case Call(function, arguments):
            return _call(function, [evaluate(each, known) for each in arguments])
        case _:
            assert_never(node)


def close(left: Numeric, right: Numeric) -> bool:
    """Whether two values are the same: exactly for fractions, else to six digits."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left == right
    return cmath.isclose(complex(left), complex(right), rel_tol=TOLERANCE, abs_tol=TOLERANCE)


_CONSTANTS: Mapping[str, Numeric] = {"pi": complex(math.pi), "e": complex(math.e), "i": 1j}


def _binary(sign: str, left: Numeric, right: Numeric) -> Numeric:
    if sign == "^":
        return _power(left, right)
    if sign == "mod":
        if isinstance(left, complex) or isinstance(right, complex):
            raise ArithmeticError("remainders need real numbers")
        return left % right
    if isinstance(left, complex) or isinstance(right, complex):
        return _combined(sign, complex(left), complex(right))
    return _combined(sign, left, right)


_Same = TypeVar("_Same", Fraction, complex)


def _combined(sign: str, left: _Same, right: _Same) -> _Same:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _:
            return left / right


def _power(base: Numeric, exponent: Numeric) -> Numeric:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length()) * abs(exponent.numerator)
        if bits > MAX_BITS:
            raise ArithmeticError("too large")
        return base**exponent.numerator
    if base == 0:
        return complex(0)
    return complex(cmath.exp(cmath.log(complex(base)) * complex(exponent)))


def _call(function: str, arguments: Sequence[Numeric]) -> Numeric:
    if function in _OF_INTEGERS:
        return Fraction(_OF_INTEGERS[function](*map(_integer, arguments)))
    if function == "percent":
        return _binary("/", arguments[0], Fraction(100))
    if function == "abs":
        return abs(arguments[0]) if isinstance(arguments[0], Fraction) else complex(abs(arguments[0]))
    if function == "mean":
        return _binary("/", sum(map(complex, arguments)), Fraction(len(arguments)))
    if function == "log" and len(arguments) == 2:
        return cmath.log(complex(arguments[0])) / cmath.log(complex(arguments[1]))
    if function in _OF_COMPLEX:
        return _OF_COMPLEX[function](complex(arguments[0]))
    raise ArithmeticError(f"{function} has no second way here")


def _integer(value: Numeric) -> int:
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    raise ArithmeticError("whole numbers are needed")


def _factorial(number: int) -> int:
    if not 0 <= number <= 5_000:
        raise ArithmeticError("too large")
    return math.prod(range(2, number + 1))


def is_prime(number: int) -> bool:
    """By trial division. Raises `ArithmeticError` above 10^12."""
    if number > 10**12:
        raise ArithmeticError("too large for trial division")
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def _next_prime(number: int) -> int:
    return next(each for each in range(max(number + 1, 2), 2 * max(number, 2) + 2) if is_prime(each))


def _nth_prime(index: int) -> int:
    if not 1 <= index <= 5_000:
        raise ArithmeticError("too large for trial division")
    number = 1
    for _ in range(index):
        number = _next_prime(number)
    return number


_OF_INTEGERS: dict[str, Callable[..., int]] = {
    "gcd": math.gcd, "lcm": math.lcm, "binomial": math.comb, "factorial": _factorial, "prime": _nth_prime,
    "nextprime": _next_prime,
}  # fmt: skip
_OF_COMPLEX: dict[str, Callable[[complex], complex]] = {
    "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "asin": cmath.asin, "acos": cmath.acos,
    "atan": cmath.atan, "arcsin": cmath.asin, "arccos": cmath.acos, "arctan": cmath.atan,
    "sec": lambda x: 1 / cmath.cos(x), "csc": lambda x: 1 / cmath.sin(x), "cot": lambda x: 1 / cmath.tan(x),
    "sinh": cmath.sinh, "cosh": cmath.cosh, "tanh": cmath.tanh, "exp": cmath.exp, "ln": cmath.log,
    "log": cmath.log, "log10": cmath.log10, "log2": lambda x: cmath.log(x) / math.log(2),
    "sqrt": cmath.sqrt, "cbrt": lambda x: x ** (1 / 3),
}  # fmt: skip
