"""A formula's tree as a SymPy expression, with sizes checked before it is computed, and results as text.

SymPy objects are built node by node; no text is given to SymPy to interpret. Runs in the child process only,
because importing SymPy is slow.
"""

from __future__ import annotations

import math
import operator
import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal
from types import MappingProxyType

import sympy as sp
from sympy.printing.str import sstr

from conductor.errors import FormatError, QueryError
from conductor.workers.offline.mathematics.formula import RELATIONS, Node


class UnsolvedError(ArithmeticError):
    """SymPy's methods end before an answer, as where an integral has no closed form."""


MAX_DIGITS = 20_000
"""The most digits a number in a computation may have."""

MAX_FACTORIAL = 5_000
MAX_EXPONENT = 100_000
"""The largest exponent of a formula that is not a plain number."""

MAX_PRIME_INDEX = 1_000_000
MAX_SHOWN_DIGITS = 400

_CONSTANTS = {"pi": sp.pi, "e": sp.E, "i": sp.I, "oo": sp.oo, "infinity": sp.oo}


def expression_of(node: Node, values: Mapping[str, sp.Expr] = MappingProxyType({})) -> sp.Expr:
    """The SymPy expression of a tree, with `values` for its names; of a relation, left minus right side.

    Raises `QueryError` where a number would be too large, `FormatError` where a function cannot take its
    arguments.
    """
    if node.kind == "number":
        return sp.Rational(node.text)
    if node.kind == "name":
        if node.text in values:
            return values[node.text]
        known = _CONSTANTS.get(node.text.lower())
        return sp.Symbol(node.text) if known is None else known
    if node.kind == "mod" and node.parts[0].kind == "pow":
        # A power's remainder, without writing the power out where all are whole numbers.
        numbers = [expression_of(each, values) for each in (*node.parts[0].parts, node.parts[1])]
        if all(number.is_Integer for number in numbers) and numbers[1] >= 0 and numbers[2] != 0:
            return sp.Integer(pow(*map(int, numbers)))
    parts = [expression_of(part, values) for part in node.parts]
    try:
        return _OPERATIONS[node.kind](*parts)
    except TypeError:
        raise FormatError(
            f"{node.kind} cannot take {len(parts)} values like these. Check the brackets and commas."
        ) from None


def related_to_zero(difference: sp.Expr, sign: str) -> sp.Basic:
    """SymPy's relation between `difference` and 0; true or false of a number."""
    return sp.Rel(difference, 0, "==" if sign == "=" else sign)


def whole(value: sp.Expr, name: str) -> int:
    """The Python integer of `value`. Raises `FormatError` if it is not whole."""
    if not value.is_Integer:
        raise FormatError(f"{name} needs whole numbers; {written(value)} is not one.")
    return int(value)


# -- operations that check what they are given ----------------------------------------------------------


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


def _remainder(left: sp.Expr, right: sp.Expr) -> sp.Expr:
    if right == 0:
        raise FormatError("A remainder after division by 0 does not exist. Use another divisor.")
    return sp.Mod(left, right)


def _quotient(left: sp.Expr, right: sp.Expr) -> sp.Expr:
    if right == 0:
        raise FormatError("This divides by 0, which has no value. Use another divisor.")
    return left / right


def _factorial(value: sp.Expr) -> sp.Expr:
    if value.is_Number and value > MAX_FACTORIAL:
        raise QueryError(f"Factorials are computed up to {MAX_FACTORIAL:,}!. Ask for a smaller one.")
    if value.is_Integer and value < 0:
        raise FormatError("The factorial of a negative whole number does not exist.")
    return sp.factorial(value)


def _of_whole(name: str, function: Callable[..., int], most: int | None = None) -> Callable[..., sp.Expr]:
    """A function of whole numbers up to `most`. It raises `FormatError` and `QueryError` for others."""

    def checked(*values: sp.Expr) -> sp.Expr:
        numbers = [whole(value, name) for value in values]
        if most is not None and max(numbers) > most:
            raise QueryError(f"{name} is computed up to {most:,}. Ask for a smaller one.")
        try:
            return sp.Integer(function(*numbers))
        except ValueError:
            raise FormatError(f"{name} has no value for {' and '.join(map(str, numbers))}.") from None

    return checked


def _binomial(n: int, k: int) -> int:
    if n > MAX_DIGITS and min(k, n - k) > MAX_FACTORIAL // 2:
        raise QueryError(_too_large("too many"))
    return math.comb(n, k)


def _logarithm(value: sp.Expr, base: sp.Expr = sp.E) -> sp.Expr:
    if base in (0, 1):
        raise FormatError("A logarithm takes a value and a base that is neither 0 nor 1: log(8, 2).")
    return sp.log(value, base)


