"""The checker's mathematics: visible answers, checked by another way than the one that leads to them.

SymPy computes by rules; here the same formulas are computed in numbers. Roots are put back into their
equation, sums are added up, an antiderivative is differentiated. An answer that is not read whole, or that no
other way leads to, is never verified.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, starmap

import mpmath

from conductor.errors import FormatError, QueryError
from conductor.workers.offline.mathematics.expert import attempted, stated
from conductor.workers.offline.mathematics.formula import Node
from conductor.workers.offline.mathematics.numeric import Number, inexact, number_of, same
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
"""The largest number that is tried for divisors up to its square root."""

MAX_DIVIDED = 10**6
"""The largest number whose divisors are found by trying all numbers up to it."""


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
    working = list(attempted(problem))
    recomputed = answer_in("\n".join(working))
    verdicts = {step: _judged(problem, step, recomputed, working) for step in task.answers}
    for step, verdict in verdicts.items():
        found = {True: "Verified", False: "Correction", None: "Not checked"}[verdict.right]
        instead = f" The right answer is {recomputed}." if verdict.right is False else ""
        yield f"{found}: {step.source} answers {step.answer}. {verdict.how}{instead}"
    right = [step.answer for step, verdict in verdicts.items() if verdict.right]
    if all(verdict.right is False for verdict in verdicts.values()):
        right = [str(recomputed)]
    yield f"Answer: {right[-1]}" if right else passed_on


def _problem_of(task: Task) -> Problem | None:
    """The query's problem; the instruction's where the query has none or the instruction states numbers."""
    own, asked = read_problem(task.instruction), read_problem(task.query)
    return own if own is not None and (asked is None or not own.variables) else asked


def _judged(problem: Problem, step: SeenStep, recomputed: str | None, working: Sequence[str]) -> Verdict:
    """The verdict on a step's answer; `working` leads to the answer `recomputed` by rules."""
    if recomputed is None:
        return Verdict(None, "I could not compute it myself.")
    found = _by_numbers(problem, step.answer, recomputed)
    if found is not None:
        of_recomputed = found if found.right else _by_numbers(problem, recomputed, recomputed)
        agree = of_recomputed is None or of_recomputed.right
        return found if agree else Verdict(None, "Two ways to it do not agree.")
    if _plain(recomputed) != _plain(step.answer):
        if set(_NUMBER.findall(recomputed)) <= set(_NUMBER.findall(step.answer)):
            return Verdict(None, f"By rules it is {recomputed}; I do not know whether that is the same.")
        return Verdict(False, "Computed by rules, it is another one.")
    if step.response.splitlines()[-len(working) :] == working:
        return Verdict(None, "I know only the way in which it was computed.")
    return Verdict(True, "Computed by rules, it is the same.")


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _plain(text: str) -> str:
    return re.sub(r"[\s.*]+", "", text.lower())


def _by_numbers(problem: Problem, answer: str, recomputed: str) -> Verdict | None:
    """The verdict of numbers on an answer, None where they do not reach so far."""
    try:
        return _WAYS[problem.operation](problem, answer, recomputed)
    except (
        ArithmeticError,
        ValueError,
        KeyError,
        TypeError,
        mpmath.libmp.NoConvergence,
        FormatError,
        QueryError,
    ):
        return None


# -- reading an answer ------------------------------------------------------------------------------


def _formula_in(answer: str) -> Node:
    """The answer's formula: the right side where it is a relation. Raises `FormatError`."""
    match contents_of(plain_text(answer)):
        case [node]:
            return node.parts[1] if node.is_relation else node
        case _:
            raise FormatError("The answer is not one formula.")


def _roots_in(answer: str, names: Sequence[str]) -> list[dict[str, Number]]:
    """Solutions such as x = 2 or x = 3, each with all `names`. Raises `FormatError` for anything else."""
    solutions: list[dict[str, Number]] = [{}]
    for content in contents_of(plain_text(answer)):
        match content:
            case Node("=", (Node("name", text=name), value)) if name in names:
                if name in solutions[-1]:
                    solutions.append({})
                solutions[-1][name] = number_of(value, {})
            case _:
                raise FormatError("The answer holds more than roots.")
    if any(len(solution) != len(names) for solution in solutions):
        raise FormatError("The answer names no value for some unknown.")
    return solutions


