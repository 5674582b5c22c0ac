"""Working of calculus: derivatives, integrals, limits, sums, products, series.

Each function yields short lines of working and then the line `Answer: ...`.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from conductor.errors import QueryError
from conductor.workers.offline.mathematics.expression import UnsolvedError, about, expression_of, written
from conductor.workers.offline.mathematics.question import Problem

TERMS = 6
"""The order of a series where the question gives none."""

MAX_ORDER = 20
MAX_FACTORS = 2_000


def _parts(problem: Problem) -> tuple[sp.Expr, sp.Symbol, list[sp.Expr]]:
    x = sp.Symbol(problem.variable or "x")
    # The variable may spell a constant: the sum of i^2 for i = 1 to 10.
    return expression_of(problem.formulas[0], {x.name: x}), x, list(map(expression_of, problem.bounds))


def derivative(problem: Problem) -> Iterator[str]:
    """The derivative, term by term where the formula is a sum, and its value at a point if one is asked."""
    expression, x, at = _parts(problem)
    order = problem.order or 1
    if isinstance(expression, sp.Add) and order == 1 and len(expression.args) <= 6:
        for term in expression.as_ordered_terms():
            yield f"d/d{x} of {written(term)} = {written(sp.diff(term, x))}"
    result = expression
    for at_order in range(1, order + 1):
        result = sp.diff(result, x)
        yield f"Derivative {at_order}: {written(result)}"
    if at:
        result = result.subs(x, at[0])
        yield f"At {x} = {written(at[0])}: {written(result)}"
    yield f"Answer: {written(_shorter(result))}"


def _shorter(expression: sp.Expr) -> sp.Expr:
    simple = sp.simplify(expression)
    return simple if sp.count_ops(simple) < sp.count_ops(expression) else expression


def integral(problem: Problem) -> Iterator[str]:
    """The antiderivative, or between bounds the number. Raises `UnsolvedError` without closed form."""
    expression, x, bounds = _parts(problem)
    inner = sp.integrate(expression, x)
    closed = not inner.has(sp.Integral)
    if not bounds:
        if not closed:
            raise UnsolvedError
        yield f"Check: the derivative of {written(inner)} is {written(_shorter(sp.diff(inner, x)))}"
        yield f"Answer: {written(inner)} + C"
        return
    low, high = bounds
    if closed:
        yield f"Antiderivative: F({x}) = {written(inner)}"
    result = sp.integrate(expression, (x, low, high))
    if result.has(sp.Integral):
        yield "There is no closed form; the integral was computed numerically."
        result = sp.N(result, 10)
    elif closed and low.is_finite and high.is_finite:
        yield f"F({written(high)}) - F({written(low)}) = {written(result)}"
    yield from _number(sp.simplify(result))


def _number(result: sp.Expr) -> Iterator[str]:
    if not result.is_Float and (decimal := about(result)) is not None:
        yield f"As a decimal: {decimal}"
    yield f"Answer: {'diverges, it has no finite value' if result in (sp.zoo, sp.nan) else written(result)}"


def limit(problem: Problem) -> Iterator[str]:
    """A limit, from both sides where they differ."""
    expression, x, (point,) = _parts(problem)
    put_in = expression.subs(x, point)
    yield f"Putting {x} = {written(point)} in gives {written(put_in)}"
    if point.is_infinite:
        yield from _number(sp.limit(expression, x, point))
        return
    left, right = (sp.limit(expression, x, point, side) for side in ("-", "+"))
    if sp.simplify(left - right) == 0 or left == right:
        yield from _number(right)
        return
    yield f"From the left: {written(left)}; from the right: {written(right)}"
    yield "Answer: the limit does not exist"


def total(problem: Problem) -> Iterator[str]:
    expression, k, (low, high) = _parts(problem)
    yield f"Terms: {written(expression)} for {k} = {written(low)} to {written(high)}"
    n = sp.Symbol("n")
    if high.is_Integer and low.is_Integer:
        general = sp.summation(expression, (k, low, n))
        if not general.has(sp.Sum, sp.Piecewise):
            yield f"Formula up to n: {written(sp.factor(general))}"
    result = sp.summation(expression, (k, low, high))
    if result.has(sp.Sum):
        raise UnsolvedError
    yield from _number(sp.simplify(result))


def product(problem: Problem) -> Iterator[str]:
    expression, k, (low, high) = _parts(problem)
    if (high - low).is_Integer and high - low > MAX_FACTORS:
        raise QueryError(f"Products are computed up to {MAX_FACTORS:,} factors. Ask for a shorter one.")
    yield f"Factors: {written(expression)} for {k} = {written(low)} to {written(high)}"
    result = sp.product(expression, (k, low, high))
    if result.has(sp.Product):
        raise UnsolvedError
    yield from _number(sp.simplify(result))


def series(problem: Problem) -> Iterator[str]:
    """The power series around a point, up to but without the term of the given order."""
    expression, x, bounds = _parts(problem)
    point = bounds[0] if bounds else sp.Integer(0)
    order = min(problem.order or TERMS, MAX_ORDER)
    expansion = sp.series(expression, x, point, order).removeO()
    yield f"Terms below ({x} - {written(point)})^{order}:"
    yield f"Answer: {' + '.join(map(written, _rising(expansion, x))).replace('+ -', '- ')} + ..."


def _rising(expansion: sp.Expr, x: sp.Symbol) -> list[sp.Expr]:
    return sorted(
        sp.Add.make_args(expansion), key=lambda term: sp.degree(term, x) if term.is_polynomial(x) else -1
    )