_NAMED_ALIKE = "sin cos tan sec csc cot asin acos atan sinh cosh tanh exp floor".split()
_OPERATIONS: dict[str, Callable[..., sp.Expr]] = {
    **dict.fromkeys(RELATIONS, operator.sub),
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg,
    "div": _quotient, "mod": _remainder, "pow": _power, "factorial": _factorial,
    "percent": lambda value: value / 100, "degree": lambda value: value * sp.pi / 180,
    **{name: getattr(sp, name) for name in _NAMED_ALIKE},
    **{f"arc{name}": getattr(sp, f"a{name}") for name in "sin cos tan".split()},
    "ln": _logarithm, "log": _logarithm, "log2": lambda value: _logarithm(value, 2),
    "log10": lambda value: _logarithm(value, 10), "sqrt": lambda value: sp.root(value, 2),
    "cbrt": lambda value: sp.root(value, 3), "abs": sp.Abs, "ceil": sp.ceiling,
    "max": sp.Max, "min": sp.Min, "mean": lambda *values: sp.Add(*values) / len(values),
    "median": lambda *values: statistics.median(values),
    "gcd": _of_whole("A common divisor", math.gcd), "lcm": _of_whole("A common multiple", math.lcm),
    "binomial": _of_whole("A binomial coefficient", _binomial),
    "inverse": _of_whole("A modular inverse", lambda value, modulus: pow(value, -1, modulus)),
    "prime": _of_whole("The n-th prime", sp.prime, MAX_PRIME_INDEX),
    "nextprime": _of_whole("The next prime", sp.nextprime),
    "prevprime": _of_whole("The previous prime", sp.prevprime),
    "primepi": _of_whole("A number of primes", sp.primepi, 10**8),
    "primesum": _of_whole("A sum of primes", lambda count: sum(map(sp.prime, range(1, count + 1))), 10_000),
    "digits": _of_whole("A number of digits", lambda value: len(str(abs(value)))),
    "digitsum": _of_whole("A sum of digits", lambda value: sum(map(int, str(abs(value))))),
}  # fmt: skip

# -- writing: x^2 instead of x**2, long numbers shortened and marked so -------------------------------------

_NAMES = {
    "I": "i", "E": "e", "oo": "infinity", "zoo": "undefined", "nan": "undefined", "log": "ln", "Abs": "abs",
}  # fmt: skip


def written(value: sp.Basic) -> str:
    """`value` in the notation people type."""
    if value.is_Integer:
        return shortened(str(value))
    text = sstr(value, order="lex" if value.is_number else None).replace("**", "^")
    text = re.sub(rf"\b(?:{'|'.join(_NAMES)})\b", lambda name: _NAMES[name[0]], text)
    return re.sub(rf"\d{{{MAX_SHOWN_DIGITS + 1},}}", lambda digits: shortened(digits[0]), text)


def shortened(digits: str) -> str:
    """A long integer by its first and last digits and its length."""
    count = len(digits.lstrip("-"))
    if count <= MAX_SHOWN_DIGITS:
        return digits
    return f"{digits[:40]}...{digits[-40:]} ({count:,} digits, shortened)"


def decimal_of(value: sp.Expr) -> str | None:
    """The exact decimal of a fraction whose decimals end within 30 places, else None."""
    places = next((at for at in range(31) if value.is_Rational and 10**at % value.q == 0), None)
    if not places:
        return None if places is None else shortened(str(value))
    return f"{Decimal(value.p * 10**places // value.q).scaleb(-places, Context(prec=MAX_DIGITS + 31)):f}"


def about(value: sp.Expr) -> str | None:
    """A decimal approximation, None where there is nothing to add: whole numbers, infinities, names."""
    if value.free_symbols or value.is_Integer or not value.is_finite or value.is_number is not True:
        return None
    return decimal_of(value) or f"about {written(sp.N(value, 10))}"


def roots_written(name: str, roots: Iterable[sp.Expr]) -> str:
    """The roots as x = 2 or x = 3."""
    return " or ".join(f"{name} = {written(root)}" for root in roots)


def set_written(name: str, values: sp.Set) -> str:
    """A set of real numbers as bounds on `name`."""
    x = sp.Symbol(name, real=True)
    match values:
        case sp.Union():
            return " or ".join(set_written(name, part) for part in sorted(values.args, key=_lowest))
        case sp.FiniteSet():
            return roots_written(name, sorted(values))
        case sp.ImageSet() if len(values.lamda.variables) == 1:
            formula = sp.expand(values.lamda.expr).subs(values.lamda.variables[0], sp.Symbol("n"))
            return f"{name} = {written(formula)}"
        case sp.Interval():
            bounds = values.as_relational(x)
            if isinstance(bounds, sp.And):
                below, above = sorted(bounds.args, key=lambda bound: bool(bound.lhs == x))
                return written(below) + written(above).removeprefix(name)
            return f"every real {name}" if bounds == sp.true else written(bounds.canonical)
        case _:
            return "no real solution" if values == sp.S.EmptySet else f"{name} in {written(values)}"


def _lowest(values: sp.Set) -> float:
    return float(values.inf if isinstance(values, sp.Interval | sp.FiniteSet) else 0)
