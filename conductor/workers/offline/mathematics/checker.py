"""The checker's mathematics: visible answers, checked by a second way.

Roots are put back into their equation, values are evaluated by numbers, an antiderivative is differentiated
and a derivative compared with difference quotients. An answer that is not read whole is never verified.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from conductor.errors import FormatError, QueryError
from conductor.workers.offline.mathematics.expert import attempted, stated
from conductor.workers.offline.mathematics.expression import expression_of, related_to_zero, whole
from conductor.workers.offline.mathematics.formula import Node
from conductor.workers.offline.mathematics.question import Problem, contents_of, plain_text, read_problem
from conductor.workers.offline.task import Refusal, SeenStep, Task, answer_in

NOTHING_VISIBLE = Refusal(
    "I cannot see any answer to check. Let this step read the step whose answer it shall check."
)
NOTHING_ANSWERED = Refusal("None of the steps that I can see gives an answer, so there is nothing to check.")
CANNOT = (
    "I am the built-in checker, not a language model: I check calculations, equations, derivatives, "
    "integrals and facts about countries, and this is none of them. The visible answer is passed on as it is."
)

MAX_TERMS = 2_000
"""The most terms of a sum that are added up."""

MAX_TRIED = 10**12
"""The largest number that is tried for divisors one by one."""

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right and how that was found; `right` is None where it could not be decided."""

    right: bool | None
    how: str


def check(task: Task) -> Iterator[str]:
    """Each visible answer checked, line by line, and the answer to give."""
    if not task.answers:
        yield from map(Refusal, task.refusals or [NOTHING_ANSWERED if task.seen else NOTHING_VISIBLE])
        return
    passed_on = f"Answer: {task.answers[-1].answer} (not checked)"
    problem = _problem_of(task)
    if problem is None:
        yield CANNOT
        yield passed_on
        return
    yield f"Question: {stated(problem)}"
    recomputed = answer_in("\n".join(attempted(problem)))
    verdicts = [judged(problem, step.answer, recomputed) for step in task.answers]
    for step, verdict in zip(task.answers, verdicts, strict=True):
        yield _report(step, verdict, recomputed)
    right = [step.answer for step, verdict in zip(task.answers, verdicts, strict=True) if verdict.right]
    if all(verdict.right is False for verdict in verdicts) and recomputed is not None:
        right = [recomputed]
    yield f"Answer: {right[-1]}" if right else passed_on


def _report(step: SeenStep, verdict: Verdict, recomputed: str | None) -> str:
    found = {True: "Verified", False: "Correction", None: "Not checked"}[verdict.right]
    wrong = verdict.right is False and recomputed is not None
    instead = f" The right answer is {recomputed}." if wrong else ""
    return f"{found}: {step.source} answers {step.answer}. {verdict.how}{instead}"


def _problem_of(task: Task) -> Problem | None:
    """The query's problem; the instruction's where the query has none or the instruction states numbers."""
    own, asked = read_problem(task.instruction), read_problem(task.query)
    return own if own is not None and (asked is None or not own.variables) else asked


def judged(problem: Problem, answer: str, recomputed: str | None) -> Verdict:
    """The verdict on an answer: by a second way where there is one, else by computing again."""
    same = recomputed is not None and _plain(recomputed) == _plain(answer)
    try:
        verdict = _SECOND_WAYS[problem.operation](problem, answer, recomputed or "")
        return Verdict(None, "Two ways to it do not agree.") if same and not verdict.right else verdict
    except (ArithmeticError, ValueError, KeyError, TypeError, NotImplementedError, FormatError, QueryError):
        pass  # There is no second way, or it does not reach this far, so computing again has to do.
    if recomputed is None:
        return Verdict(None, "I could not compute it myself.")
    if (
        not same
        and set(_NUMBER.findall(recomputed)) <= set(_NUMBER.findall(answer))
        and not _contents(answer)
    ):
        return Verdict(None, f"Computed again it is {recomputed}; I do not know whether that is the same.")
    return Verdict(same, "Computed again, by the same method.")


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _plain(text: str) -> str:
    return re.sub(r"[\s.*]+", "", text.lower())


# -- reading an answer ------------------------------------------------------------------------------


def _contents(answer: str) -> Sequence[Node]:
    """The formulas and relations of an answer, none where it is not understood whole."""
    try:
        return contents_of(plain_text(answer))
    except FormatError:
        return ()


def _formula_in(answer: str) -> sp.Expr:
    """The answer's formula: the right side where it is a relation. Raises `FormatError`."""
    match _contents(answer):
        case [node]:
            return expression_of(node.parts[1] if node.is_relation else node, {"C": sp.S.Zero})
        case _:
            raise FormatError("The answer is not one formula.")


def _roots_in(answer: str, names: Sequence[str]) -> list[dict[str, sp.Expr]]:
    """Solutions such as x = 2 or x = 3, each by its name. Raises `FormatError` for anything else."""
    solutions: list[dict[str, sp.Expr]] = []
    for content in _contents(answer):
        match content:
            case Node("=", (Node("name", text=name), value)) if name in names:
                if not solutions or name in solutions[-1]:
                    solutions.append({})
                solutions[-1][name] = expression_of(value)
            case _:
                raise FormatError("The answer holds more than roots.")
    return solutions


def _affirms(answer: str) -> bool:
    return not re.search(r"\b(?:no|not|false|composite|wrong)\b", answer, re.IGNORECASE)


# -- second ways: each raises an error that `judged` expects where it does not reach -------------------------

