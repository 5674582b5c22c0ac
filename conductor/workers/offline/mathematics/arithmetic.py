"""Working of questions about numbers: values, claims without variables, primes, divisors.

Each function yields short lines of working and then the line `Answer: ...`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import sympy as sp

from conductor.errors import QueryError
from conductor.workers.offline.mathematics.expression import (
    about,
    decimal_of,
    expression_of,
    related_to_zero,
    whole,
    written,
)
from conductor.workers.offline.mathematics.formula import Node, formula_text
from conductor.workers.offline.mathematics.question import Problem

MAX_DIVISORS = 10_000


def value(problem: Problem) -> Iterator[str]:
    (node,) = problem.formulas
    result = expression_of(node)
    yield f"{formula_text(node)} = {written(result)}"
    simpler = result if result.is_Rational else sp.nsimplify(sp.simplify(result))
    if simpler != result:
        yield f"Simplified: {written(simpler)}"
    decimal = about(simpler)
    if decimal is not None:
        yield f"As a decimal: {decimal}"
    yield f"Answer: {_plain(simpler, node)}"


def _plain(result: sp.Expr, node: Node) -> str:
    """A decimal where the question has decimals or percents and the decimals end, else exact."""
    decimals = any(each.kind in ("percent", "mean", "median") or "." in each.text for each in node.walk())
    return (decimal_of(result) if decimals else None) or written(result)


_COMPARISONS: Mapping[str, str] = {
    "=": "equal", "!=": "different", "<": "less", "<=": "less or equal", ">": "greater",
    ">=": "greater or equal",
}  # fmt: skip


def claim(problem: Problem) -> Iterator[str]:
    holds = True
    for relation in problem.formulas:
        for side, part in zip(("Left", "Right"), relation.parts, strict=True):
            yield f"{side} side: {formula_text(part)} = {written(expression_of(part))}"
        holds = holds and bool(related_to_zero(sp.simplify(expression_of(relation)), relation.kind))
    asked = " and ".join(_COMPARISONS[relation.kind] for relation in problem.formulas)
    yield f"Answer: {'yes' if holds else 'no'}, the sides are {'' if holds else 'not '}{asked}"


def is_prime(problem: Problem) -> Iterator[str]:
    number = whole(expression_of(problem.formulas[0]), "A prime test")
    text = written(sp.Integer(number))
    if sp.isprime(number):
        yield f"{text} has no divisor but 1 and itself."
        yield f"Answer: yes, {text} is prime"
        return
    yield "Primes are 2 and above." if number < 2 else f"{text} = {_product(sp.factorint(number))}"
    yield f"Answer: no, {text} is not prime"


def factors(number: int) -> Iterator[str]:
    powers = sp.factorint(number)
    yield f"Answer: {_product(powers) if abs(number) > 1 else number}"


def _product(powers: Mapping[int, int]) -> str:
    factored = (f"{prime}^{power}" if power > 1 else f"{prime}" for prime, power in sorted(powers.items()))
    return " * ".join(factored) or "1"


def divisors(problem: Problem) -> Iterator[str]:
    number = abs(whole(expression_of(problem.formulas[0]), "A question about divisors"))
    counted = problem.operation == "divisor count"
    if number == 0:
        yield "Every whole number divides 0."
        yield f"Answer: {'infinitely many' if counted else 'every whole number'}"
        return
    powers = sp.factorint(number)
    count = math.prod(power + 1 for power in powers.values())
    if counted:
        yield f"{number} = {_product(powers)}; add one to each exponent and multiply"
        yield f"Answer: {count}"
        return
    if count > MAX_DIVISORS:
        raise QueryError(f"{number} has {count:,} divisors; at most {MAX_DIVISORS:,} are listed.")
    yield f"{number} = {_product(powers)}"
    yield f"Number of divisors: {count}"
    yield f"Answer: {', '.join(map(str, sp.divisors(number)))}"