def _affirms(answer: str) -> bool:
    return not re.search(r"\b(?:no|not|false|composite|wrong)\b", answer, re.IGNORECASE)


# -- by numbers: each raises an error that `_by_numbers` expects where it does not reach -------------------

_POINTS = tuple(map(Fraction, ("0.37", "0.83", "1.29", "2.21")))
_Function = Callable[[Number], Number]


def _computed(problem: Problem, answer: str, _: str) -> Verdict:
    """The answer's formula compared with numbers: one where that is a number, else one at each of points."""
    formula, is_number = _formula_in(answer), bool(problem.bounds or not problem.variables)
    x = problem.variable or next(iter(problem.variables), "x")

    def given(at: Number) -> Number:
        return number_of(problem.formulas[0], {x: at})

    claimed: _Function = lambda at: number_of(formula, {} if is_number else {x: at, "C": Fraction(0)})  # noqa: E731
    how, expected = _another_way(problem, given)
    if problem.operation == "integral" and not is_number:
        how, expected, claimed = "Differentiated again", given, _slope(claimed, 1)
    pairs = [(expected(at), claimed(at)) for at in (_POINTS[:1] if is_number else _POINTS)]
    where = f"it is {_shown(pairs[0][0])}" if is_number else "at four points"
    return Verdict(all(starmap(same, pairs)), f"{how} {where}.")


def _another_way(problem: Problem, given: _Function) -> tuple[str, _Function]:
    """What the numbers are found by, and the function that finds them, of the function `given`."""
    bounds = [number_of(bound, {}) for bound in problem.bounds]
    floats = _of_floats(given)
    match problem.operation, list(map(inexact, bounds)):
        case "derivative", [point]:
            return "By difference quotients", lambda _: _slope(given, problem.order or 1)(point)
        case "derivative", _:
            return "By difference quotients", _slope(given, problem.order or 1)
        case "integral", [low, high]:
            return "By numerical quadrature", lambda _: mpmath.quad(floats, [low, high])
        case "sum" | "product" as operation, [low, mpmath.inf]:
            method = mpmath.nsum if operation == "sum" else mpmath.nprod
            return "In numbers", lambda _: method(floats, [low, mpmath.inf])
        case "sum", _:
            return "Added up term by term", lambda _: sum(_terms(given, *bounds), start=Fraction(0))
        case "product", _:
            return "Multiplied out", lambda _: math.prod(_terms(given, *bounds))
        case "limit", [point]:
            return "From numbers ever nearer to the point", lambda _: _approached(floats, point)
        case "value", _:
            return "In numbers", given
        case _:
            return "Compared with the original, not by its form,", given


def _of_floats(function: _Function) -> _Function:
    """The same function as mpmath's methods take it."""
    return lambda at: inexact(function(at))


def _slope(function: _Function, order: int) -> _Function:
    return lambda at: mpmath.diff(_of_floats(function), inexact(at), order)


def _terms(term: _Function, low: Number, high: Number) -> Iterator[Number]:
    if low.denominator != 1 or high.denominator != 1 or high - low > MAX_TERMS:
        raise FormatError("Only short sums are added up.")
    return map(term, map(Fraction, range(int(low), int(high) + 1)))


def _approached(function: _Function, point: Number) -> Number:
    """The limit of a function; not a number where it differs on the two sides."""
    sides = (1, -1) if mpmath.isfinite(point) else (1,)
    found = [mpmath.limit(function, point, side) for side in sides]
    return found[0] if same(found[0], found[-1]) else mpmath.nan


def _solved(problem: Problem, answer: str, recomputed: str) -> Verdict:
    """The answer's roots put back into every equation, and compared with those computed by rules."""
    if any(relation.kind != "=" for relation in problem.formulas):
        return _tried(problem, answer, recomputed)
    names = problem.variables
    claimed = _roots_in(answer, names)
    if "." in answer:  # Its roots are rounded.
        claimed = [{name: inexact(value) for name, value in solution.items()} for solution in claimed]
    for solution in claimed:
        for relation in problem.formulas:
            sides = [number_of(part, solution) for part in relation.parts]
            if not same(*sides):
                return Verdict(False, f"With {_assigned(solution)}: {_sides(*sides)}, not equal.")
    for expected in _roots_in(recomputed, names):
        if not any(all(same(other[name], expected[name]) for name in names) for other in claimed):
            return Verdict(False, f"It leaves out {_assigned(expected)}.")
    put_in = _sides(*(number_of(part, claimed[0]) for part in problem.formulas[0].parts))
    return Verdict(True, f"Put back in, all hold; with {_assigned(claimed[0])}: {put_in}.")


