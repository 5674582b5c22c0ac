"""The mathematics expert's answers to everyday questions, computed in this process."""

import pytest

from conductor.workers.offline.mathematics import expert, question
from conductor.workers.offline.mathematics.expert import CANNOT, UNSOLVED, mathematics
from conductor.workers.offline.mathematics.formula import parse_statement
from conductor.workers.offline.questions.reply import reply
from conductor.workers.offline.task import SeenStep, Task

SOLVE = "Solve the question and show the working."


def lines(query: str, instruction: str = SOLVE, seen: tuple[SeenStep, ...] = ()) -> list[str]:
    task = Task(query=query, instruction=instruction, seen=seen)
    return list(reply("mathematics", task) or mathematics(task))


def answer(query: str, instruction: str = SOLVE, seen: tuple[SeenStep, ...] = ()) -> str:
    return lines(query, instruction, seen)[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What is 17 * 23?", "391"),
        ("17*23", "391"),
        ("Calculate 2 + 3 × 4 − 1", "13"),
        ("What is two plus three times four?", "14"),
        ("What is 7 divided by 2?", "3.5"),
        ("0.1 + 0.2", "0.3"),
        ("20 is what percent of 80?", "25 %"),
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
        ("10 choose 3", "120"),
        ("Is 17 * 23 = 391?", "yes, 17 × 23 = 391"),
        ("Is 2^10 > 1025?", "no, the sides are not greater"),
        ("x^2 + 1 at x = 3", "10"),
        (r"\frac{1}{2} + \frac{1}{3}", "5/6"),
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
        ("x + y = 1, x + y = 2", "no solution"),
        ("2x + 3 > 7", "x > 2"),
        ("x^2 < 4", "-2 < x < 2"),
        ("x^2 >= 4", "x <= -2 or x >= 2"),
        ("x^2 < 0", "no real solution"),
        ("x^2 >= 0", "every real x"),
        ("asin(1)", "pi/2"),
        ("1 < x + 1 <= 5", "0 < x <= 4"),
        ("What is the derivative of x^3 sin(x)?", "x^2*(x*cos(x) + 3*sin(x))"),
        ("Differentiate x^2 + 3x", "2*x + 3"),
        ("second derivative of x^4", "12*x^2"),
        ("d/dx of ln(x)", "1/x"),
        ("derivative of x^2 at x = 3", "6"),
        ("Integrate 2x from 0 to 3", "9"),
        ("integral of x^2 dx", "x^3/3 + C"),
        pytest.param("integrate e^(-x^2) from -infinity to infinity", "sqrt(pi)", marks=pytest.mark.slow),
        ("What is the limit of sin(x)/x as x approaches 0?", "1"),
        ("limit of 1/x as x approaches 0", "the limit does not exist"),
        ("limit of (1 + 1/n)^n as n approaches infinity", "e"),
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
        ("Solve ax^2 + c = 0 for x", "x = -sqrt(-c/a) or x = sqrt(-c/a)"),
        ("Find dy/dx of y = x^2", "2*x"),
        ("Is 10 divisible by 5?", "yes, 10 = 2 × 5"),
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
    ("query", "expected"),
    [
        ("What is the area of a circle with radius 5 cm?", "about 78.53982 cm^2"),
        ("Increase 80 kg by 15%", "92 kg"),
        ("Is 5 km greater than 3000 m?", "yes, 5 km > 3000 m"),
        ("1 Sept 2024 + 1 day", "2024-09-02 (Monday)"),
        ("What is 60 km/h * 2 h?", "120 km"),
        ("How many inches are in a foot?", "12 inches"),
        ("Convert 2.5 litres to millilitres", "2500 mL"),
        ("What is 30 m/s in km/h?", "108 km/h"),
        ("What is 10 km / 2 km?", "5"),
        ("What is 10 m / 2 s?", "5 m/s"),
        ("What is 3 m times 4 m?", "12 m^2"),
        ("What is the difference between 4 and 10?", "6"),
        ("How many months are in 5 years?", "60 months"),
        ("Convert 37 degrees Celsius to Fahrenheit", "98.6 °F"),
        ("2024-01-31 + 1 month", "2024-02-29 (Thursday)"),
        ("How many days from 1 January 2024 to 31 December 2024?", "365 days"),
        ("How many weeks are between 2024-01-01 and 2024-03-01?", "8 weeks and 4 days"),
        ("What day was July 20, 1969?", "Sunday"),
        ("What time is it 90 minutes after 11:15 pm?", "12:45 AM (1 day later)"),
        ("What is the percentage increase from 50 to 60?", "20 %"),
        ("What is three quarters of 80?", "60"),
        ("What is the sum of 3, 4 and 5?", "12"),
        ("What is 7 less than 20?", "13"),
        ("What is 20% more than 50?", "60"),
        ("What is 10 percent less than 50?", "45"),
        ("Solve x^2 = 4 now!", "x = -2 or x = 2"),
        ("Which is larger, 3/7 or 5/12?", "3/7"),
        ("Is 7 less than 20?", "yes, 7 < 20"),
        ("Round 2/3 to 2 decimal places", "0.67"),
        ("What is two hundred plus one?", "201"),
        ("What is log base 2 of 8?", "3"),
        ("cos 60°", "1/2"),
        ("How many primes are below 100?", "25"),
        ("How many ways can you arrange 4 books on a shelf?", "24"),
        ("A fair coin is tossed 5 times; what is the probability of exactly 3 heads?", "5/16 (31.25 %)"),
        ("What is the volume of a cylinder with radius 2 and height 5?", "about 62.83185"),
        ("What is the area of a rectangle with width 3 m and height 40 cm?", "1.2 m^2"),
        ("What is two thousand five hundred plus 1?", "2501"),
        ("What is the sum of 3 and 4 and 5 + 6?", "18"),
        ("Add 10% to 50", "55"),
        ("How many days are in a year?", "365 days (of 365 days); 366 days (of 366 days)"),
        ("I have 5 apples and eat 2 of them. How many apples do I have left?", "3"),
    ],
)
def test_an_everyday_question_gets_its_answer(query: str, expected: str) -> None:
    assert answer(query) == f"Answer: {expected}"


