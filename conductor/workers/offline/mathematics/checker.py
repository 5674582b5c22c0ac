"""The checker's mathematics: visible answers, checked by a second way.

Roots are put back into their equation, values are evaluated by numbers, an antiderivative is differentiated
and a derivative compared with difference quotients. An answer that is not read whole is never verified.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from conductor.errors import FormatError
from conductor.workers.offline.mathematics.expert import attempted, stated
from conductor.workers.offline.mathematics.formula import Node, Relation, names_in
from conductor.workers.offline.mathematics.numeric import close, evaluate, integral, is_prime, slope
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

MAX_TERMS = 10_000
"""The most terms of a sum that are added up."""


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right and how that was found; `right` is None where it could not be decided."""

    right: bool | None
    how: str


def check(task: Task) -> Iterator[str]:
    """Each visible answer checked, line by line, and the answer to give."""
    if not task.answers:
        yield from task.refusals
        yield NOTHING_ANSWERED if task.seen else NOTHING_VISIBLE
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
        yield _reported(step, verdict, recomputed)
    right = [step.answer for step, verdict in zip(task.answers, verdicts, strict=True) if verdict.right]
    if all(verdict.right is False for verdict in verdicts) and recomputed is not None:
        right = [recomputed]
    yield f"Answer: {right[-1]}" if right else passed_on


def _reported(step: SeenStep, verdict: Verdict, recomputed: str | None) -> str:
    found = {True: "Verified", False: "Correction", None: "Not checked"}[verdict.right]
    wrong = verdict.right is False and recomputed is not None
    instead = f" The right answer is {recomputed}." if wrong else ""
    return f"{found}: {step.source} answers {step.answer}. {verdict.how}{instead}"


def _problem_of(task: Task) -> Problem | None:
    """The query's problem; the instruction's where the query has none or the instruction states numbers."""
    own, asked = read_problem(task.instruction), read_problem(task.query)
    return own if own is not None and (asked is None or not own.variables) else asked


def judged(problem: Problem, said: str, recomputed: str | None) -> Verdict:
    """The verdict on an answer: by a second way where there is one, else by computing again."""
    try:
        return _SECOND_WAYS[problem.operation](problem, said, recomputed or "")
    except (ArithmeticError, ValueError, KeyError, TypeError, FormatError):
        pass  # There is no second way, or it does not reach this far, so computing again has to do.
    if recomputed is None:
        return Verdict(None, "I could not compute it myself.")
    same = _plain(recomputed) == _plain(said)
    if not same and set(_NUMBER.findall(recomputed)) <= set(_NUMBER.findall(said)) and not _contents(said):
        return Verdict(None, f"Computed again it is {recomputed}; I do not know whether that is the same.")
    return Verdict(same, "Computed again, by the same method.")


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _plain(text: str) -> str:
    return re.sub(r"[\s.*]+", "", text.lower())


# -- reading an answer ------------------------------------------------------------------------------


def _contents(said: str) -> Sequence[Node | tuple[Relation, ...]]:
    """The formulas of an answer, none where it is not understood whole."""
    try:
        return contents_of(plain_text(said))
    except FormatError:
        return ()


def _formula_in(said: str) -> Node:
    """The answer's formula: the right side of its relations where it has any. Raises `FormatError`."""
    match _contents(said):
        case [Node() as node]:
            return node
        case [(*_, Relation(right=node))]:
            return node
        case _:
            raise FormatError("The answer is not one formula.")


