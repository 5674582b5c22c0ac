"""Working of algebra: equations, systems, inequalities, and rewriting a formula.

Each function yields short lines of working and then the line `Answer: ...`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sympy as sp

from conductor.workers.offline.mathematics.arithmetic import factors
from conductor.workers.offline.mathematics.expression import (
    UnsolvedError,
    about,
    expression_of,
    related_to_zero,
    roots_written,
    set_written,
    written,
)
from conductor.workers.offline.mathematics.formula import Node, formula_text
from conductor.workers.offline.mathematics.question import Problem


def solve(problem: Problem) -> Iterator[str]:
    """Equations or inequalities, solved for the variable asked for, else for all."""
    relations = problem.formulas
    free = problem.variables
    if any(relation.kind != "=" for relation in relations):
        yield from _inequality(relations, free)
    elif len(relations) == 1 and (len(free) == 1 or problem.variable):
        yield from _equation(relations[0], sp.Symbol(problem.variable or free[0]))
    else:
        yield from _system(relations, free)


def _equation(relation: Node, x: sp.Symbol) -> Iterator[str]:
    yield f"Equation: {formula_text(relation)}"
    expression = sp.together(expression_of(relation))
    top, bottom = sp.fraction(expression)
    if sp.expand(top).is_polynomial(x):
        yield from _polynomial(sp.expand(top), bottom, x)
    else:
        yield from _transcendental(expression, x)


def _polynomial(top: sp.Expr, bottom: sp.Expr, x: sp.Symbol) -> Iterator[str]:
    polynomial = sp.Poly(top, x)
    degree = polynomial.degree()
    if polynomial.is_zero:
        yield "Both sides are always equal."
        yield f"Answer: every {x}"
        return
    if degree < 1:
        yield f"Without {x} this is {written(top)} = 0, which is false."
        yield "Answer: no solution"
        return
    yield f"All on one side: {written(top)} = 0"
    if degree == 2:
        a, b, c = polynomial.all_coeffs()
        discriminant = sp.expand(b**2 - 4 * a * c)
        yield f"Discriminant: b^2 - 4*a*c = {written(discriminant)}"
    if degree > 1 and (factored := sp.factor(top)) != top:
        yield f"Factored: {written(factored)} = 0"
    roots = [root for root in _roots_of(polynomial) if sp.simplify(bottom.subs(x, root)) != 0]
    yield from _answer_roots(x, roots)


def _roots_of(polynomial: sp.Poly) -> list[sp.Expr]:
    """Exact roots where radicals give all of them simply enough, else numeric ones."""
    symbolic = sp.roots(polynomial)
    exact = sum(symbolic.values()) == polynomial.degree()
    if exact and all(sp.count_ops(root) < 40 for root in symbolic):
        return sorted(symbolic, key=sp.default_sort_key)
    if polynomial.free_symbols != set(polynomial.gens):
        return list(sp.solve(polynomial.as_expr(), polynomial.gen))
    return [sp.N(root, 12) for root in polynomial.nroots(n=15)]


def _answer_roots(x: sp.Symbol, roots: Sequence[sp.Expr]) -> Iterator[str]:
    if not roots:
        yield "Answer: no solution"
        return
    if any(root.has(sp.Float) for root in roots):
        yield "No exact form was found; the roots are numeric, to twelve digits."
    for root in roots:
        if root.is_real and not root.is_Rational and not root.is_Float and (decimal := about(root)):
            yield f"{written(root)} is {decimal}"
    yield f"Answer: {roots_written(str(x), roots)}"


def _transcendental(expression: sp.Expr, x: sp.Symbol) -> Iterator[str]:
    """Real solutions of an equation that is no polynomial; infinite families are marked as such."""
    if expression.free_symbols != {x}:
        yield from _answer_roots(x, sp.solve(expression, x))
        return
    values = sp.solveset(expression, x, sp.S.Reals)
    if isinstance(values, sp.FiniteSet):
        yield from _answer_roots(x, sorted(map(sp.simplify, values), key=sp.default_sort_key))
    elif values.has(sp.ConditionSet) or isinstance(values, sp.Intersection | sp.Complement):
        yield from _numeric_root(expression, x)
    elif values.has(sp.ImageSet):
        yield "The solutions repeat; n stands for any whole number."
        yield f"Answer: {set_written(str(x), values)}"
    else:
        yield f"Answer: {set_written(str(x), values)}"


def _numeric_root(expression: sp.Expr, x: sp.Symbol) -> Iterator[str]:
    """One real root near small numbers, found by Newton's method and checked."""
    for start in (0.5, 1, 2, -1, 5, -5):
        try:
            root = sp.nsolve(expression, x, start)
        except (ValueError, ZeroDivisionError):
            continue  # Newton's method diverged from this start; another may lead to a root.
        if root.is_real:
            yield "No exact solution was found; Newton's method gives one, there may be others."
            yield f"Answer: {x} = {written(sp.N(root, 10))} (approximately)"
            return
    raise UnsolvedError


def _system(relations: Sequence[Node], wanted: Sequence[str]) -> Iterator[str]:
    for number, relation in enumerate(relations, start=1):
        yield f"Equation {number}: {formula_text(relation)}"
    solutions = sp.solve(list(map(expression_of, relations)), *map(sp.Symbol, wanted), dict=True)
    if not solutions:
        yield "Together the equations contradict each other."
        yield "Answer: no solution"
        return
    for solution in solutions:
        given = [name for name in wanted if sp.Symbol(name) not in solution]
        if given:
            yield f"{', '.join(given)} can be any number."
    rows = (sorted(solution.items(), key=lambda pair: str(pair[0])) for solution in solutions)
    answers = (", ".join(f"{name} = {written(value)}" for name, value in row) for row in rows)
    yield f"Answer: {' or '.join(answers)}"


def _inequality(relations: Sequence[Node], free: Sequence[str]) -> Iterator[str]:
    for relation in relations:
        yield f"Condition: {formula_text(relation)}"
    if len(free) != 1:
        raise UnsolvedError
    x = sp.Symbol(free[0], real=True)
    values: sp.Set = sp.S.Reals
    for relation in relations:
        condition = related_to_zero(expression_of(relation, {free[0]: x}), relation.kind)
        values = values & sp.solveset(condition, x, sp.S.Reals)
    yield f"Answer: {set_written(free[0], values)}"


_REWRITTEN = {"simplify": sp.simplify, "expand": sp.expand, "factor": sp.factor}


def rewritten(problem: Problem) -> Iterator[str]:
    """A formula in another form; a whole number as primes where its factors are asked for."""
    expression = expression_of(problem.formulas[0])
    if problem.operation == "factor" and expression.is_Integer:
        yield from factors(int(expression))
        return
    result = _REWRITTEN[problem.operation](expression)
    if problem.operation == "factor" and result == expression:
        yield "No factors with rational coefficients were found beyond the formula as it stands."
    yield f"Answer: {written(result)}"
