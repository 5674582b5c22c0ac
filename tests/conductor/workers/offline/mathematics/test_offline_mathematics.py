"""The mathematics expert's answers to everyday questions, computed in this process."""

import pytest

from conductor.messages import SeenResponse
from conductor.workers.offline.mathematics import CANNOT, UNSOLVED, mathematics
from conductor.workers.offline.task import Task

SOLVE = "Solve the question and show the working."


def lines(query: str, instruction: str = SOLVE, seen: tuple[SeenResponse, ...] = ()) -> list[str]:
    return list(mathematics(Task(query=query, instruction=instruction, seen=seen)))


def answer(query: str, instruction: str = SOLVE, seen: tuple[SeenResponse, ...] = ()) -> str:
    return lines(query, instruction, seen)[-1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What is 17 * 23?", "391"),
        ("17*23", "391"),
        ("Calculate 2 + 3 × 4 − 1", "13"),
        ("What is two plus three times four?", "14"),
        ("What is 7 divided by 2?", "7/2"),
        ("0.1 + 0.2", "0.3"),
        ("What is 15% of 240?", "36"),
        ("What percent of 80 is 20?", "25"),
        ("20 is what percent of 80?", "25"),
        ("Increase 80 by 15%", "92"),
        ("What is half of 30?", "15"),
        ("What is 3/4 of 80?", "60"),
        ("What is 2^10?", "1024"),
        ("2**100", "1267650600228229401496703205376"),
        ("What is 12 squared?", "144"),
        ("2 to the power of 8", "256"),
        ("What is the square root of 144?", "12"),
        ("sqrt(50)", "5*sqrt(2)"),
        ("What is the cube root of 27?", "3"),
        ("What is 10!?", "3628800"),
        ("What is 5 factorial?", "120"),
        ("What is 1,234 + 1?", "1235"),
        ("-2^2", "-4"),
        ("2^3^2", "512"),
        ("17 mod 5", "2"),
        ("What is 7^100 mod 13?", "9"),
        ("3^1000000000 mod 7", "4"),
        ("What is the remainder when 100 is divided by 7?", "2"),
        ("What is twenty-five plus seventeen?", "42"),
        ("What is the average of 3, 5 and 10?", "6"),
        ("10 choose 3", "120"),
        ("How many ways to choose 2 people from 5?", "10"),
        ("Is 17 * 23 = 391?", "yes, the sides are equal"),
        ("Is 2^10 > 1025?", "no, the sides are not greater"),
        ("x^2 + 1 at x = 3", "10"),
        (r"\frac{1}{2} + \frac{1}{3}", "5/6"),
        ("Solve x^2 - 5x + 6 = 0", "x = 2 or x = 3"),
        ("Solve for x: 2x + 3 = 11", "x = 4"),
        ("3(x + 1) = 12", "x = 3"),
        ("x^2 = 2", "x = -sqrt(2) or x = sqrt(2)"),
        ("Solve x^2 + 1 = 0", "x = -i or x = i"),
        ("x + 1 = x", "no solution"),
        ("2(x + 1) = 2x + 2", "every x"),
        ("Solve 1/x = 4", "x = 1/4"),
        ("Solve (x^2 - 1)/(x - 1) = 0", "x = -1"),
        ("Solve e^x = 5", "x = ln(5)"),
        ("What are the roots of x^2 - 9?", "x = -3 or x = 3"),
        ("If 3x + 2y = 12 and x - y = 1, what are x and y?", "x = 14/5, y = 9/5"),
        ("x + y = 1, x + y = 2", "no solution"),
        ("2x + 3 > 7", "x > 2"),
        ("x^2 < 4", "-2 < x < 2"),
        ("1 < x + 1 <= 5", "0 < x <= 4"),
        ("What is the derivative of x^3 sin(x)?", "x^2*(x*cos(x) + 3*sin(x))"),
        ("Differentiate x^2 + 3x", "2*x + 3"),
        ("second derivative of x^4", "12*x^2"),
        ("d/dx of ln(x)", "1/x"),
        ("derivative of x^2 at x = 3", "6"),
        ("Integrate 2x from 0 to 3", "9"),
        ("integral of x^2 dx", "x^3/3 + C"),
        ("integrate e^(-x^2) from -infinity to infinity", "sqrt(pi)"),
        ("What is the limit of sin(x)/x as x approaches 0?", "1"),
        ("limit of 1/x as x approaches 0", "the limit does not exist"),
        ("limit of (1 + 1/n)^n as n approaches infinity", "e"),
        ("sum of the first 100 integers", "5050"),
        ("sum of the first 10 odd numbers", "100"),
        ("What is the sum of 1/k^2 from k = 1 to infinity?", "pi^2/6"),
        ("sum of i^2 for i = 1 to 10", "385"),
        ("Is 97 prime?", "yes, 97 is prime"),
        ("Is 91 a prime number?", "no, 91 is not prime"),
        ("Factor 360", "2^3 * 3^2 * 5"),
        ("Find the greatest common divisor of 84 and 126", "42"),
        ("gcd(84, 126)", "42"),
        ("What is the least common multiple of 4, 6 and 10?", "60"),
        ("What is the 10th prime?", "29"),
        ("next prime after 100", "101"),
        ("What are the divisors of 28?", "1, 2, 4, 7, 14, 28"),
        ("modular inverse of 3 mod 7", "5"),
        ("Expand (x + 1)^3", "x^3 + 3*x^2 + 3*x + 1"),
        ("Factor x^2 - 5x + 6", "(x - 3)*(x - 2)"),
        ("Simplify (x^2 - 1)/(x - 1)", "x + 1"),
        ("sin(pi/6)", "1/2"),
        ("log(8, 2)", "3"),
        ("What is 20% off 50?", "40"),
        ("Solve ax^2 + c = 0 for x", "x = -sqrt(-c/a) or x = sqrt(-c/a)"),
        ("Find dy/dx of y = x^2", "2*x"),
        ("If f(x) = x^2 + 1, what is f(3)?", "10"),
        ("How many divisors does 60 have?", "12"),
        ("Is 10 divisible by 5?", "yes, the sides are equal"),
        ("What is the sum of the squares of the first 10 integers?", "385"),
        ("Solve |x - 2| = 3", "x = -1 or x = 5"),
        ("Solve sin(x) = 1/2", "x = 2*pi*n + pi/6 or x = 2*pi*n + 5*pi/6"),
        ("Solve cos(x) = x", "x = 0.7390851332 (approximately)"),
        ("Taylor series of e^x around 0", "1 + x + x^2/2 + x^3/6 + x^4/24 + x^5/120 + ..."),
    ],
)
def test_a_question_gets_its_answer(query: str, expected: str) -> None:
    assert answer(query) == f"Answer: {expected}"


