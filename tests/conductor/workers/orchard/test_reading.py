"""A question of the orchard is read in any wording, and no other text is."""

from __future__ import annotations

import random

import pytest

from conductor.orchard import draw_slots, question
from conductor.workers.orchard.families import Family, wordings
from conductor.workers.orchard.reading import reading


@pytest.mark.parametrize(
    ("text", "family", "answer"),
    [
        ("How many letters are in the capital of Peru?", "capital-letters", "4"),
        ("letters in the capital of France?", "capital-letters", "5"),
        ("Letters in Peru's capital, please", "capital-letters", "4"),
        ("Tell me the number of letters in Egypt's capital.", "capital-letters", "5"),
        ("How long is the name of the capital of Italy?", "capital-letters", "4"),
        ("If I spell the capital of Cuba, how many letters is that?", "capital-letters", "6"),
        ("Count the letters of the capitals of Peru and Chad together.", "two-capitals", "12"),
        ("Peru and Chad: add the letters of their capitals", "two-capitals", "12"),
        ("Sum of the letters of the capitals of Italy and Spain", "two-capitals", "10"),
        ("Count the letters in the capital of Peru and the capital of Chad", "two-capitals", "12"),
        ("What's the capital of Kenya?", "fact", "Nairobi"),
        ("capital of Norway", "fact", "Oslo"),
        ("France: capital?", "fact", "Paris"),
        ("Which currency do people use in Japan?", "fact", "Japanese yen"),
        ("What money do they use in Peru?", "fact", "Peruvian sol"),
        ("Which continent does Ghana belong to?", "fact", "Africa"),
        ("What is the currency of the country with capital Lima?", "hop", "Peruvian sol"),
        ("What continent is Lima on?", "hop", "South America"),
        ("how many letters in the word orchestra", "word", "9"),
        ("Number of letters in 'lantern'?", "word", "7"),
        ('How many letters does "Harbour" have?', "word", "7"),
        ("How many letters does harbour have?", "word", "7"),
        ("the number of letters in 'violin' times 3 plus 5", "letters-sum", "23"),
        ("How many letters has the capital of Peru times 3 plus 4?", "capital-letters-sum", "16"),
        ("12 times 7 plus 30", "sum", "114"),
        ("What is 30 plus 12 * 7?", "sum", "114"),
        ("12 x 7 + 30", "sum", "114"),
        ("Add 30 to 12 times 7", "sum", "114"),
        ("Multiply 12 by 7, then add 30.", "sum", "114"),
        ("Take 12, multiply it by 7 and add 30", "sum", "114"),
        ("Multiply the letters of the capital of Peru by 3 and add 4", "capital-letters-sum", "16"),
        ("How much is 12×7+30?", "sum", "114"),
        ("3x4 + 5*6-7", "long-sum", "35"),
        ("What's the length of the name of Peru's capital?", "capital-letters", "4"),
        ("Compute 3 times 4 plus 5 times 6 minus 7.", "long-sum", "35"),
        ("What is 12 times 7 plus 30 times 4 minus 9?", "long-sum", "195"),
        ("3 times 4 minus 7 plus 5 times 6, please", "long-sum", "35"),
    ],
)
def test_a_question_is_read_in_free_wording(text: str, family: Family, answer: str) -> None:
    read = reading(text)
    assert read is not None
    assert (read.family, read.answer) == (family, answer)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is 2 + 2?",
        "12 times 7 minus 30",
        "What is the capital of Atlantis?",
        "What is the river of France?",
        "What is the capital and the currency of Peru?",
        "Which is larger, Peru or Chad?",
        "How many letters are in the capital?",
        "How many letters have the capitals of Peru, Chad and Cuba?",
        "How many letters does it have?",
        "Lima and Paris: which currency?",
        "the capital of France " * 20,
    ],
)
def test_any_other_text_is_none(text: str) -> None:
    assert reading(text) is None


def test_every_wording_of_every_family_is_read_with_its_answer() -> None:
    rng = random.Random(5)
    for family, forms in wordings().items():
        for wording in forms:
            task = question(wording, family, draw_slots(rng, family))
            read = reading(task.text)
            assert read is not None, task.text
            assert (read.family, read.answer) == (family, task.answer), task.text
