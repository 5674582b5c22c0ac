"""The mathematics expert: finds what is asked, computes it, shows the working.

Runs in the kernel process. It answers in lines and says plainly what it cannot do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sympy.polys.polyerrors import BasePolynomialError

from conductor.errors import FormatError, QueryError
from conductor.workers.offline import algebra, arithmetic, calculus
from conductor.workers.offline.formula import formula_text, relation_text, variables_of
from conductor.workers.offline.phrasing import passages_of, plain_formulas
from conductor.workers.offline.problem import Operation, Problem
from conductor.workers.offline.question import named_operation, read_problem
from conductor.workers.offline.task import Task

MAX_UNREAD = 4
"""More words than these beside a formula, and it is probably not the whole question."""

MAX_UNREAD_EXPLICIT = 12

CANNOT = (
    "I am the built-in mathematics expert, not a language model: I found nothing here that I can compute. "
    "I calculate, solve equations and inequalities, differentiate, integrate, take limits and sums, and "
    "answer questions about primes and divisors. Write the formula itself, or give this step to a language "
    "model."
)
UNSOLVED = (
    "I read the question, but no method of mine solves it in closed form. Try a special case with numbers, "
    "or give this step to a language model."
)

_WORKING: dict[Operation, Callable[[Problem], Iterator[str]]] = {
    "value": arithmetic.value, "claim": arithmetic.claim, "is prime": arithmetic.is_prime,
    "divisors": arithmetic.divisors, "divisor count": arithmetic.divisor_count,
    "solve": algebra.solve, "simplify": algebra.simplify,
    "expand": algebra.expand, "factor": algebra.factor, "derivative": calculus.derivative,
    "integral": calculus.integral, "limit": calculus.limit, "sum": calculus.total,
    "product": calculus.product, "series": calculus.series,
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
        yield str(error)
    except (NotImplementedError, ValueError, TypeError, ArithmeticError, BasePolynomialError, RecursionError):
        yield UNSOLVED  # What SymPy raises where its methods end.


# -- which problem is meant ---------------------------------------------------------------------


def problem_of(task: Task) -> Problem | None:
    """The instruction's own problem if it states one, else the query's, else None."""
    own = read_problem(_with_previous(task))
    if own is not None and _meant(own):
        return own
    asked = read_problem(task.query)
    if asked is None or asked.unread > (MAX_UNREAD_EXPLICIT if asked.explicit else MAX_UNREAD):
        return None
    return _as_told(asked, task.instruction)


def _meant(problem: Problem) -> bool:
    """Whether an instruction's formula is a task: numbers, or a verb beside it; no hint like u = x + 1."""
    return problem.explicit or not problem.variables


_PREVIOUS = re.compile(
    r"\b(?:the )?(?:result|answer|value) of (?:the previous step|step \d+)\b"
    r"|\b(?:the )?(?:previous|visible|last|above|earlier) (?:result|answer|value|number)\b",
    re.IGNORECASE,
)


def _with_previous(task: Task) -> str:
    """The instruction with "the previous result" replaced by the last visible answer if it is a formula."""
    if not task.answers or not _PREVIOUS.search(task.instruction):
        return task.instruction
    passages = passages_of(plain_formulas(task.answers[-1].text))
    if len(passages) != 1 or isinstance(content := passages[0].content, tuple):
        return task.instruction
    return _PREVIOUS.sub(lambda _: f"({formula_text(content)})", task.instruction)


def _as_told(problem: Problem, instruction: str) -> Problem:
    """A query that is a bare formula, worked on as the instruction says ("factor it")."""
    operation = named_operation(instruction)
    if operation is None or problem.explicit or not problem.formulas:
        return problem
    node = problem.formulas[0]
    names = sorted(variables_of(node))
    variable = "x" if "x" in names or not names else names[0]
    return Problem(operation, (node,), variable=variable, explicit=True)


# -- saying what was read -------------------------------------------------------------------------


def stated(problem: Problem) -> str:
    """The problem in one line, as it was understood."""
    if problem.relations:
        verb = "is it true that " if problem.operation == "claim" else "solve "
        return verb + " and ".join(map(relation_text, problem.relations))
    node = formula_text(problem.formulas[0])
    return f"{_VERBS[problem.operation]}{node}{_about(problem)}".strip()


_VERBS: dict[Operation, str] = {
    "value": "", "claim": "", "is prime": "is this prime: ", "divisors": "divisors of ",
    "divisor count": "number of divisors of ", "solve": "solve ",
    "simplify": "simplify ", "expand": "expand ", "factor": "factor ", "derivative": "derivative of ",
    "integral": "integral of ", "limit": "limit of ", "sum": "sum of ", "product": "product of ",
    "series": "power series of ",
}  # fmt: skip


def _about(problem: Problem) -> str:
    bounds = list(map(formula_text, problem.bounds))
    match problem.operation:
        case "derivative":
            return f" by {problem.variable}" + (f" at {problem.variable} = {bounds[0]}" if bounds else "")
        case "integral":
            return f" by {problem.variable}" + (f" from {bounds[0]} to {bounds[1]}" if bounds else "")
        case "limit":
            return f" as {problem.variable} goes to {bounds[0]}"
        case "sum" | "product":
            return f" for {problem.variable} from {bounds[0]} to {bounds[1]}"
        case "series":
            return f" around {problem.variable} = {bounds[0]}"
        case _:
            return ""


# -- plans ----------------------------------------------------------------------------------------


def plan(problem: Problem) -> Iterator[str]:
    """The kind of problem, the unknowns and the method; nothing is solved."""
    yield f"Kind of problem: {_kind(problem)}"
    unknowns = ", ".join(problem.variables) if problem.operation == "solve" else "the value asked for"
    yield f"Unknowns: {unknowns}"
    yield f"Given: {stated(problem)}"
    yield f"Method: {_METHODS[problem.operation]}"


def _kind(problem: Problem) -> str:
    if problem.operation != "solve":
        return _KINDS[problem.operation]
    if any(relation.sign != "=" for relation in problem.relations):
        return "inequality"
    return "system of equations" if len(problem.relations) > 1 else "equation"


_KINDS: dict[Operation, str] = {
    "value": "calculation", "claim": "comparison of two numbers", "is prime": "primality test",
    "divisors": "divisors of a number", "divisor count": "number of divisors",
    "solve": "equation", "simplify": "simplification",
    "expand": "expansion", "factor": "factorisation", "derivative": "derivative", "integral": "integral",
    "limit": "limit", "sum": "sum", "product": "product", "series": "power series",
}  # fmt: skip
_METHODS: dict[Operation, str] = {
    "value": "evaluate the innermost parts first, then the whole; estimate the size as a check.",
    "claim": "evaluate both sides and compare them.",
    "is prime": "test divisors up to the square root.",
    "divisors": "factor into primes and combine the powers.",
    "divisor count": "factor into primes, add one to each exponent and multiply.",
    "solve": "bring everything to one side, eliminate one unknown after the other, put the results back in.",
    "simplify": "combine like terms and cancel common factors.",
    "expand": "multiply out and combine like powers.",
    "factor": "split off the smallest factors first; multiply out as a check.",
    "derivative": "sum, product and chain rule, term by term.",
    "integral": "find an antiderivative; put the bounds in where there are any; differentiate as a check.",
    "limit": "put the point in; where that has no value, compare both sides of it.",
    "sum": "find the closed form, then put the bounds in; add the first terms as a check.",
    "product": "find the closed form, then put the bounds in.",
    "series": "differentiate repeatedly at the point and divide by factorials.",
}
