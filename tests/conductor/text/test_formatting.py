"""Amounts as people read them."""

from __future__ import annotations

import pytest

from conductor.text.formatting import (
    dollars,
    duration,
    named,
    p_value,
    percent,
    quantity,
    size,
    steps_of_numbers,
    tokens,
)


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (None, "-"),
        (0.0, "$0.00"),
        (0.00001, "<$0.0001"),
        (0.0042, "$0.0042"),
        (1.5, "$1.50"),
        (1234.5, "$1,234.50"),
    ],
)
def test_costs_are_dollars_and_unknown_is_no_zero(cost: float | None, text: str) -> None:
    assert dollars(cost) == text


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([3], "step 3"),
        ([1, 2], "steps 1, 2"),
        ([1, 3], "steps 1, 3"),
        ([1, 2, 3], "steps 1 to 3"),
        ([*range(1, 13), 14], "steps 1 to 12, 14"),
        ([2, *range(4, 1_000), 1_002, 1_003], "steps 2, 4 to 999, 1002, 1003"),
    ],
)
def test_many_steps_are_named_by_where_they_begin_and_end(numbers: list[int], text: str) -> None:
    assert steps_of_numbers(numbers) == text


def test_numbers_have_their_noun() -> None:
    assert (tokens(None), tokens(1), tokens(1240)) == ("- tokens", "1 token", "1,240 tokens")
    assert quantity(2, "step") == "2 steps"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "a"),
        (list("abcdef"), "a, b, c, d, e, f"),
        (list("abcdefgh"), "a, b, c, d, e, f and 2 more"),
        (["a\n b", "x" * 100], f"a b, {'x' * 60}"),
    ],
)
def test_of_many_names_the_first_are_listed(names: list[str], text: str) -> None:
    assert named(names) == text


@pytest.mark.parametrize(
    ("bytes", "text"), [(1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (12_400_000, "12.4 MB")]
)
def test_room_is_shown_in_the_unit_that_fits(bytes: int, text: str) -> None:
    assert size(bytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.0, "<1 ms"), (0.042, "42 ms"), (1.0, "1.0 s"), (99.94, "99.9 s"), (150.0, "2.5 min")],
)
def test_time_is_shown_in_the_unit_that_fits(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("part", "text"), [(0, "0%"), (0.001, "<1%"), (0.5, "50%"), (0.999, ">99%"), (1, "100%")]
)
def test_what_is_there_is_never_shown_as_nothing_and_most_never_as_all(part: float, text: str) -> None:
    assert percent(part) == text


@pytest.mark.parametrize(
    ("p", "text"), [(0.0, "<0.001"), (0.0009, "<0.001"), (0.001, "0.001"), (1.0, "1.000")]
)
def test_a_p_is_never_0(p, text):
    assert p_value(p) == text
