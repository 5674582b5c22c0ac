"""The answer of a response is found where models write it, and two ways to write one answer compare equal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.text.final_answer import comparable, final_answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("Answer: 42", "42"),
        ("Some words.\nAnswer: 1\nNo, wait.\n**Answer:** 42", "42"),
        ("**Final answer: Paris.**", "Paris"),
        ("So we get \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
        ("\\boxed{1} and then \\boxed{2}", "2"),
        ("\\boxed{an open one, and\nAnswer: 3", "3"),
        ("The answer is 17.", "17"),
        ("First line\nParis", "Paris"),
        ("Computed.\nAnswer: 5/6 (not checked)", "5/6"),
        ("The answer is\n17", "17"),
        ("Paris\n\n", "Paris"),
        ("", ""),
        ("I looked.\nNo answer: I know nothing of that.", ""),
    ],
)
def test_the_answer_of_a_response_is_found(response: str, answer: str) -> None:
    assert final_answer(response) == answer


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "1000"),
        ("0.50", "1/2"),
        ("$12.00", "12"),
        ("25%", "25 %"),
        ("\\frac{3}{4}", "0.75"),
        ("-3", "\u22123".replace("\u2212", "-")),
        ("(B)", "b"),
        ("B) Paris", "B"),
        ("C. Rome", "(c)"),
        ("The Netherlands", "the netherlands."),
        ("**Paris**", "Paris"),
        ("\\text{east}", "East"),
        ("1e3", "1000"),
        ("\uff11\uff12", "12"),
    ],
)
def test_two_ways_to_write_an_answer_are_one(one: str, other: str) -> None:
    assert comparable(one) == comparable(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "10"), ("A", "B"), ("Paris", "Lyon"), ("1/2", "2"), ("12", "12 apples"), ("1/0", "1"), ("", "0")],
)
def test_different_answers_stay_different(one: str, other: str) -> None:
    assert comparable(one) != comparable(other)


@given(st.text(max_size=200))
def test_any_text_has_an_answer_on_one_line_that_can_be_compared(text: str) -> None:
    answer = final_answer(text)
    assert isinstance(comparable(answer), str)
    assert "\n" not in answer or "\\boxed" in text or "\\fbox" in text


@given(
    st.integers(-(10**20), 10**20), st.sampled_from(["{}", "{:,}", "{}.0", "${:,}", "**{}**", "{}.", " {} "])
)
def test_a_number_is_the_same_answer_however_it_is_written(number: int, form: str) -> None:
    assert comparable(form.format(number)) == str(number)


def test_a_number_of_a_thousand_digits_is_compared_as_text() -> None:
    assert comparable("9" * 1000) == "9" * 1000
