"""Working of questions about numbers: values, claims without variables, primes, factors, divisors.

Each function yields short lines of working and then the line `Answer: ...`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import sympy as sp

from conductor.errors import QueryError
from conductor.workers.offline.expression import difference_of, expression_of, whole
from conductor.workers.offline.formula import (
    Binary,
    Call,
    Negative,
    Node,
    Number,
    formula_text,
)
from conductor.workers.offline.notation import about, decimal_of, written
from conductor.workers.offline.problem import Problem

MAX_DIVISORS = 10_000


def value(problem: Problem) -> Iterator[str]:
    """The value of a formula, its parts first."""
    node = problem.formulas[0]
    result = expression_of(node)
    for part in _parts(node):
        yield f"{formula_text(part)} = {_said(expression_of(part), node)}"
    yield f"{formula_text(node)} = {written(result)}"
    simpler = result if result.is_Rational else sp.nsimplify(sp.simplify(result))
    if simpler != result:
        yield f"Simplified: {written(simpler)}"
    if (decimal := about(simpler)) is not None:
        yield f"As a decimal: {decimal}"
    yield f"Answer: {_said(simpler, node)}"


def _said(result: sp.Expr, node: Node) -> str:
    """A decimal where the question has decimals or percents and the decimals end, else exact."""
    decimal = decimal_of(result) if _has_decimals(node) else None
    return decimal if decimal is not None else written(result)


def _has_decimals(node: Node) -> bool:
    match node:
        case Number(text):
            return not text.isdigit()
        case Call("percent" | "mean" | "median", _):
            return True
        case Call(_, arguments):
            return any(map(_has_decimals, arguments))
        case Binary(_, left, right):
            return _has_decimals(left) or _has_decimals(right)
        case Negative(operand):
            return _has_decimals(operand)
        case _:
            return False


def _parts(node: Node) -> list[Node]:
    """Operands that are themselves computations, left to right, at most four."""
    if isinstance(node, Negative):
        return _parts(node.operand)
    if isinstance(node, Binary) and node.sign == "mod":
        return []  # A power below a remainder may be far too long to show.
    operands = (node.left, node.right) if isinstance(node, Binary) else ()
    found: list[Node] = []
    for operand in operands:
        found += [*_parts(operand), operand] if isinstance(operand, Binary) else _parts(operand)
    simple = [part for part in found if not (isinstance(part, Binary) and part.sign == "/")]
    return simple[:4]


_COMPARISONS: Mapping[str, str] = {
    "=": "equal", "!=": "different", "<": "less", "<=": "less or equal", ">": "greater",
    ">=": "greater or equal",
}  # fmt: skip


def claim(problem: Problem) -> Iterator[str]:
    """Whether relations between numbers hold."""
    holds = True
    for relation in problem.relations:
        left, right = expression_of(relation.left), expression_of(relation.right)
        yield f"Left side: {formula_text(relation.left)} = {written(left)}"
        yield f"Right side: {formula_text(relation.right)} = {written(right)}"
        holds = holds and _holds(difference_of(relation), relation.sign)
    asked = " and ".join(_COMPARISONS[relation.sign] for relation in problem.relations)
    yield f"Answer: {'yes' if holds else 'no'}, the sides are {'' if holds else 'not '}{asked}"


def _holds(difference: sp.Expr, sign: str) -> bool:
    simple = sp.simplify(difference)
    zero = simple == 0
    match sign:
        case "=":
            return bool(zero)
        case "!=":
            return not zero
        case "<" | "<=":
            return bool(simple < 0) or (zero and sign == "<=")
        case _:
            return bool(simple > 0) or (zero and sign == ">=")


def is_prime(problem: Problem) -> Iterator[str]:
    """Whether a whole number is prime, else its smallest factor."""
    number = whole(expression_of(problem.formulas[0]), "A prime test")
    said = written(sp.Integer(number))
    if sp.isprime(number):
        yield f"{said} has no divisor but 1 and itself."
        yield f"Answer: yes, {said} is prime"
    elif number < 2:
        yield "Primes are 2 and above."
        yield f"Answer: no, {said} is not prime"
    else:
        yield f"{said} = {_product(sp.factorint(number))}"
        yield f"Answer: no, {said} is not prime"


def factors(number: int) -> Iterator[str]:
    """A whole number as a product of primes."""
    if abs(number) < 2:
        yield f"{number} is not a product of primes."
        yield f"Answer: {number}"
        return
    powers = sp.factorint(number)
    rest = abs(number)
    for prime, power in sorted(powers.items()):
        for _ in range(min(power, 12) if prime > 1 else 0):
            yield f"{rest} / {prime} = {rest // prime}"
            rest //= prime
    yield f"Answer: {_product(powers)}"


def _product(powers: Mapping[int, int]) -> str:
    return " * ".join(
        f"{prime}^{power}" if power > 1 else f"{prime}" for prime, power in sorted(powers.items())
    )


def divisors(problem: Problem) -> Iterator[str]:
    """All positive divisors of a whole number."""
    number = whole(expression_of(problem.formulas[0]), "A list of divisors")
    if number == 0:
        yield "Every whole number divides 0."
        yield "Answer: every whole number"
        return
    powers = sp.factorint(abs(number))
    if (count := sp.divisor_count(abs(number))) > MAX_DIVISORS:
        raise QueryError(f"{number} has {count:,} divisors; at most {MAX_DIVISORS:,} are listed.")
    found = sp.divisors(abs(number))
    yield f"{abs(number)} = {_product(powers) or 1}"
    yield f"Number of divisors: {len(found)}"
    yield f"Answer: {', '.join(map(str, found))}"


def divisor_count(problem: Problem) -> Iterator[str]:
    """How many positive divisors a whole number has."""
    number = abs(whole(expression_of(problem.formulas[0]), "A number of divisors"))
    if number == 0:
        yield "Every whole number divides 0."
        yield "Answer: infinitely many"
        return
    powers = sp.factorint(number)
    yield f"{number} = {_product(powers) or 1}; add one to each exponent and multiply"
    yield f"Answer: {math.prod(power + 1 for power in powers.values())}"
