"""An answer is read in a text as a whole word, a whole number or a choice's letter, and as nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conductor.evaluation.items import Item
from conductor.evaluation.scorers.text import choice, contains, exact, flexible, number
from conductor.text.equality.choice import choices_in

Pairs = Sequence[tuple[str, str]]

APART: Pairs = (
    ("17", "1"), ("117", "17"), ("accurate", "rat"), ("-5", "5"), ("5.5", "5"), ("5%", "5"), ("5 %", "5"),
    ("0.5", "5"),
    ("1,500", "500"), ("1,500", "1"), ("1 500", "500"), ("5!", "5"), ("5^2", "5"), ("2^5", "5"),
    ("5/6", "5"), ("5/6", "6"),
    ("5:30", "5"), ("v5", "5"), ("CO2", "2"), ("COVID-19", "19"), ("5e3", "5"), ("3 × 10^5", "3"),
    ("> 5", "5"), ("≤ 5", "5"),
    ("±5", "5"), ("√5", "5"), ("at least 5", "5"), ("5 million", "5"), ("minus 5", "5"), ("5 ± 0.1", "5"),
    ("5, not 6", "6"),
    ("C++", "C"), ("C#", "C"), ("A+", "A"), ("A. Smith", "A"), ("A dog", "A"), ("a dog", "A"),
    ("I know", "I"), ("f(x)", "f"),
    ("f'", "f"), ("25 °C", "C"), ("n!", "n"), ("|x|", "x"), ("-x", "x"), ("¬p", "p"),
    ("J. K. Rowling", "K"), ("X-ray", "X"),
    ("re-sign", "sign"), ("co-op", "op"), ("non-toxic", "toxic"), ("sugar-free", "sugar"),
    ("asp.net", "net"), (".NET", "NET"),
    ("node.js", "js"), ("km/h", "km"), ("5 km/h", "5 km"), ("5 m²", "5 m"), ("5 mW", "5 MW"), ("€5", "$5"),
    ("5 km", "5 m"),
    ("can't", "can"), ("not Paris", "Paris"), ("not the Nile", "Nile"), ("It isn't Paris", "Paris"),
    ("never Paris", "Paris"),
    ("neither Paris", "Paris"), ("no rain", "rain"), ("without sugar", "sugar"), ("not 5", "5"),
    ("*args", "args"),
    ("snake_case", "snake"), ("me@paris.org", "paris"), ("Paris/Lyon", "Paris"), ("résumé", "resum"),
    ("5", "5%"), ("5", "5 km"),
)  # fmt: skip
"""A text that does not contain the answer, though its characters stand there."""

WITHIN: Pairs = (
    ("It is 17.", "17"), ("17 km", "17"), ("It costs $5.", "5"), ("It costs 5.", "$5"),
    ("1,391 of them", "1391"),
    ("- 5 apples\n- 6 pears", "5"), ("| sum | 42 |", "42"), ("2 + 3 = 5", "5"), ("x=5", "5"),
    ("I am 5 years old", "5"),
    ("5 kilometers away", "5 km"), ("It is 0.5", "1/2"), ("It is not 4 but 5", "5"),
    ("the \"Paris\" of old", "Paris"),
    ("Paris's towers", "Paris"), ("Paris, France", "Paris"), ("Vitamin A.", "A"), ("The answer is A", "A"),
    ("(B)", "B"),
    ("It is in **Paris**", "the Paris"), ("It is B. This is known.", "B"), ("not Lyon but Paris", "Paris"),
    ("l'Italie", "Italie"),
    ("We use C++ here", "C++"), ("It is a C# program", "C#"), ("about 17%", "17 %"),
    ("He is A. Smith", "A. Smith"),
    ("In the U.S. today", "U.S."), ("It is (1, 2].", "(1, 2]"), ("J.K. Rowling wrote it", "J. K. Rowling"),
    ("a 391-page book", "391"),
    ("Total - 42", "42"),
)  # fmt: skip

NUMBERS: Sequence[tuple[str, str | None]] = (
    ("42 apples", "42"), ("x = -3", "-3"), ("She has 5 left - that is all", "5"), ("the 5th", "5"),
    ("$18!", "18"), ("minus 5", "-5"),
    ("negative $5", "-5"), ("10 minus 5", None), ("x minus 5", None), ("x + 5", None), ("5 + x", None),
    ("5/x", None), ("5 /day", "5"),
    ("F-16", None), ("v5", None), ("0x10", None), ("x^5", None), ("10^x", None), ("(1,234)", None),
    ("[5]", "5"), ("5 (mod 7)", None),
    ("about 5", "5"), ("≈ 5", "5"), ("5 ± 1", None), ("a = 2 and b = 3", None), ("2 + 2 = 3 + 1 = 4", "4"),
    ("it is 3 or it is 4", None),
    ("5 is wrong", None), ("It is not 4, it is 5", "5"), ("never 5", None), ("5 or so", "5"),
    ("5 squared", None), ("16B", None),
    ("5 a day", "5"), ("5 x", None), ("twice 5", None), ("log 5", None), ("\\sqrt{5}", None),
    ("5\\pi", None), ("2'5", None),
    ("!5", None), ("Sure! 5", "5"), ("5-", None), ("1990s", None), ("'90s", None), ("0.3\u0305", None),
    ("5 below zero", None), ("5 s", "5"),
    ("42 - a fine number", "42"), ("42 - x", None), ("42 (forty-two)", "42"), ("5 metres squared", "5"),
    ("5 or more", None),
)  # fmt: skip
"""Answers and the one number that they hold, if any."""

AUTHORS = ("Rowling", "Tolkien", "Orwell", "C. S. Lewis")

CHOICES: Sequence[tuple[Sequence[str], str, str]] = (
    *((AUTHORS, answer, "B") for answer in (
        "B", "(B)", "B.", "b", "B) Tolkien", "(B) Tolkien", "B. Tolkien", "B: Tolkien", "B - Tolkien",
        "B Tolkien", "B (Tolkien)",
        "**B**", "\\boxed{B}", "Tolkien", "tolkien.", "Option B", "B. Tolkien wrote it in 1937",
        "B. This follows from the text.",
        "It is Tolkien (B).", "B, since it is old", "B (not A)", "[B]", "B!",
    )),
    *((AUTHORS, answer, "") for answer in (
        "B. King", "B) Smith", "B) Orwell", "B. Orwell", "B: the Beginning", "B (Orwell)", "J. K. Rowling",
        "J. R. R. Tolkien",
        "A. E. Housman", "E. coli", "B++", "B'", "-B", "B-", "not B", "not (B)", "B minor", "C major",
        "D. H. Lawrence", "B+", "¬B",
        "a good one", "E", "Vitamin B",
    )),
    *((AUTHORS, answer, "D") for answer in ("C. S. Lewis", "C.S. Lewis", "D. C. S. Lewis", "D) C. S. Lewis")),
    *((("A+", "A-", "B+", "O-"), answer, letter) for answer, letter in (("A+", "A"), ("A-", "B"),
    ("B+", "C"), ("B", "B"))),
    *((("C++", "C", "Java", "C#"), answer, letter) for answer, letter in (("C++", "A"), ("C#", "D"),
    ("B) C", "B"))),
    *((("5 km", "5 m", "$5", "€5"), answer, letter)
      for answer, letter in (("5 m", "B"), ("$5", "C"), ("5", ""), ("A) 5 m", ""), ("5 kilometers", "A"))),
    *((("ℕ", "ℝ", "ℂ"), answer, letter) for answer, letter in (("ℂ", "C"), ("ℝ", "B"), ("R", ""))),
    *((("1", "$\\frac{1}{2}$", "2"), answer, "B") for answer in ("0.5", "B) 0.5", "½")),
)  # fmt: skip
"""Choices, an answer, and the letter that it names, if any."""

ON_LINES = "Who wrote it?\n\nA) Rowling\nB) Tolkien\nC) Orwell\nD) C. S. Lewis\n\nEnd with a line."


def item_of(target: str, **fields: object) -> Item:
    return Item.model_validate({"id": "q", "input": "Why?", "target": target, **fields})


@pytest.mark.parametrize(("text", "answer"), APART)
def test_an_answer_is_not_contained_in_a_number_or_word_that_it_is_a_part_in(text: str, answer: str) -> None:
    assert contains(f"It is this: {text}", item_of(answer)).verdict == "wrong"
    assert contains(text, item_of(answer)).verdict == "wrong"


@pytest.mark.parametrize(("text", "answer"), WITHIN)
def test_an_answer_is_contained_in_a_text_as_whole_words_or_a_whole_number(text: str, answer: str) -> None:
    assert contains(text, item_of(answer)).right


@pytest.mark.parametrize(("text", "value"), NUMBERS)
def test_a_number_counts_where_nothing_beside_it_makes_it_another(text: str, value: str | None) -> None:
    score = number(f"Answer: {text}", item_of(value or "5"))
    assert score.verdict == ("no answer" if value is None else "right")


@pytest.mark.parametrize(
    ("answer", "target", "right"),
    [
        ("5 km", "5", True),
        ("5", "5 km", True),
        ("5%", "5", True),
        ("$5", "5", True),
        ("5 apples", "5 pears", True),
    ],
)
def test_a_unit_that_one_side_lacks_is_the_questions_for_a_number_and_no_guess_for_a_text(
    answer: str, target: str, *, right: bool
) -> None:
    response, item = f"Answer: {answer}", item_of(target)
    assert (number(response, item).right, flexible(response, item).right) == (right, right)
    assert exact(response, item).right is (answer == "$5")


@pytest.mark.parametrize(("choices", "answer", "letter"), CHOICES)
def test_a_letter_is_a_choice_where_nothing_but_the_choice_follows(
    choices: Sequence[str], answer: str, letter: str
) -> None:
    for target in "ABCD"[: len(choices)]:
        score = choice(f"Answer: {answer}", item_of(target, choices=choices))
        assert score.verdict == ("no answer" if not letter else "right" if target == letter else "wrong")


@pytest.mark.parametrize(
    ("answer", "target", "right"),
    [("B) Tolkien", "B", True), ("Tolkien", "B", True), ("(B)", "Tolkien", True), ("B) King", "B", False),
     ("C. S. Lewis", "C", False), ("C. S. Lewis", "D", True), ("B because it is old", "B", False)],
)  # fmt: skip
def test_a_question_that_lists_choices_has_them_for_exact_answers_too(
    answer: str, target: str, *, right: bool
) -> None:
    for scorer in (exact, flexible):
        assert scorer(f"Answer: {answer}", item_of(target, input=ON_LINES)).right is right
        assert not scorer("Answer: B) Tolkien", item_of("B")).right


@pytest.mark.parametrize(
    ("question", "choices"),
    [
        (ON_LINES, AUTHORS),
        ("Which?\n- **A.** x\n- **B.** y", ("x", "y")),
        ("Which? (A) red car (B) green", ("red car", "green")),
        ("Q?\nA. a\nB. b\nC. c\nAnswer: A\n\nQ?\nA. d\nB. e", ("d", "e")),
        ("Was it A. Smith or B. King?", ()),
        ("A) is alone", ()),
        ("B) x\nC) y", ()),
    ],
)
def test_choices_are_read_from_a_question_that_lists_them(question: str, choices: tuple[str, ...]) -> None:
    assert choices_in(question) == choices


def test_a_question_of_an_item_lists_its_choices() -> None:
    item = item_of("B", choices=("one\nline", "Rome", "$x^2$"))
    assert choices_in(item.question) == ("one", "Rome", "$x^2$")