@pytest.mark.parametrize(
    "query",
    [
        "What is 15% of 80 and 20% of 50?",
        "What is 15% of 80 apples?",
        "What is the area of a circle with radius 5 and height 3?",
        "What is the area of a circle with radius 3 + 4?",
        "I have 5 apples and buy 3 pears. How many do I have?",
        "In how many ways can 6 people sit in a circle?",
        "What day of the week is 2024-02-30?",
        "What day of the week was 1 March 0099?",
        "What time is 13:15 pm + 1 hour?",
        "20°C + 5°C",
        "Compute 5!!",
        "What is 2+2 in binary?",
        "Evaluate 5x when x = 2 and x = 3",
        "Compute 2 * 50 and then add 10%",
        "What is the sum of half of 50 plus 3 and 2?",
        "derivative of x^2 at t = 3",
        "Tom has 10 apples and gives Ann 4. How many apples does she have?",
        "What is not 2+2?",
        "What is 5 km",
        "What is 5 km in kg?",
        "What is 5 km + 3 kg?",
    ],
)
def test_a_question_that_is_not_understood_whole_is_refused(query: str) -> None:
    assert lines(query) == [CANNOT]


def test_every_pattern_has_an_operation_and_a_meaning_that_is_understood() -> None:
    for operation, pattern, meaning in question._PATTERNS:
        parts = {**dict.fromkeys(pattern.groupindex, "2"), **dict.fromkeys(("f", "x"), "x")}
        assert operation in expert._WORKING
        meant = meaning.format(**parts)
        assert all(parse_statement(part) for part in meant.split("|") if meaning)


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "Prove that the sum of two even numbers is even",
        "",
        "   ",
        "A train leaves with 30 passengers, 12 get off at every stop; how many remain after two stops?",
        "Compute 12*12 - 44 and then divide the result",
        "Maximize x(10 - x)",
        "What is 5 km + 3 cups?",
        "Solve foo + c = 0",
        "Solve foo - c = 0",
        "Solve x = 2 * foo",
        "word " * 20_000,
        "1+" * 50_000,
    ],
)
def test_what_it_cannot_do_is_refused(query: str) -> None:
    assert lines(query) == [CANNOT]


@pytest.mark.parametrize(
    "query",
    [
        "10^100000!",
        "9^9^9^9",
        "1/0",
        pytest.param("Integrate x^x", marks=pytest.mark.slow),
        "What is 7 mod 0?",
    ],
)
def test_what_has_no_value_or_is_too_large_gets_a_reason_and_no_answer(query: str) -> None:
    found = lines(query)
    assert found[0].startswith("Read as: ")
    assert not found[-1].startswith("Answer:")
    assert len(found[-1]) > 20


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
    seen = (SeenStep(step=0, worker="mathematics", response="Answer: 391"),)
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
    plan = lines("If 3x + 2y = 12 and x - y = 1, what are x and y?", "Plan: name the unknowns, do not solve.")
    assert plan[:3] == [
        "Kind of problem: system of equations",
        "Unknowns: x, y",
        "Given: solve 3*x + 2*y = 12 and x - y = 1",
    ]
    assert plan[3].startswith("Method: ")
    assert len(plan) == 4


@pytest.mark.slow
def test_an_equation_without_a_method_is_unsolved() -> None:
    assert lines("Integrate x^x")[-1] == UNSOLVED
