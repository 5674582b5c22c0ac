"""A formula's tree as a SymPy expression, with sizes checked before anything is computed.

SymPy objects are built node by node; no text is ever given to SymPy to interpret. Runs in the
kernel process only, because importing SymPy is slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import assert_never

import sympy as sp

from conductor.errors import FormatError, QueryError
from conductor.workers.offline.formula import Binary, Call, Name, Negative, Node, Number, Relation

MAX_DIGITS = 20_000
"""The most digits a number in a computation may have."""

MAX_FACTORIAL = 5_000
MAX_EXPONENT = 100_000
"""The largest exponent of a formula that is not a plain number."""

MAX_PRIME_INDEX = 1_000_000

_CONSTANTS = {"pi": sp.pi, "e": sp.E, "i": sp.I, "oo": sp.oo, "infinity": sp.oo}


def expression_of(node: Node, *, bound: Collection[str] = ()) -> sp.Expr:
    """The SymPy expression of a tree; names in `bound` are variables even if they spell a constant.

    Raises `QueryError` where a number would be absurdly large, `FormatError` where a function cannot take
    what it is given.
    """
    match node:
        case Number(text):
            value = Fraction(text)
            return sp.Rational(value.numerator, value.denominator)
        case Name(text):
            known = None if text in bound else _CONSTANTS.get(text if len(text) > 1 else text.lower())
            return sp.Symbol(text) if known is None else known
        case Negative(operand):
            return -expression_of(operand, bound=bound)
        case Binary("mod", Binary("^", base, exponent), modulus):
            parts = [expression_of(part, bound=bound) for part in (base, exponent, modulus)]
            return _power_remainder(*parts)
        case Binary(sign, left, right):
            return _SIGNS[sign](expression_of(left, bound=bound), expression_of(right, bound=bound))
        case Call(function, arguments):
            return _call(function, [expression_of(each, bound=bound) for each in arguments])
        case _:
            assert_never(node)


def difference_of(relation: Relation) -> sp.Expr:
    """Left side minus right side."""
    return expression_of(relation.left) - expression_of(relation.right)


def _power(base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
    if exponent.is_Rational and exponent != 0 and base not in (0, 1, -1):
        if base.is_Rational:
            millionths = int(math.log10(max(abs(base.p), base.q)) * 10**6)
            digits = millionths * abs(exponent.p) // (exponent.q * 10**6)
            if digits > MAX_DIGITS:
                raise QueryError(_too_large(f"about {digits:,}" if digits < 10**15 else "more than 10^15"))
        elif abs(exponent) > MAX_EXPONENT:
            raise QueryError(
                f"An exponent of more than {MAX_EXPONENT:,} is too large to compute with. Use a smaller one."
            )
    return base**exponent


def _too_large(digits: str) -> str:
    return (
        f"This is too large to write out: a number in it would have {digits} digits, and at most "
        f"{MAX_DIGITS:,} are computed. Ask for a smaller one, or for its remainder (mod)."
    )


def _power_remainder(base: sp.Expr, exponent: sp.Expr, modulus: sp.Expr) -> sp.Expr:
    """A power's remainder, without writing the power out where all are whole numbers."""
    if base.is_Integer and exponent.is_Integer and modulus.is_Integer and exponent >= 0 and modulus != 0:
        return sp.Integer(pow(int(base), int(exponent), int(modulus)))
    return _remainder(_power(base, exponent), modulus)


def _remainder(left: sp.Expr, right: sp.Expr) -> sp.Expr:
    if right == 0:
        raise FormatError("A remainder after division by 0 does not exist. Use another divisor.")
    return sp.Mod(left, right)


def _quotient(left: sp.Expr, right: sp.Expr) -> sp.Expr:
    if right == 0:
        raise FormatError("This divides by 0, which has no value. Use another divisor.")
    return left / right


_SIGNS: dict[str, Callable[[sp.Expr, sp.Expr], sp.Expr]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _quotient,
    "^": _power,
    "mod": _remainder,
}


def _call(function: str, arguments: Sequence[sp.Expr]) -> sp.Expr:
    if function in _OF_ONE and len(arguments) == 1:
        return _OF_ONE[function](arguments[0])
    if function in _OF_MANY and len(arguments) > 1:
        return _OF_MANY[function](arguments)
    raise FormatError(f"{function} cannot take {len(arguments)} values. Check the brackets and commas.")


