"""Bounds hold for every way in which the answers that are missing could have turned out."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.evaluation.known_answers import Answers, Differences, shares_of
from conductor.evaluation.statistics import ALPHA, paired_difference, possible_signs, with_holm

MOST_MISSING = 5
MARGIN = 0.2

ByPlace = dict[tuple[str, int, int], bool]


@st.composite
def partly_answered(draw: st.DrawFn) -> tuple[ByPlace, list[tuple[str, int, int]]]:
    """The answers of three planners to some questions, and which of them are missing."""
    repeats, questions = draw(st.sampled_from([1, 1, 3])), draw(st.integers(1, 12))
    chances = [draw(st.sampled_from([0, 1, 2, 3, 4])) for _ in range(3)]
    answers = {
        (planner, item, repeat): draw(st.integers(0, 3)) < chance
        for planner, chance in zip("abc", chances, strict=True)
        for item in range(questions)
        for repeat in range(repeats)
    }
    missing = draw(st.lists(st.sampled_from(sorted(answers)), min_size=1, max_size=MOST_MISSING, unique=True))
    return answers, missing


def by_planner(answers: ByPlace) -> dict[str, Answers]:
    by_name: dict[str, dict[int, dict[int, bool]]] = {planner: {} for planner in "abc"}
    for (planner, item, repeat), right in answers.items():
        by_name[planner].setdefault(item, {})[repeat] = right
    return dict(by_name)


@given(partly_answered())
def test_no_completion_has_a_verdict_that_the_bounds_rule_out(
    case: tuple[ByPlace, list[tuple[str, int, int]]],
) -> None:
    answers, missing = case
    by_name = by_planner({place: right for place, right in answers.items() if place not in missing})
    places = {
        planner: [(item, repeat) for name, item, repeat in missing if name == planner] for planner in "abc"
    }
    bounds = [each for each in Differences(by_name).bounds(places) if each is not None]
    assert len(bounds) == 2
    possible = possible_signs(bounds)
    for verdicts in product([False, True], repeat=len(missing)):
        whole = by_planner({**answers, **dict(zip(missing, verdicts, strict=True))})
        first = shares_of(whole["a"])
        differences = with_holm([paired_difference(shares_of(whole[name]), first) for name in "bc"])
        for difference, signs, (low, high) in zip(differences, possible, bounds, strict=True):
            assert difference is not None
            sign = (difference.difference > 0) - (difference.difference < 0)
            assert (sign if difference.read_p < ALPHA else 0) in signs
            assert low.difference - 1e-9 <= difference.difference <= high.difference + 1e-9
            assert low.interval.low - 1e-9 <= difference.interval.low <= high.interval.low + 1e-9
            assert low.interval.high - 1e-9 <= difference.interval.high <= high.interval.high + 1e-9


@pytest.mark.parametrize(
    ("missing", "signs"), [(0, {1}), (6, {1}), (7, {0, 1}), (12, {0, 1}), (39, {0, 1}), (40, {-1, 0, 1})]
)
def test_a_verdict_is_certain_until_so_much_is_missing_that_it_could_be_another(
    missing: int, signs: set[int]
) -> None:
    """Of 40 questions the second is right on the first 34, the first only on those from the 13th to the 34th:
    six questions in favour of one are the fewest that are significant.
    """
    first = {at: {0: 12 <= at < 34} for at in range(missing, 40)}
    second = {at: {0: at < 34} for at in range(40)}
    (bounds,) = Differences({"a": first, "b": second}).bounds(
        {"a": [(at, 0) for at in range(missing)], "b": []}
    )
    assert bounds is not None
    assert possible_signs([bounds]) == (frozenset(signs),)


def test_nothing_that_is_missing_leaves_one_verdict() -> None:
    by_name = {"a": {at: {0: False} for at in range(6)}, "b": {at: {0: True} for at in range(6)}}
    (bounds,) = Differences(by_name).bounds({"a": [], "b": []})
    assert bounds is not None
    assert bounds[0] == bounds[1]
    assert possible_signs([bounds, bounds]) == (frozenset({0}), frozenset({0})), "two as strict as one"
    assert possible_signs([bounds]) == (frozenset({1}),)