@pytest.mark.parametrize(
    "query",
    [
        "Prove that the sum of two even numbers is even",
        "Write a poem about rain",
        "",
        "   ",
        "A train leaves with 30 passengers, 12 get off at every stop; how many remain after two stops?",
        "Compute 12*12 - 44 and then divide the result",
        "Maximize x(10 - x)",
        "What is 5 km + 3 km?",
        "Solve foo + c = 0",
        "Solve foo - c = 0",
        "Solve x = 2 * foo",
        "word " * 20_000,
        "1+" * 50_000,
    ],
)
def test_what_it_cannot_do_it_says(query: str) -> None:
    assert lines(query) == [CANNOT]


@pytest.mark.parametrize("query", ["10^100000!", "9^9^9^9", "1/0", "Integrate x^x", "What is 7 mod 0?"])
def test_what_has_no_value_or_is_too_large_gets_a_reason_and_no_answer(query: str) -> None:
    said = lines(query)
    assert said[0].startswith("Read as: ")
    assert not said[-1].startswith("Answer:")
    assert len(said[-1]) > 20


@pytest.mark.parametrize(
    ("query", "instruction", "expected"),
    [
        ("What is 17 * 23?", "Compute 20 * 23", "460"),
        ("What is 17 * 23?", "Solve the problem and show the working.", "391"),
        ("x^2 - 5x + 6", "Factor the expression.", "(x - 3)*(x - 2)"),
        ("x^2 - 5x + 6", "Differentiate it", "2*x - 5"),
        ("Solve x^2 = 4", "Use the substitution u = x + 1 if it helps.", "x = -2 or x = 2"),
        ("Solve x^2 = 4", "Solve 2x = 10 instead", "x = 5"),
    ],
)
def test_a_concrete_instruction_counts_before_the_query(query: str, instruction: str, expected: str) -> None:
    assert answer(query, instruction) == f"Answer: {expected}"


def test_the_previous_result_can_be_worked_on() -> None:
    seen = (SeenResponse(step=0, worker="mathematics", instruction="Compute", response="Answer: 391"),)
    assert answer("What is 17 * 23?", "Multiply the previous result by 2", seen) == "Answer: 782"


def test_the_working_of_a_quadratic_is_shown() -> None:
    assert lines("Solve x^2 - 5x + 6 = 0") == [
        "Read as: solve x^2 - 5*x + 6 = 0",
        "Equation: x^2 - 5*x + 6 = 0",
        "All on one side: x^2 - 5*x + 6 = 0",
        "Discriminant: b^2 - 4*a*c = 1",
        "Factored: (x - 3)*(x - 2) = 0",
        "Answer: x = 2 or x = 3",
    ]


def test_a_plan_names_kind_unknowns_and_method_and_solves_nothing() -> None:
    said = lines("If 3x + 2y = 12 and x - y = 1, what are x and y?", "Plan: name the unknowns, do not solve.")
    assert said[:3] == [
        "Kind of problem: system of equations",
        "Unknowns: x, y",
        "Given: solve 3*x + 2*y = 12 and x - y = 1",
    ]
    assert said[3].startswith("Method: ")
    assert len(said) == 4


def test_an_equation_without_a_method_is_said_to_be_unsolved() -> None:
    assert lines("Integrate x^x")[-1] == UNSOLVED
