"""The checker's mathematics: right answers verified, wrong ones corrected, the rest passed on as such."""

import pytest

from conductor.workers.offline.mathematics.checker import NOTHING_ANSWERED, NOTHING_VISIBLE, check
from conductor.workers.offline.mathematics.expert import CANNOT, mathematics
from conductor.workers.offline.task import SeenStep, Task


def checked(
    query: str, *responses: str, instruction: str = "Check the result by an independent way."
) -> list[str]:
    seen = tuple(SeenStep(step=at, worker="m", response=response) for at, response in enumerate(responses))
    return list(check(Task(query=query, instruction=instruction, seen=seen)))


QUESTIONS = [
    ("What is 17 * 23?", "390"),
    ("What is 15% of 240?", "37"),
    ("sqrt(50)", "7"),
    ("2^100", "2"),
    ("Solve x^2 - 5x + 6 = 0", "x = 2 or x = 4"),
    ("Solve x^2 + 1 = 0", "x = 1"),
    ("If 3x + 2y = 12 and x - y = 1, what are x and y?", "x = 1, y = 0"),
    ("What is the derivative of x^3 sin(x)?", "3*x^2*cos(x)"),
    ("integral of x^2 dx", "x^3 + C"),
    ("Integrate 2x from 0 to 3", "8"),
    ("Factor 360", "2^3 * 3 * 5"),
    ("Factor x^2 - 5x + 6", "(x - 1)*(x - 6)"),
    ("Expand (x + 1)^3", "x^3 + 1"),
    ("sum of the first 100 integers", "5000"),
    ("Is 97 prime?", "no, 97 is not prime"),
    ("gcd(84, 126)", "21"),
    ("What is 7^100 mod 13?", "8"),
    ("x^2 < 4", "-2 < x < 3"),
    ("1 < x + 1 <= 5", "0 < x < 4"),
    ("|x| > 1", "x > 1"),
    ("product of k for k = 1 to 5", "121"),
    ("What is the sum of 1/k^2 from k = 1 to infinity?", "pi^2/5"),
    ("integral of sin(x) from 0 to pi", "1"),
    ("limit of (1 + 1/n)^n as n approaches infinity", "1"),
    ("How many divisors does 28 have?", "7"),
    ("What are the divisors of 28?", "1, 2, 7, 14, 28"),
    ("limit of sin(x)/x as x approaches 0", "0"),
    ("2x + 3 > 7", "x < 2"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("query", "wrong"), QUESTIONS)
def test_the_mathematics_experts_answer_is_verified_and_a_wrong_one_corrected(query: str, wrong: str) -> None:
    response = "\n".join(mathematics(Task(query=query, instruction="Solve.")))
    right = response.splitlines()[-1]
    verified = checked(query, response)
    assert verified[1].startswith("Verified: step 1 (m) answers ")
    assert verified[-1] == right
    corrected = checked(query, f"Answer: {wrong}")
    assert corrected[1].startswith(f"Correction: step 1 (m) answers {wrong}.")
    assert corrected[-1] == right


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "What is the 10th prime?",
        "x + 1 = x",
        "3^1000000000 mod 7",
        "Solve sin(x) = 1/2",
        "Taylor series of e^x around 0",
        "limit of 1/x as x approaches 0",
    ],
)
def test_an_answer_is_not_verified_by_the_computation_that_led_to_it(query: str) -> None:
    response = "\n".join(mathematics(Task(query=query, instruction="Solve.")))
    own = checked(query, response)
    right = response.splitlines()[-1]
    assert own[1].endswith("I know only the way in which it was computed.")
    assert own[-1] == f"{right} (not checked)"
    of_another = checked(query, f"I think so.\n{right}")
    assert of_another[1].startswith("Verified: ")
    assert of_another[1].endswith("Computed by rules, it is the same.")


def test_a_missing_root_is_named() -> None:
    assert checked("Solve x^2 - 5x + 6 = 0", "Answer: x = 2") == [
        "Question: solve x^2 - 5*x + 6 = 0",
        "Correction: step 1 (m) answers x = 2. It leaves out x = 3. The right answer is x = 2 or x = 3.",
        "Answer: x = 2 or x = 3",
    ]


def test_the_right_one_of_two_answers_is_passed_on() -> None:
    assert checked("17 * 23", "Answer: 391", "Answer: 401")[-1] == "Answer: 391"


@pytest.mark.parametrize("answer", ["The answer is 391.", "**Answer:** 391", "17 * 23 = 391"])
def test_an_answer_in_prose_is_understood(answer: str) -> None:
    assert checked("What is 17 * 23?", answer)[1].startswith("Verified")


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Solve x^5 - x - 1 = 0", None),
        ("Solve 3x = 1", "x = 0.33333333"),
        ("third derivative of sin(x)", "-cos(x)"),
        ("derivative of x^2 at x = 3", "6"),
        ("sum of 1/k for k = 1 to 3", "11/6"),
    ],
)
def test_an_answer_is_verified_by_numbers(query: str, answer: str | None) -> None:
    given = answer or list(mathematics(Task(query=query, instruction="Solve.")))[-1].removeprefix("Answer: ")
    assert checked(query, f"Answer: {given}")[1].startswith("Verified: ")


@pytest.mark.parametrize(
    ("query", "answer", "verdict"),
    [
        ("limit of sin(x)/x as x approaches 0", "10", "Correction"),
        ("What are the divisors of 4?", "1, 2, 4, 8", "Correction"),
        ("What is 17 * 23?", "It is 391, not 390", "Not checked"),
        ("What is 17 * 23?", "391 apples", "Not checked"),
        ("What is 17 * 23?", "401 apples", "Correction"),
        ("Solve 3x = 1", "x = 0.3333", "Correction"),
        pytest.param("Integrate 1/x from 0 to 1", "infinity", "Not checked", marks=pytest.mark.slow),
    ],
)
def test_an_answer_that_holds_the_right_one_beside_more_is_not_verified(
    query: str, answer: str, verdict: str
) -> None:
    assert checked(query, f"Answer: {answer}")[1].startswith(f"{verdict}: step 1 (m) answers {answer}.")


def test_without_an_answer_to_see_there_is_nothing_to_check() -> None:
    assert checked("What is 17 * 23?") == [NOTHING_VISIBLE]


def test_seen_steps_that_answer_nothing_differ_from_seeing_none() -> None:
    plan = "Kind of problem: calculation\nMethod: evaluate it."
    assert checked("What is 17 * 23?", plan) == [NOTHING_ANSWERED]
    assert checked("What is 17 * 23?", CANNOT, f"Read as: x\n{CANNOT}") == [CANNOT]


def test_what_it_cannot_check_is_passed_on_and_marked() -> None:
    lines = checked("Write a poem about rain", "Answer: drip drop")
    assert lines[0].startswith("I am the built-in checker, not a language model")
    assert lines[1] == "Answer: drip drop (not checked)"


def test_a_claim_in_the_instruction_is_what_is_checked() -> None:
    lines = checked("anything", "Answer: yes", instruction="Check that 17 * 23 = 391")
    assert lines[0] == "Question: is it true that 17*23 = 391"
    assert lines[1].startswith("Verified")
