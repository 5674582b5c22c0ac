"""The checker's mathematics: visible answers, checked by a second way.

Roots are put back into their equation, arithmetic is redone in plain Python, an antiderivative is
differentiated and a derivative compared with difference quotients. Runs in the kernel process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from conductor.errors import FormatError
from conductor.workers.offline.formula import Name, Node, variables_of
from conductor.workers.offline.mathematics import MAX_UNREAD_EXPLICIT, attempted, stated
from conductor.workers.offline.numeric import Numeric, close, evaluate, is_prime
from conductor.workers.offline.phrasing import passages_of, plain_formulas
from conductor.workers.offline.problem import Problem
from conductor.workers.offline.question import read_problem
from conductor.workers.offline.task import SeenAnswer, Task, answer_in

NOTHING_VISIBLE = "I cannot see any answer to check. Let this step read the step whose answer it shall check."
NOTHING_ANSWERED = "None of the steps that I can see gives an answer, so there is nothing to check."
CANNOT = (
    "I am the built-in checker, not a language model: I check calculations, equations, derivatives, "
    "integrals and facts about countries, and this is none of them. The visible answer is passed on as it is."
)


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right and how that was found; `right` is None where it could not be decided."""

    right: bool | None
    how: str


def check(task: Task) -> Iterator[str]:
    """Each visible answer checked, line by line, and the answer to give."""
    if not task.answers:
        yield NOTHING_ANSWERED if task.seen else NOTHING_VISIBLE
        return
    problem = _problem_of(task)
    if problem is None:
        yield CANNOT
        yield f"Answer: {task.answers[-1].text} (not checked)"
        return
    yield f"Question: {stated(problem)}"
    recomputed = answer_in("\n".join(attempted(problem)))
    verdicts = [(answer, judged(problem, answer.text, recomputed)) for answer in task.answers]
    for answer, verdict in verdicts:
        yield _reported(answer, verdict, recomputed)
    right = next((answer.text for answer, verdict in reversed(verdicts) if verdict.right), None)
    if right is not None:
        yield f"Answer: {right}"
    elif all(verdict.right is False for _, verdict in verdicts) and recomputed is not None:
        yield f"Answer: {recomputed}"
    else:
        yield f"Answer: {task.answers[-1].text} (not checked)"


def _reported(answer: SeenAnswer, verdict: Verdict, recomputed: str | None) -> str:
    if verdict.right is None:
        return f"Not checked: {answer.source} says {answer.text}. {verdict.how}"
    if verdict.right:
        return f"Verified: {answer.source} says {answer.text}. {verdict.how}"
    instead = f" The right answer is {recomputed}." if recomputed is not None else ""
    return f"Correction: {answer.source} says {answer.text}. {verdict.how}{instead}"


def _problem_of(task: Task) -> Problem | None:
    """The query's problem; the instruction's where the query has none or the instruction states numbers."""
    own, asked = read_problem(task.instruction), read_problem(task.query)
    if own is not None and (asked is None or not own.variables):
        return own
    return asked if asked is not None and asked.unread <= MAX_UNREAD_EXPLICIT else None


def judged(problem: Problem, said: str, recomputed: str | None) -> Verdict:
    """The verdict on an answer: by a second way where there is one, else by computing again."""
    second_way = _SECOND_WAYS.get(problem.operation)
    if second_way is not None:
        try:
            return second_way(problem, said, recomputed)
        except (ArithmeticError, ValueError, KeyError, FormatError):
            pass  # The second way does not reach this far, so computing again has to do.
    if recomputed is None:
        return Verdict(None, "I could not compute it myself.")
    same = _plain(recomputed) in _plain(said)
    return Verdict(same, "Computed again, by the same method.")


def _plain(text: str) -> str:
    return re.sub(r"[\s.*]+", "", text.lower())


# -- reading an answer ------------------------------------------------------------------------------


def _formula_in(said: str) -> Node:
    """The answer's formula: its last one, since prose explains before it concludes."""
    passages = passages_of(plain_formulas(said))
    if not passages:
        raise FormatError("The answer holds no formula.")
    content = passages[-1].content
    return content[-1].right if isinstance(content, tuple) else content