def _factorial(value: sp.Expr) -> sp.Expr:
    if value.is_Number and value > MAX_FACTORIAL:
        raise QueryError(f"Factorials are computed up to {MAX_FACTORIAL:,}!. Ask for a smaller one.")
    if value.is_Integer and value < 0:
        raise FormatError("The factorial of a negative whole number does not exist.")
    return sp.factorial(value)


def whole(value: sp.Expr, name: str, *, most: int | None = None) -> int:
    """The Python integer of `value`. Raises `FormatError` if it is not whole, `QueryError` above `most`."""
    if not value.is_Integer:
        raise FormatError(f"{name} needs whole numbers; {value} is not one.")
    if most is not None and value > most:
        raise QueryError(f"{name} is computed up to {most:,}. Ask for a smaller one.")
    return int(value)


def _nth_prime(value: sp.Expr) -> sp.Expr:
    index = whole(value, "The n-th prime", most=MAX_PRIME_INDEX)
    if index < 1:
        raise FormatError("Primes are counted from the first; there is no prime number 0.")
    return sp.Integer(sp.prime(index))


def _previous_prime(value: sp.Expr) -> sp.Expr:
    number = whole(value, "The previous prime")
    if number <= 2:
        raise FormatError(f"There is no prime below {number}.")
    return sp.Integer(sp.prevprime(number))


def _integers(name: str, arguments: Sequence[sp.Expr]) -> list[int]:
    return [whole(each, name) for each in arguments]


def _binomial(arguments: Sequence[sp.Expr]) -> sp.Expr:
    n, k = _integers("A binomial coefficient", arguments[:2])
    if len(arguments) > 2 or n < 0 or k < 0:
        raise FormatError("A binomial coefficient takes two whole numbers that are not negative.")
    if n > MAX_DIGITS and min(k, n - k) > MAX_FACTORIAL // 2:
        raise QueryError(_too_large("too many"))
    return sp.Integer(math.comb(n, k))


def _inverse(arguments: Sequence[sp.Expr]) -> sp.Expr:
    value, modulus = _integers("A modular inverse", arguments[:2])
    if modulus < 2 or math.gcd(value, modulus) != 1:
        raise FormatError(f"{value} has no inverse modulo {modulus}: they have a common divisor.")
    return sp.Integer(pow(value, -1, modulus))


def _mean(arguments: Sequence[sp.Expr]) -> sp.Expr:
    return sp.Add(*arguments) / len(arguments)


def _median(arguments: Sequence[sp.Expr]) -> sp.Expr:
    if not all(each.is_real for each in arguments):
        raise FormatError("A median needs real numbers.")
    ordered = sorted(arguments)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _logarithm(arguments: Sequence[sp.Expr]) -> sp.Expr:
    if len(arguments) > 2 or arguments[1] in (0, 1):
        raise FormatError("A logarithm takes a value and a base that is neither 0 nor 1: log(8, 2).")
    return sp.log(arguments[0]) / sp.log(arguments[1])


_OF_ONE: dict[str, Callable[[sp.Expr], sp.Expr]] = {
    "sin": sp.sin, "cos": sp.cos, "tan": sp.tan, "sec": sp.sec, "csc": sp.csc, "cot": sp.cot,
    "asin": sp.asin, "acos": sp.acos, "atan": sp.atan, "arcsin": sp.asin, "arccos": sp.acos,
    "arctan": sp.atan, "sinh": sp.sinh, "cosh": sp.cosh, "tanh": sp.tanh, "exp": sp.exp,
    "ln": sp.log, "log": sp.log, "sqrt": sp.sqrt, "cbrt": sp.cbrt, "abs": sp.Abs,
    "log2": lambda x: sp.log(x) / sp.log(2), "log10": lambda x: sp.log(x) / sp.log(10),
    "floor": sp.floor, "ceil": sp.ceiling, "factorial": _factorial, "percent": lambda x: x / 100,
    "prime": _nth_prime, "prevprime": _previous_prime,
    "nextprime": lambda x: sp.Integer(sp.nextprime(whole(x, "The next prime"))),
}  # fmt: skip
_OF_MANY: dict[str, Callable[[Sequence[sp.Expr]], sp.Expr]] = {
    "gcd": lambda values: sp.Integer(math.gcd(*_integers("A common divisor", values))),
    "lcm": lambda values: sp.Integer(math.lcm(*_integers("A common multiple", values))),
    "binomial": _binomial, "inverse": _inverse, "mean": _mean, "median": _median, "log": _logarithm,
    "max": lambda values: sp.Max(*values), "min": lambda values: sp.Min(*values),
}  # fmt: skip