_POINTS = tuple(map(sp.Rational, ("0.37", "0.83", "1.29", "2.21")))
_STEP = sp.Float("1e-10", 100)
_NUMERIC: Mapping[str, str] = {
    "value": "Evaluated again", "derivative": "By difference quotients",
    "integral": "By numerical quadrature", "sum": "Added up term by term",
    **dict.fromkeys(("factor", "expand", "simplify"), "Compared with the original, not by its form,"),
}  # fmt: skip


def _by_numbers(problem: Problem, answer: str, _: str) -> Verdict:
    """The answer's formula and the problem's value, compared at points where they have a variable."""
    how, claimed = _NUMERIC[problem.operation], _formula_in(answer)
    x = sp.Symbol(problem.variable or next(iter(problem.variables), "x"))
    expected = expression_of(problem.formulas[0], {x.name: x})
    bounds = list(map(expression_of, problem.bounds))
    match problem.operation:
        case "derivative":
            expected = _slope(expected, x, problem.order or 1)
            expected = expected.subs(x, bounds[0]) if bounds else expected
        case "integral" if bounds:
            expected = sp.Integral(expected, (x, *bounds))
        case "integral":
            how, claimed = "Differentiated again", _slope(claimed, x, 1)
        case "sum":
            expected = _added_up(expected, x, *bounds)
    if not expected.free_symbols:
        how = "Evaluated again" if problem.operation in ("factor", "expand", "simplify") else how
        right = not claimed.free_symbols and _same(expected, claimed)
        return Verdict(right, f"{how} it is {_shown(expected)}.")
    if expected.free_symbols | claimed.free_symbols != {x}:
        raise FormatError("Only formulas of one variable are compared by numbers.")
    right = all(_same(expected.subs(x, at), claimed.subs(x, at)) for at in _POINTS)
    return Verdict(right, f"{how} at four points.")


def _slope(expression: sp.Expr, x: sp.Symbol, order: int) -> sp.Expr:
    return sp.Derivative(expression, (x, order)).as_finite_difference(_STEP)


def _added_up(term: sp.Expr, k: sp.Symbol, low: sp.Expr, high: sp.Expr) -> sp.Expr:
    numbers = range(whole(low, "A sum"), whole(high, "A sum") + 1)
    if len(numbers) > MAX_TERMS:
        raise FormatError("Only short sums are added up.")
    return sp.Add(*(term.subs(k, number) for number in numbers))


def _same(left: sp.Expr, right: sp.Expr) -> bool:
    """Whether two values are the same: exactly for fractions, else to six digits."""
    return bool(left == right) if left.is_Rational and right.is_Rational else _close(left, right)


def _close(left: sp.Expr, right: sp.Expr) -> bool:
    return cmath.isclose(complex(left), complex(right), rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _shown(value: sp.Expr) -> str:
    text = str(value) if value.is_Rational else ""
    if value.is_Integer or 0 < len(text) <= 60:
        return text if len(text) <= 60 else f"a number of {len(text)} digits"
    number = complex(value)
    if abs(number) < 1e-20:
        return "about 0"  # What is left of terms that cancel out.
    return f"about {number.real:.8g}" if abs(number.imag) < 1e-9 else f"about {number:.8g}"


def _solved(problem: Problem, answer: str, recomputed: str) -> Verdict:
    """The answer's roots put back into every equation, and compared with those computed again."""
    names = problem.variables
    claimed = _roots_in(answer, names)
    inequality = any(relation.kind != "=" for relation in problem.formulas)
    if inequality or not claimed or any(len(solution) != len(names) for solution in claimed):
        raise FormatError("There is no root to put in, or one names no value for some unknown.")
    for solution in claimed:
        for relation in problem.formulas:
            sides = [expression_of(part, solution) for part in relation.parts]
            if not _close(*sides):
                return Verdict(False, f"With {_assigned(solution)}: {_sides(*sides)}, not equal.")
    for expected in _roots_in(recomputed, names):
        if not any(all(_close(other[name], expected[name]) for name in expected) for other in claimed):
            return Verdict(False, f"It leaves out {_assigned(expected)}.")
    put_in = _sides(*(expression_of(part, claimed[0]) for part in problem.formulas[0].parts))
    return Verdict(True, f"Put back in, all hold; with {_assigned(claimed[0])}: {put_in}.")


def _sides(left: sp.Expr, right: sp.Expr) -> str:
    return f"left side {_shown(left)}, right side {_shown(right)}"


def _assigned(solution: Mapping[str, sp.Expr]) -> str:
    return ", ".join(f"{name} = {_shown(value)}" for name, value in solution.items())


def _tested(problem: Problem, answer: str, _: str) -> Verdict:
    number = whole(expression_of(problem.formulas[0]), "A prime test")
    if number > MAX_TRIED:
        raise FormatError("Only short numbers are tried for divisors.")
    prime = number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))
    return Verdict(prime == _affirms(answer), "Tried every divisor up to the square root.")


def _compared(problem: Problem, answer: str, _: str) -> Verdict:
    sides = [[expression_of(part) for part in relation.parts] for relation in problem.formulas]
    differences = [sp.S.Zero if _same(left, right) else sp.N(left - right) for left, right in sides]
    signs = [relation.kind for relation in problem.formulas]
    holds = all(map(bool, map(related_to_zero, differences, signs)))
    return Verdict(holds == _affirms(answer), f"Evaluated again: {_sides(*sides[0])}.")


_SECOND_WAYS: Mapping[str, Callable[[Problem, str, str], Verdict]] = {
    **dict.fromkeys(_NUMERIC, _by_numbers), "solve": _solved, "is prime": _tested, "claim": _compared,
}  # fmt: skip