def _roots_in(said: str, names: Sequence[str]) -> list[dict[str, Numeric]]:
    """Solutions such as x = 2 or x = 3, each as numbers by name."""
    solutions: list[dict[str, Numeric]] = []
    for passage in passages_of(plain_formulas(said)):
        content = passage.content
        relations = content if isinstance(content, tuple) else ()
        for relation in relations:
            if not isinstance(relation.left, Name) or relation.left.text not in names or relation.sign != "=":
                raise FormatError("The answer holds more than roots.")
            if not solutions or relation.left.text in solutions[-1]:
                solutions.append({})
            solutions[-1][relation.left.text] = evaluate(relation.right)
    return solutions


# -- second ways --------------------------------------------------------------------------------------


def _value(problem: Problem, said: str, _: str | None) -> Verdict:
    expected = evaluate(problem.formulas[0])
    return Verdict(close(expected, evaluate(_formula_in(said))), f"Evaluated again it is {_shown(expected)}.")


def _shown(value: Numeric) -> str:
    if isinstance(value, Fraction):
        text = str(value)
        return text if len(text) <= 60 else f"a number of {len(text)} digits"
    number = complex(value)
    return f"about {number.real:.8g}" if abs(number.imag) < 1e-9 else f"about {number:.8g}"


def _solved(problem: Problem, said: str, recomputed: str | None) -> Verdict:
    if any(relation.sign != "=" for relation in problem.relations):
        raise FormatError("Inequalities have no roots to put in.")
    names = problem.variables
    claimed = _roots_in(said, names)
    if not claimed or any(len(solution) != len(names) for solution in claimed):
        raise FormatError("The answer names no value for some unknown.")
    for solution in claimed:
        for relation in problem.relations:
            left, right = evaluate(relation.left, solution), evaluate(relation.right, solution)
            if not close(left, right):
                return Verdict(False, f"With {_assigned(solution)}: {_sides(left, right)}, not equal.")
    missing = _missing(claimed, _roots_in(recomputed or "", names))
    if missing:
        return Verdict(False, f"It leaves out {_assigned(missing[0])}.")
    first = claimed[0]
    left, right = (evaluate(side, first) for side in (problem.relations[0].left, problem.relations[0].right))
    return Verdict(True, f"Put back in, all hold; with {_assigned(first)}: {_sides(left, right)}.")


def _sides(left: Numeric, right: Numeric) -> str:
    return f"left side {_shown(left)}, right side {_shown(right)}"


def _assigned(solution: Mapping[str, Numeric]) -> str:
    return ", ".join(f"{name} = {_shown(value)}" for name, value in solution.items())


def _missing(
    claimed: Sequence[Mapping[str, Numeric]], expected: Sequence[Mapping[str, Numeric]]
) -> list[Mapping[str, Numeric]]:
    return [
        solution
        for solution in expected
        if not any(all(close(other[name], solution[name]) for name in solution) for other in claimed)
    ]


_POINTS = (0.37, 0.83, 1.29, 2.21)
_STEP = 1e-4


def _same_function(left: Callable[[complex], Numeric], right: Callable[[complex], Numeric]) -> bool:
    return all(
        abs(complex(left(point)) - complex(right(point))) <= 1e-5 * (1 + abs(complex(right(point))))
        for point in map(complex, _POINTS)
    )


def _of_variable(node: Node, name: str, *, constant: bool = False) -> Callable[[complex], Numeric]:
    """The tree as a function of one name; others stand at a fixed odd place, a constant C at 0."""
    others: dict[str, Numeric] = {
        other: complex(0.61 + 0.1 * at) for at, other in enumerate(sorted(variables_of(node)))
    }
    if constant:
        others["C"] = complex(0)
    return lambda at: evaluate(node, {**others, name: at})


def _slope(function: Callable[[complex], Numeric]) -> Callable[[complex], Numeric]:
    return lambda at: (complex(function(at + _STEP)) - complex(function(at - _STEP))) / (2 * _STEP)


def _derived(problem: Problem, said: str, _: str | None) -> Verdict:
    if problem.order != 1 or problem.bounds or problem.variable is None or len(problem.variables) > 1:
        raise FormatError("Only first derivatives of one variable have difference quotients here.")
    function = _of_variable(problem.formulas[0], problem.variable)
    claimed = _of_variable(_formula_in(said), problem.variable)
    return Verdict(
        _same_function(_slope(function), claimed), "Compared with difference quotients at four points."
    )


