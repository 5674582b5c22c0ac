"""Words are found in every text of a session, each text once, with what stands around them."""

from __future__ import annotations

import pytest

from conductor.runs.step_state import StepState
from conductor.values.messages import Message, Part, Request
from conductor.workflow.model import Step
from studio.sessions.words import (
    AFTER,
    BEFORE,
    LONGEST,
    MOST,
    MOST_IN_A_TEXT,
    SessionText,
    find_words,
    texts_of,
)

STEPS = [Step(instruction="Find the river.", worker="w"), Step(instruction="Check.", worker="w", access=(0,))]


def sent(*texts: str) -> Request:
    return Request(messages=(Message("user", tuple(Part("frame", text) for text in texts)),))


STATES = [
    StepState(
        text="The Nile\n is long.", reasoning="Or the Amazon?", request=sent("Which one?", "Find the river.")
    ),
    StepState(text="Right <b>.", request=sent("Which one?", "The Nile\n is long.", "Check.")),
]


@pytest.mark.parametrize(
    ("words", "places"),
    [
        ("nile is", [("output", 0, 4)]),
        ("AMAZON", [("reasoning", 0, 7)]),
        ("the river", [("instruction", 0, 5)]),
        ("which", [("request", 0, 0)]),
        ("<b>", [("output", 1, 6)]),
        (".*", []),
        ("  ", []),
        ("", []),
        ("x" * (LONGEST + 9), []),
    ],
)
def test_words_are_found_whatever_their_case_and_each_text_once(
    words: str, places: list[tuple[str, int, int]]
) -> None:
    matches = find_words(texts_of(STEPS, STATES), words)
    assert [(place.text.part, place.text.step, place.start) for place in matches] == places


def test_what_stands_around_the_words_is_one_line_that_is_cut_at_both_ends() -> None:
    text = f"{'before ' * 40}\nthe  words\n{' after' * 40}"
    (place,) = find_words([SessionText(text, "output", 0)], "The words")
    assert place.words == "the words"
    assert place.before.startswith("…")
    assert place.before.endswith("before ")
    assert place.after.startswith(" after")
    assert place.after.endswith("…")
    assert len(place.before) <= BEFORE + 2
    assert len(place.after) <= AFTER + 2
    assert place.near == pytest.approx(280 / len(text), abs=0.01)


def test_the_place_in_a_request_counts_the_pieces_before_it() -> None:
    (place,) = find_words(texts_of(STEPS[:1], [StepState(request=sent("a" * 90, "here" + "b" * 6))]), "here")
    assert place.near == pytest.approx(0.9)


def test_there_is_an_end_to_what_is_found() -> None:
    texts = [SessionText(f"{at} a a a a", "output", at) for at in range(MOST)]
    matches = find_words(texts, "a")
    assert len(matches) == MOST
    assert [place.text.step for place in matches[: MOST_IN_A_TEXT + 1]] == [0] * MOST_IN_A_TEXT + [1]