def _roots_in(said: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Solutions such as x = 2 or x = 3, each as numbers by name. Raises `FormatError` for anything else."""
    solutions: list[dict[str, Any]] = []
    for content in _contents(said):
        match content:
            case (Relation(Node("name", text=name), "=", value),) if name in names:
                if not solutions or name in solutions[-1]:
                    solutions.append({})
                solutions[-1][name] = evaluate(value)
            case _:
                raise FormatError("The answer holds more than roots.")
    return solutions


def _affirms(said: str) -> bool:
    return not re.search(r"\b(?:no|not|false|composite|wrong)\b", said, re.IGNORECASE)


# -- second ways: each raises an error that `judged` expects where it does not reach -------------------------

_POINTS = (0.37, 0.83, 1.29, 2.21)
_Function = Callable[[Any], Any]


def _by_numbers(problem: Problem, said: str, _: str) -> Verdict:
    """The answer's formula and the problem's value, compared at points where they have a variable."""
    how, expected_of = _EXPECTED[problem.operation]
    node, answer = problem.formulas[0], _formula_in(said)
    name = problem.variable or next(iter(problem.variables), "x")
    expected, claimed = expected_of(problem, _of_variable(node, name)), _of_variable(answer, name)
    if problem.operation == "integral" and not problem.bounds:
        how, claimed = "Differentiated again", _slope_of(claimed)
    if names_in((node, answer)) and not problem.bounds:
        right = all(close(expected(at), claimed(at)) for at in _POINTS)
        return Verdict(right, f"{how} at four points.")
    how = "Evaluated again" if expected_of is _itself else how
    return Verdict(close(expected(0), claimed(0)), f"{how} it is {_shown(expected(0))}.")


def _of_variable(node: Node, name: str) -> _Function:
    """The tree as a function of one name. A constant C of integration is 0.

    Raises `FormatError` where the formula has another name.
    """
    if not names_in((node,)) <= {name, "C"}:
        raise FormatError("Only formulas of one variable are compared by numbers.")
    return lambda at: evaluate(node, {"C": 0, name: at})


def _slope_of(function: _Function, order: int = 1) -> _Function:
    return lambda at: slope(function, at, order=order)


def _derivative(problem: Problem, function: _Function) -> _Function:
    derivative = _slope_of(function, problem.order or 1)
    if not problem.bounds:
        return derivative
    point = evaluate(problem.bounds[0])
    return lambda _: derivative(point)


def _integral(problem: Problem, function: _Function) -> _Function:
    if not problem.bounds:
        return function
    return lambda _: integral(function, *map(evaluate, problem.bounds))


def _sum(problem: Problem, term: _Function) -> _Function:
    low, high = map(evaluate, problem.bounds)
    if not (isinstance(low, Fraction) and isinstance(high, Fraction)) or high - low > MAX_TERMS:
        raise FormatError("Only short sums are added up.")
    numbers = range(math.ceil(low), math.floor(high) + 1)
    return lambda _: sum((term(Fraction(number)) for number in numbers), Fraction())


def _itself(_: Problem, function: _Function) -> _Function:
    return function


_REWRITTEN = ("Compared with the original, not by its form,", _itself)
_EXPECTED: Mapping[str, tuple[str, Callable[[Problem, _Function], _Function]]] = {
    "value": ("Evaluated again", _itself),
    "derivative": ("By difference quotients", _derivative),
    "integral": ("By numerical quadrature", _integral),
    "sum": ("Added up term by term", _sum),
    **dict.fromkeys(("factor", "expand", "simplify"), _REWRITTEN),
}


def _shown(value: Any) -> str:
    if isinstance(value, Fraction):
        text = str(value)
        return text if len(text) <= 60 else f"a number of {len(text)} digits"
    number = complex(value)
    return f"about {number.real:.8g}" if abs(number.imag) < 1e-9 else f"about {number:.8g}"


def _solved(problem: Problem, said: str, recomputed: str) -> Verdict:
    """The answer's roots put back into every equation, and compared with those computed again."""
    names, first = problem.variables, problem.relations[0]
    claimed = _roots_in(said, names)
    inequality = any(relation.sign != "=" for relation in problem.relations)
    if inequality or not claimed or any(len(solution) != len(names) for solution in claimed):
        raise FormatError("There is no root to put in, or one names no value for some unknown.")
    for solution in claimed:
        for relation in problem.relations:
            sides = evaluate(relation.left, solution), evaluate(relation.right, solution)
            if not close(*sides):
                return Verdict(False, f"With {_assigned(solution)}: {_sides(*sides)}, not equal.")
    for expected in _roots_in(recomputed, names):
        if not any(all(close(other[name], expected[name]) for name in expected) for other in claimed):
            return Verdict(False, f"It leaves out {_assigned(expected)}.")
    put_in = _sides(evaluate(first.left, claimed[0]), evaluate(first.right, claimed[0]))
    return Verdict(True, f"Put back in, all hold; with {_assigned(claimed[0])}: {put_in}.")


def _sides(left: Any, right: Any) -> str:
    return f"left side {_shown(left)}, right side {_shown(right)}"


def _assigned(solution: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_shown(value)}" for name, value in solution.items())


def _tested(problem: Problem, said: str, _: str) -> Verdict:
    number = evaluate(problem.formulas[0])
    if not isinstance(number, Fraction) or number.denominator != 1:
        raise FormatError("Only whole numbers are prime or not.")
    return Verdict(is_prime(int(number)) == _affirms(said), "Tried every divisor up to the square root.")


def _compared(problem: Problem, said: str, _: str) -> Verdict:
    sides = [(evaluate(each.left), each.sign, evaluate(each.right)) for each in problem.relations]
    holds = all(_holds(left, sign, right) for left, sign, right in sides)
    return Verdict(holds == _affirms(said), f"Evaluated again: {_sides(sides[0][0], sides[0][2])}.")


def _holds(left: Any, sign: str, right: Any) -> bool:
    if close(left, right) or sign in ("=", "!="):
        return close(left, right) is (sign in ("=", "<=", ">="))
    return (complex(left).real < complex(right).real) == (sign in ("<", "<="))


_SECOND_WAYS: Mapping[str, Callable[[Problem, str, str], Verdict]] = {
    **dict.fromkeys(_EXPECTED, _by_numbers), "solve": _solved, "is prime": _tested, "claim": _compared,
}  # fmt: skip