def _integrated(problem: Problem, said: str, _: str | None) -> Verdict:
    if problem.variable is None or len(problem.variables) > 1:
        raise FormatError("Only integrals over one variable are checked by numbers.")
    function = _of_variable(problem.formulas[0], problem.variable)
    if not problem.bounds:
        claimed = _of_variable(_formula_in(said), problem.variable, constant=True)
        return Verdict(_same_function(_slope(claimed), function), "Differentiated again at four points.")
    low, high = (evaluate(bound) for bound in problem.bounds)
    area = _simpson(function, complex(low), complex(high))
    right = abs(area - complex(evaluate(_formula_in(said)))) <= 1e-5 * (1 + abs(area))
    return Verdict(right, f"Simpson's rule gives {_shown(area)}.")


def _simpson(function: Callable[[complex], Numeric], low: complex, high: complex) -> complex:
    width = (high - low) / 2_000
    points = [low + width * at for at in range(2_001)]
    values = [complex(function(point)) for point in points]
    middles = [complex(function((left + right) / 2)) for left, right in pairwise(points)]
    edges = sum(left + right for left, right in pairwise(values))
    return (edges + 4 * sum(middles)) * width / 6


def _rewritten(problem: Problem, said: str, _: str | None) -> Verdict:
    node, claimed = problem.formulas[0], _formula_in(said)
    names = variables_of(node)
    if not names:
        right = close(evaluate(node), evaluate(claimed))
        return Verdict(right, f"Multiplied out it is {_shown(evaluate(claimed))}.")
    if len(names) > 1 or not variables_of(claimed) <= names:
        raise FormatError("Only formulas of one variable are compared at points.")
    (name,) = names
    right = _same_function(_of_variable(node, name), _of_variable(claimed, name))
    return Verdict(right, "Compared with the original at four points; whether it is in final form is not.")


def _added(problem: Problem, said: str, _: str | None) -> Verdict:
    low, high = (evaluate(bound) for bound in problem.bounds)
    if not (isinstance(low, Fraction) and isinstance(high, Fraction)) or high - low > 10_000:
        raise FormatError("Only short sums are added up.")
    name = problem.variable or "k"
    values = [
        evaluate(problem.formulas[0], {name: Fraction(k)})
        for k in range(math.ceil(low), math.floor(high) + 1)
    ]
    exact = [value for value in values if isinstance(value, Fraction)]
    total = sum(exact, Fraction()) if len(exact) == len(values) else sum(map(complex, values))
    return Verdict(close(total, evaluate(_formula_in(said))), f"Added up term by term it is {_shown(total)}.")


def _tested(problem: Problem, said: str, _: str | None) -> Verdict:
    number = evaluate(problem.formulas[0])
    if not isinstance(number, Fraction):
        raise FormatError("Only whole numbers are prime or not.")
    right = is_prime(number.numerator) == _affirms(said)
    return Verdict(right, "Tried every divisor up to the square root.")


def _compared(problem: Problem, said: str, _: str | None) -> Verdict:
    sides = [(evaluate(each.left), each.sign, evaluate(each.right)) for each in problem.relations]
    holds = all(_holds(left, sign, right) for left, sign, right in sides)
    left, _sign, right = sides[0]
    return Verdict(holds == _affirms(said), f"Evaluated again: {_sides(left, right)}.")


def _holds(left: Numeric, sign: str, right: Numeric) -> bool:
    if close(left, right):
        return sign in ("=", "<=", ">=")
    if sign in ("=", "!="):
        return sign == "!="
    return (complex(left).real < complex(right).real) == (sign in ("<", "<="))


def _affirms(said: str) -> bool:
    return not re.search(r"\b(?:no|not|false|composite|wrong)\b", said, re.IGNORECASE)


_SECOND_WAYS: dict[str, Callable[[Problem, str, str | None], Verdict]] = {
    "value": _value, "solve": _solved, "derivative": _derived, "integral": _integrated,
    "factor": _rewritten, "expand": _rewritten, "simplify": _rewritten, "sum": _added, "is prime": _tested,
    "claim": _compared,
}  # fmt: skip
