"""The calculator computes what is a calculation, declines the rest, and is bounded in time and memory."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.errors import FormatError, QueryError
from conductor.values.messages import Completion, Message, Part, Request
from conductor.workers.calculator.calculator_worker import Calculator, calculation, is_calculation
from conductor.workers.calculator.formula import MAX_CHARACTERS, value_of
from tests.support.cases.property_cases import cases
from tests.support.cases.reading_work import patience


def request(query: str, instruction: str = "Answer the question.", *seen: str) -> Request:
    responses = [Part("response", text, step, "alpha") for step, text in enumerate(seen)]
    parts = (Part("query", query), *responses, Part("instruction", instruction))
    return Request(messages=(Message(role="user", parts=parts),))


async def answer(sent: Request) -> Completion:
    *_, last = [item async for item in Calculator().stream(sent)]
    assert isinstance(last, Completion)
    return last


def result(text: str) -> str | None:
    lines = calculation(text)
    return None if lines is None else lines[-1].removeprefix("Answer: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is 17 * 23?", "391"),
        ("Calculate 17 × 23 and show your working.", "391"),
        ("Please tell me the value of 2(3 + 4)^2", "98"),
        ("-2^2", "-4"),
        ("2e-4 * 3", "0.0006"),
        ("e-1 + 2", "3.718281828"),
        ("100 C in F?", "212 degF"),
        ("20 F to K", "266.4833333 degK"),
        ("2^-3", "0.125"),
        ("2^3^2", "512"),
        ("1/3 + 1/6", "0.5"),
        ("1/3 + 1/3", "2/3"),
        ("0.1 + 0.2", "0.3"),
        ("5!/3!", "20"),
        ("|2 - 7|", "5"),
        ("17 % 5", "2"),
        ("7 mod 3", "1"),
        ("15% + 1", "1.15"),
        ("What is 15% of 240?", "36"),
        ("80 plus 15%", "92"),
        ("20 percent off 80", "64"),
        ("What percentage of 80 is 12?", "15"),
        ("1,250 * 4", "5000"),
        ("What is 3/4 of 20?", "15"),
        ("half of 50", "25"),
        ("square root of 144", "12"),
        ("sqrt(50)", "7.071067812"),
        ("cube root of 27", "3"),
        ("sin 30°", "0.5"),
        ("log(8, 2)", "3"),
        ("gcd(12, 18) + lcm(4, 6)", "18"),
        ("the average of 3, 4 and 8", "5"),
        ("Add 5 to 7", "12"),
        ("3 to the power of 4", "81"),
        ("1^99999999999", "1"),
        ("(" * 498 + "1+1" + ")" * 498, "2"),
        ("-" * 900 + "1 + 2", "3"),
        ("How many km are in 5 miles?", "8.04672 km"),
        ("How many F are in 100 C?", "212 degF"),
        ("convert 100 degrees Fahrenheit to Celsius", "37.77777778 Celsius"),
        ("90 km/h in m/s", "25 m/s"),
        ("How many seconds are there in a day?", "86400 seconds"),
        ("5 square feet in square metres", "0.4645152 metres^2"),
        ("How many days are between 2024-01-01 and 2024-03-01?", "60 days"),
        ("How many weeks are from 1 March 2024 to March 15, 2024?", "2 weeks"),
        ("What date is 90 days after 2024-01-15?", "2024-04-14"),
        ("3 months before May 31st, 2024", "2024-02-29"),
        ("What day of the week was 4 July 1776?", "Thursday"),
    ],
)
def test_a_calculation_has_an_exact_result(text: str, expected: str) -> None:
    assert result(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Who wrote Faust?",
        "42",
        "What is the capital of France?",
        "A train has 3 * 4 wagons.",
        "Solve 3x + 2y = 12",
        "On 2024-05-06 I met 3 friends",
        "Who was born on 4 July 1776?",
        "How many friends are in 5 miles?",
        "5 cats in mice",
        "What is COVID-19?",
        "sqrt",
        "",
    ],
)
def test_what_is_no_calculation_as_a_whole_is_none(text: str) -> None:
    assert calculation(text) is None
    assert not is_calculation(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1/0", "divides by 0"),
        ("5 mod 0", "divides by 0"),
        ("0^-1", "divides by 0"),
        ("sqrt(-4)", "sqrt has no value"),
        ("ln(0)", "ln has no value"),
        ("2.5!", "factorial has no value"),
        ("2 +", "not a complete formula"),
        ("(1", "not a complete formula"),
        ("1e-999999999 * 2", "not a complete formula"),
        ("2e1000 + 1", "not a complete formula"),
        ("5 C in kWh", "measure different things"),
        ("5 kg in miles", "measure different things"),
        ("2024-02-30 plus 1 day", "no such day"),
        ("9999-12-31 plus 1 day", "no such day"),
    ],
)
def test_a_calculation_without_a_result_names_its_fault(text: str, reason: str) -> None:
    assert is_calculation(text)
    with pytest.raises(FormatError, match=reason):
        calculation(text)


@pytest.mark.parametrize(
    ("text", "about"),
    [("10^900/3", "3.333333333e+899"), ("1/3^600", "5.336385165e-287"), ("1/3^900", "3.898259557e-430")],
)
def test_a_fraction_is_a_decimal_also_beyond_any_float(text: str, about: str) -> None:
    assert f"As a decimal: about {about}" in calculation(text)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9",
        "10^100000!",
        "2^" * 151 + "2",
        "(1/3)^99999999",
        "99999!",
        "1e999^1e999",
        "1e999 * 1e999",
        "exp(10^6)",
        "exp(700) * exp(700)",
    ],
)
def test_absurd_sizes_are_refused_before_anything_is_computed(text: str) -> None:
    with patience(), pytest.raises(QueryError, match="more than 1,000 digits"):
        calculation(text)


@pytest.mark.parametrize("text", ["(" * 900 + "1+1" + ")" * 900, "1+" * 900 + "1", "9" * 999 + " * 2"])
def test_a_formula_that_is_long_without_end_is_refused(text: str) -> None:
    with patience(), pytest.raises(FormatError, match="over 1,000 signs"):
        calculation(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch pwned')",
        "().__class__.__bases__[0].__subclasses__()",
        "eval(input())",
        "[x for x in (1,)]",
        "lambda: 0",
        "1 + exec('1')",
    ],
)
def test_code_is_no_calculation(text: str) -> None:
    assert calculation(text) is None
    with pytest.raises(FormatError):
        value_of(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "repeated",
    ["1", "1.", "1 ", "- ", "the ", "what is ", "root of ", "half of ", "5 km ", "1 and ", "12:", "(", "?",
     "!", "% of ", "1% ", "3! ", "x", "3x", "and show ", "2024-01-01 ", "1 day ", "mean of 1, ", "km/"],
)  # fmt: skip
def test_a_hostile_question_is_read_to_its_end(repeated: str) -> None:
    for length in (200, MAX_CHARACTERS, 50_000):
        with patience():
            is_calculation((repeated * length)[:length])


def expressions() -> st.SearchStrategy[str]:
    numbers = st.integers(0, 999).map(str)
    signs = st.sampled_from([" + ", " - ", "*"])
    return st.recursive(
        numbers,
        lambda inner: st.one_of(
            st.tuples(inner, signs, inner).map(lambda parts: f"({''.join(parts)})"),
            st.tuples(inner, signs, inner).map("".join),
            inner.map(lambda text: f"-({text})"),
            st.tuples(st.integers(0, 20), st.integers(0, 5)).map(lambda two: f"{two[0]}**{two[1]}"),
        ),
        max_leaves=12,
    )


@given(expressions())
@cases(80)
def test_integer_arithmetic_equals_pythons(text: str) -> None:
    assert value_of(text) == eval(text)


@pytest.mark.slow
@given(st.text(alphabet="0123456789.+-*/^!%°|(), aeginopqrst", max_size=60))
@cases(200)
def test_any_text_is_computed_refused_or_no_calculation(text: str) -> None:
    with suppress(FormatError, QueryError):
        assert calculation(text) is None or result(text)


@pytest.mark.parametrize(
    ("sent", "text", "finish"),
    [
        (request("What is 17 * 23?"), "17 * 23 = 391\nAnswer: 391", "stop"),
        (request("Who?", "Compute 3 * 4."), "3 * 4 = 12\nAnswer: 12", "stop"),
        (request("2/3"), "2/3 = 2/3\nAs a decimal: about 0.6666666667\nAnswer: 2/3", "stop"),
        (request("Who?", "Multiply the previous result by 3", "So.\nAnswer: -7"), "Answer: -21", "stop"),
        (request("Who wrote Faust?"), "No answer: I am a calculator", "refused"),
        (request("1/0"), "No answer: This divides by 0", "refused"),
        (request("9^9^9"), "No answer: A number would have", "refused"),
    ],
)
async def test_the_worker_answers_the_instruction_else_the_query_or_declines(
    sent: Request, text: str, finish: str
) -> None:
    completion = await answer(sent)
    assert text in completion.text
    assert completion.finish_reason == finish
    assert completion.usage.total is None


def test_the_card_shows_that_no_model_answers() -> None:
    card = Calculator("sums").card
    assert (card.name, card.kind, card.model) == ("sums", "offline", "calculator")
