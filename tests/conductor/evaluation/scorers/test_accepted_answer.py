"""An accepted answer is compared by the scorers of evaluations, and refused if no answer could be right."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conductor.errors import DataError
from conductor.evaluation.items import Item
from conductor.evaluation.scorers.accepted_answer import accepted_of, check_accepted, score_answer
from conductor.values.accepted import Accepted


@pytest.mark.parametrize(
    ("answer", "target", "right"),
    [
        ("It is **Paris**, of course.", "paris", True),
        ("Parisian ways", "paris", False),
        ("It is 1,391.", "1391", True),
        ("It is 391 or so", "391", True),
        ("It is 3910", "391", False),
        ("It is 39.1", "39", False),
        ("It is 0.391", "391", False),
        ("It is -391", "391", False),
        ("The  Rhine\nand the Rhone", "rhine and the rhone", True),
        ("No answer: Paris is not known here.", "Paris", False),
        ("", "Paris", False),
    ],
)
def test_an_answer_contains_the_target_as_whole_words(answer: str, target: str, *, right: bool) -> None:
    assert asyncio.run(score_answer(answer, Accepted(target=(target,)))).right == right


@pytest.mark.parametrize(
    ("accepted", "answer", "right"),
    [
        ({"target": ("391", "392"), "check": "number"}, "392 m", True),
        ({"target": ("Paris",), "check": "exact"}, "It is Paris, in France.", False),
        ({"target": ("B",), "check": "choice", "choices": ("Lyon", "Paris")}, "Answer: Paris", True),
        ({"target": ("100",), "check": "flexible"}, "Answer: 100.5", True),
    ],
)
def test_each_check_is_the_scorer_of_that_name(accepted: Any, answer: str, *, right: bool) -> None:
    assert asyncio.run(score_answer(answer, Accepted.model_validate(accepted))).right == right


@pytest.mark.parametrize(
    "accepted",
    [
        Accepted(target=("Paris",), check="number"),
        Accepted(target=("391", "Paris"), check="number"),
        Accepted(target=("Paris",), check="choice"),
        Accepted(target=("two\nlines",), check="exact"),
    ],
)
def test_an_accepted_answer_that_no_answer_equals_is_refused(accepted: Accepted) -> None:
    with pytest.raises(DataError, match="No answer can be"):
        asyncio.run(check_accepted(accepted))


@pytest.mark.thorough
@pytest.mark.slow
def test_an_accepted_formula_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(DataError, match="cannot be read as mathematics"):
        asyncio.run(check_accepted(Accepted(target=("(((",), check="mathematics")))
    asyncio.run(check_accepted(Accepted(target=("x^2 + 1",), check="mathematics")))


def test_an_accepted_answer_is_not_blank() -> None:
    with pytest.raises(ValueError, match="at least 1 character"):
        Accepted(target=(" ",))


def test_an_item_gives_what_is_right_where_a_comparison_shows_it() -> None:
    item = Item(id="1", input="Which?", target=("A",), choices=("Paris", "Lyon"))
    assert accepted_of(item) == Accepted(target=("A",), check="choice", choices=("Paris", "Lyon"))
    judged = item.model_copy(update={"scorer": "judge"})
    assert accepted_of(judged) is None
