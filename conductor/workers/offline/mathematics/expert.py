"""The mathematics expert: finds the problem that a task means, computes it, shows the working.

Answers in lines; what it does not understand or cannot compute ends with a `Refusal`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from sympy.polys.polyerrors import BasePolynomialError

from conductor.errors import FormatError, QueryError
from conductor.workers.offline.mathematics import algebra, arithmetic, calculus
from conductor.workers.offline.mathematics.formula import formula_text
from conductor.workers.offline.mathematics.question import (
    Problem,
    contents_of,
    main_variable,
    plain_text,
    read_problem,
    states_numbers,
)
from conductor.workers.offline.task import PREVIOUS, Refusal, Task

CANNOT = Refusal(
    "I am the built-in mathematics expert, not a language model: I found nothing here that I can compute. "
    "I calculate, convert units, count days, solve equations and inequalities, differentiate, integrate, "
    "take limits and sums, and answer questions about primes and divisors. Write the formula itself, or give "
    "this step to a language model."
)
UNSOLVED = Refusal(
    "I read the question, but no method of mine solves it in closed form. Try a special case with numbers, "
    "or give this step to a language model."
)

_WORKING: dict[str, Callable[[Problem], Iterator[str]]] = {
    "value": arithmetic.value, "claim": arithmetic.claim,
    "is prime": arithmetic.is_prime,
    "divisors": arithmetic.divisors, "divisor count": arithmetic.divisors, "solve": algebra.solve,
    "simplify": algebra.rewritten, "expand": algebra.rewritten, "factor": algebra.rewritten,
    "derivative": calculus.derivative, "integral": calculus.integral, "limit": calculus.limit,
    "sum": calculus.total, "product": calculus.product, "series": calculus.series,
}  # fmt: skip


def mathematics(task: Task) -> Iterator[str]:
    """The answer to a task, line by line."""
    problem = problem_of(task)
    if problem is None:
        yield CANNOT
    elif task.asks_plan:
        yield from plan(problem)
    else:
        yield f"Read as: {stated(problem)}"
        yield from attempted(problem)


def attempted(problem: Problem) -> Iterator[str]:
    """The working, or in its place the reason why there is none."""
    try:
        yield from _WORKING[problem.operation](problem)
    except (FormatError, QueryError) as error:
        yield Refusal(str(error))
    except (NotImplementedError, ValueError, TypeError, ArithmeticError, BasePolynomialError, RecursionError):
        yield UNSOLVED  # What SymPy raises where its methods end.


# -- which problem is meant ---------------------------------------------------------------------


def problem_of(task: Task) -> Problem | None:
    """The instruction's own problem if it states one, else the query's, else None."""
    own = read_problem(_with_previous(task))
    # Numbers, or a verb with a formula, are a task; u = x + 1 alone is a hint.
    if own is not None and (own.explicit or not own.variables):
        return own
    if own is None and states_numbers(task.instruction):
        return None  # The instruction is a question in itself, which the query's answer does not answer.
    asked = read_problem(task.query)
    return None if asked is None else _as_instructed(asked, task.instruction)


def _with_previous(task: Task) -> str:
    """The instruction with "the previous result" replaced by the last visible answer if it is a formula."""
    if not task.answers or not PREVIOUS.search(task.instruction):
        return task.instruction
    try:
        contents = contents_of(plain_text(task.answers[-1].answer))
    except FormatError:
        return task.instruction
    if len(contents) != 1 or contents[0].is_relation:
        return task.instruction
    return PREVIOUS.sub(lambda _: f"({formula_text(contents[0])})", task.instruction)


def _as_instructed(problem: Problem, instruction: str) -> Problem:
    """A query that is a bare formula, with the operation that the instruction names ("factor it")."""
    if problem.explicit or problem.operation not in ("value", "simplify"):
        return problem
    variable = main_variable(frozenset(problem.variables))
    for operation, row in _operations().items():
        if row["named"] and re.search(row["named"], instruction, re.IGNORECASE):
            return Problem(operation, problem.formulas, variable=variable, explicit=True)
    return problem


# -- the problem in words ---------------------------------------------------------------------------


@cache
def _operations() -> Mapping[str, Mapping[str, str]]:
    """Of each operation its statement, its kind of problem, its method and how an instruction names it."""
    with Path(__file__).with_name("operations.csv").open(encoding="utf-8", newline="") as file:
        return {row["operation"]: row for row in csv.DictReader(file)}


def stated(problem: Problem) -> str:
    """The problem in one line, as it was understood."""
    given = " and ".join(map(formula_text, problem.formulas))
    bounds = [*map(formula_text, problem.bounds), "0"]
    statement = _operations()[problem.operation]["statement"]
    statement = statement.format(given=given, variable=problem.variable, low=bounds[0])
    if problem.operation == "derivative" and problem.bounds:
        return f"{statement} at {problem.variable} = {bounds[0]}"
    return statement + (f" from {bounds[0]} to {bounds[1]}" if len(problem.bounds) == 2 else "")


def plan(problem: Problem) -> Iterator[str]:
    """The kind of problem, the unknowns and the method; nothing is solved."""
    kind = _operations()[problem.operation]["kind"]
    if problem.operation == "solve" and any(relation.kind != "=" for relation in problem.formulas):
        kind = "inequality"
    elif problem.operation == "solve" and len(problem.formulas) > 1:
        kind = "system of equations"
    unknowns = ", ".join(problem.variables) if problem.operation == "solve" else "the value asked for"
    yield f"Kind of problem: {kind}"
    yield f"Unknowns: {unknowns}"
    yield f"Given: {stated(problem)}"
    yield f"Method: {_operations()[problem.operation]['method']}"