def _tried(problem: Problem, answer: str, recomputed: str) -> Verdict:
    """Inequalities: numbers between and beside all that are named are tried in them and in the answer."""
    [x] = problem.variables
    ranges = [contents_of(piece) for piece in re.split(r"\bor\b", plain_text(answer))]
    if not all(ranges) or not all(each.is_relation for each in chain(*ranges)):
        raise FormatError("The answer is not one of ranges.")
    named = sorted({Fraction(number) for number in _NUMBER.findall(f"{answer} {recomputed}")} | {Fraction(0)})
    ends = [each * sign for each in named for sign in (-1, 1)]
    tried = sorted({each + step for each in ends for step in map(Fraction, ("-0.37", "0", "0.37"))})
    for number in tried:
        holds = all(_holds(relation, {x: number}) for relation in problem.formulas)
        if holds != any(all(_holds(relation, {x: number}) for relation in each) for each in ranges):
            return Verdict(False, f"{x} = {_shown(number)} is {'left out' if holds else 'not one'}.")
    return Verdict(True, f"Tried with {len(tried)} numbers.")


_RELATIONS: Mapping[str, Callable[[Number, Number], bool]] = {
    "=": same, "!=": lambda left, right: not same(left, right),
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _holds(relation: Node, values: Mapping[str, Number]) -> bool:
    left, right = (number_of(part, values) for part in relation.parts)
    exact = isinstance(left, Fraction) and isinstance(right, Fraction)
    return _RELATIONS[relation.kind](*((left, right) if exact else (inexact(left), inexact(right))))


def _sides(left: Number, right: Number) -> str:
    return f"left side {_shown(left)}, right side {_shown(right)}"


def _assigned(solution: Mapping[str, Number]) -> str:
    return ", ".join(f"{name} = {_shown(value)}" for name, value in solution.items())


def _shown(value: Number) -> str:
    if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) < 10**60:
        return str(value)
    parts = mpmath.chop(inexact(value)), mpmath.mpf(0)
    if isinstance(parts[0], mpmath.mpc):
        parts = parts[0].real, parts[0].imag
    real, imaginary = (mpmath.nstr(part, 8).removesuffix(".0") for part in parts)
    return f"about {real}" if imaginary == "0" else f"about {real} + {imaginary}*i"


def _prime(problem: Problem, answer: str, _: str) -> Verdict:
    number = _whole(problem, MAX_TRIED)
    prime = number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))
    return Verdict(prime == _affirms(answer), "Tried every divisor up to the square root.")


def _divided(problem: Problem, answer: str, _: str) -> Verdict:
    number = _whole(problem, MAX_DIVIDED)
    found = [divisor for divisor in range(1, number + 1) if number % divisor == 0]
    claimed = [int(each) for each in answer.split(",")]
    right = claimed == ([len(found)] if problem.operation == "divisor count" else found)
    return Verdict(right, "Tried every number up to it.")


def _whole(problem: Problem, most: int) -> int:
    number = number_of(problem.formulas[0], {})
    if not isinstance(number, Fraction) or number.denominator != 1 or not 0 < number <= most:
        raise FormatError("Only short whole numbers are tried for divisors.")
    return int(number)


def _compared(problem: Problem, answer: str, _: str) -> Verdict:
    holds = all(_holds(relation, {}) for relation in problem.formulas)
    sides = (number_of(part, {}) for part in problem.formulas[0].parts)
    return Verdict(holds == _affirms(answer), f"In numbers: {_sides(*sides)}.")


_WAYS: Mapping[str, Callable[[Problem, str, str], Verdict]] = {
    **dict.fromkeys("value factor expand simplify derivative integral sum product limit".split(), _computed),
    "solve": _solved, "is prime": _prime, "divisors": _divided, "divisor count": _divided,
    "claim": _compared,
}  # fmt: skip
