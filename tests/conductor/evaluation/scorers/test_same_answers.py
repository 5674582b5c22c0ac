"""Each rule by which answers are compared has pairs that are one answer and pairs that are two, and every
scorer, vote and choice decides them alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.evaluation.items import Item
from conductor.evaluation.scorers.text import choice, contains, exact, flexible, number
from conductor.text.equality.amount import amount_in
from conductor.text.equality.same_answer import ballots, comparable, same
from conductor.values.messages import Completion, Message, Part, Request
from conductor.workers.computed.vote import VoteWorker

Pairs = Sequence[tuple[str, str]]

EQUAL: Mapping[str, Pairs] = {
    "numbers by value": (
        ("1,000", "1000"), ("0.50", "1/2"), ("\\frac{3}{4}", "0.75"), ("1e3", "1000"), ("070", "70"),
        ("5.", "5"),
        ("+5", "5"), ("-0", "0"), ("½", "0.5"), ("1½", "1.5"), ("\\frac12", "1/2"), ("10^3", "1000"),
        ("2²", "4"),
        ("10**3", "10^3"), ("10^{3}", "10³"), ("3 × 10^8", "3e8"), ("2 dozen", "24"),
        ("3.2 million", "3200000"),
    ),
    "thousands": (
        ("1 000", "1000"), ("1\u202f234", "1234"), ("1'234.5", "1234.5"), ("1’234’567", "1234567"),
        ("1.234,50", "1234.5"), ("12,34,567", "1234567"), ("1{,}234", "1234"), ("1\\,234", "1234"),
    ),
    "minus signs and dashes": (
        ("−5", "-5"), ("–5", "-5"), ("= − 5", "= -5"), ("re\u2011sign", "re-sign"), ("1–5", "1-5"),
        ("\\frac{-1}{2}", "\\frac{-1}{2}"), ("10⁻³", "0.001"),
    ),
    "currencies": (
        ("$5", "5"), ("$12.00", "12"), ("\\$5", "$5"), ("5 €", "€5"), ("USD 20", "$20"),
        ("20 EUR", "20 euros"),
        ("-$5", "$-5"), ("£20", "20 GBP"), ("US$5", "$5"), ("$5 million", "$5,000,000"),
    ),
    "percent": (("25%", "25 %"), ("50\\%", "50%"), ("17 percent", "17%"), ("17 per cent", "17 percent")),
    "units": (
        ("5 km", "5km"), ("5 km", "5 kilometers"), ("5 KM", "5 km"), ("5 m/s^2", "5 m s^{-2}"),
        ("5 km²", "5 km^2"),
        ("3 m2", "3 m²"), ("25 °C", "25 degrees Celsius"), ("90^\\circ", "90°"), ("5 Days", "5 days"),
        ("5\\text{ cm}", "5 cm"), ("5 PM", "5 p.m."), ("5 ft", "5 feet"), ("5 m^2", "5 metres squared"),
        ("5 degrees", "5°"), ("9.8\\,\\mathrm{m/s}", "9.8 m/s"),
    ),
    "marks of mathematics": (
        ("$42$", "42"), ("\\(42\\)", "42"), ("\\text{east}", "East"), ("\\left(0, 1\\right)", "(0, 1)"),
        ("x \\le 5", "x ≤ 5"), ("x <= 5", "x ≤ 5"), ("\\mathrm{NaCl}", "NaCl"), ("H₂O", "H2O"),
        ("H_2O", "H₂O"),
        ("x²", "x^2"), ("x^{10}", "x^10"), ("2ⁿ", "2^n"), ("(5)", "5"), ("f′", "f'"), ("Na⁺", "Na+"),
    ),
    "marks of Markdown": (
        ("**Paris**", "Paris"), ("*Paris*", "Paris"), ("_Paris_", "Paris"), ("`Paris`", "Paris"),
        ("***Paris***", "Paris"), ("**2*3**", "2*3"),
    ),
    "quotation marks": (
        ('"Paris"', "Paris"), ("“Paris”", "Paris"), ("'Paris'", "Paris"), ("«Paris»", "Paris"),
        ('"Paris."', "Paris"),
        ('"5"', "5"), ("it’s", "it's"), ("「Paris」", "Paris"),
    ),
    "ends of sentences": (
        ("Paris.", "Paris"), ("Paris!", "Paris"), ("Paris?", "Paris"), ("(Paris)", "Paris"), ("St.", "St"),
        ("Apple Inc.", "Apple Inc"), ("U.S.", "U.S"), ("Yes.", "yes"), ("No!", "no"), ("$5!", "$5"),
    ),
    "case and widths": (
        ("PARIS", "Paris"), ("Straße", "STRASSE"), ("１２", "12"), ("ﬁve", "five"), ("Ｐaris", "Paris"),
        ("Ⅳ", "IV"),
        ("cafe\u0301", "café"), ("The\u00a0Hague", "the  Hague"), ("co\u00adop", "coop"), ("❤\ufe0f", "❤"),
    ),
    "articles": (
        ("the Nile", "Nile"), ("an owl", "owl"), ("A dog", "dog"), ("The Netherlands", "netherlands."),
    ),
    "initials": (
        ("J. K. Rowling", "j. k. rowling"), ("J.K. Rowling", "J. K. Rowling"), ("A. Smith", "a. smith."),
        ("E. coli", "E. Coli"),
    ),
    "letters": (("(B)", "b"), ("B.", "B"), ("**B**", "b"), ("Ⓑ", "B"), ('"B"', "B")),
}  # fmt: skip

DIFFERENT: Mapping[str, Pairs] = {
    "signs of numbers": (
        ("-5", "5"), ("−5", "5"), ("–5", "5"), ("- 5", "5"), ("±5", "5"), ("5!", "5"), ("√5", "5"),
        ("|5|", "-5"),
        ("|-5|", "-5"), ("5+", "5"), ("5x", "5"), ("5π", "5"), ("5i", "5"), ("-2^2", "4"), ("x - 5", "-5"),
        ("x - 5", "5"), ("x-5", "-5"), ("n!", "n"), ("-x", "x"), ("1/x", "x"), ("5⁻¹", "51"),
        ("\\sqrt{5}", "5"),
        ("minus 5", "5"), ("sin 5", "5"), ("f(5)", "5"), ("5°", "5!"), ("0.333...", "0.333"),
        ("(-2)^2", "-2"),
        ("x+1", "x-1"), ("x±1", "x+1"), ("a·b", "a+b"), ("¬p", "p"), ("~p", "p"), ("p'", "p"), ("2i", "2"),
    ),
    "comparisons": (
        ("> 5", "5"), ("<5", "5"), ("≤ 5", "5"), (">= 5", "5"), ("≠5", "5"), ("x > 5", "x < 5"),
        ("x ≥ 5", "x > 5"),
        ("x != 5", "x = 5"), ("at least 5", "5"), ("less than 5", "5"), ("5 or more", "5"), ("up to 5", "5"),
        ("more than 5", "less than 5"), ("x <= 5", "x = 5"), ("x \\le 5", "x \\ge 5"),
    ),
    "digits": (
        ("1", "10"), ("1/2", "2"), ("12", "1.2"), ("1,000", "1.000"), ("1,5", "1.5"), ("1,5", "15"),
        ("7,0", "7.0"),
        ("10²", "102"), ("10^2", "102"), ("2*3", "23"), ("10**3", "103"), ("x²", "x2"), ("101₂", "1012"),
        ("2ⁿ", "2n"),
        ("4210_5", "42105"), ("1/0", "1"), ("1e3", "13"), ("½", "12"), ("5.5", "55"), ("1:2", "12"),
        ("5:30", "530"),
        ("1-5", "15"), ("1–5", "15"), ("3-5", "-5"), ("2 3", "23"), ("0x10", "0"), ("1.2.3", "1.2"),
        ("5k", "5"),
        ("$5M", "$5"), ("5 million", "5"), ("5 dozen", "5"), ("5 and a half", "5"), ("5e", "5"),
        ("2024-05", "2024"),
    ),
    "currencies": (
        ("$5", "€5"), ("£5", "¥5"), ("5 dollars", "5 euros"), ("$5", "5 km"), ("$5", "5%"), ("5¢", "$5"),
        ("A$5", "$5"), ("$5", "-$5"), ("$5 per hour", "$5"), ("₹5", "₽5"), ("5 yen", "5 yuan"),
        ("5 US$", "5 A$"), ("5 kr", "5 €"),
    ),
    "percent": (("5%", "0.05"), ("5%", "5‰"), ("5%", "5 km"), ("5%", "50")),
    "units": (
        ("5 km", "5 m"), ("5 mW", "5 MW"), ("5 m", "5 m²"), ("5 km", "5 km/h"), ("5 °C", "5 °F"),
        ("5 °C", "5 K"),
        ("5 Mb", "5 MB"), ("5 am", "5 pm"), ("44 BC", "44 AD"), ("5 h", "5 min"), ("5 kg", "5 g"),
        ("5 N", "5 S"),
        ("5 m/s", "5 m/s^2"), ("5 per day", "5 per week"), ("5 lb", "5 kg"), ("5000 m", "5 km"),
    ),
    "brackets": (
        ("(1, 2)", "[1, 2]"), ("(1, 2]", "(1, 2)"), ("(1; 2)", "[1; 2]"), ("[5]", "5x"), ("(AB)", "[AB]"),
        ("{1, 2}", "(1, 2)"),
        ("[x]", "x"), ("(1 2)", "1 2"), ("|x|", "x"), ("⌊x⌋", "⌈x⌉"), ("f(x)", "f[x]"), ("f(x)", "f(x"),
        ("(1,234)", "1234"),
        ("(1,2)", "12"), ("(1, 2)", "1, 2"), ("||x||", "|x|"), ("<x>", "x"), ("{1,234}", "1234"),
    ),
    "marks of programs": (
        ("C++", "C"), ("C#", "C"), ("C#", "C++"), (".NET", "NET"), ("A*", "A"), ("__init__", "init"),
        ("*args", "args"),
        ("**kwargs", "kwargs"), ("snake_case", "snakecase"), ("node.js", "nodejs"), ("a_b", "ab"),
        ("&x", "x"), ("x++", "x"),
        ("!x", "x"), ("@x", "x"), ("#x", "x"), ("?", "!"), (".", ","), ("()", "[]"), (";", ":"),
        ("...", "."), ("+", "-"),
        ("=", "=="), (":)", ":("), ("\\n", "n"), ("x == y", "x = y"), ("//", "/"), ("'", '"'),
        ("var_1", "var1"),
    ),
    "quotation marks and hyphens": (
        ("it's", "its"), ("f'", "f"), ("f''", "f'"), ("5'", "5"), ("5\"", "5"), ("5'", '5"'),
        ("re-sign", "resign"),
        ("co-op", "coop"), ("non-toxic", "toxic"), ("can't", "can"), ("students'", "students"),
        ("well-being", "being"),
        ("'tis", "tis"), ("we're", "were"), ("x-ray", "ray"),
    ),
    "letters and their marks": (
        ("résumé", "resume"), ("A+", "A-"), ("A+", "A"), ("B-", "B"), ("B'", "B"), ("ℝ", "R"), ("ℂ", "C"),
        ("Ω", "O"), ("½", "1"),
        ("α", "a"), ("В", "B"), ("ñ", "n"), ("👍", "👎"), ("Na⁺", "Na"), ("σ²", "σ"), ("I", "1"), ("O", "0"),
        ("vitamin A", "vitamin"),
    ),
    "articles": (
        ("The Who", "Who"), ("A and B", "B"), ("A minor", "minor"), ("A flat", "flat"), ("A", "B"),
        ("A positive", "positive"),
        ("the one", "one and all"), ("a priori", "priori"), ("The The", "The"),
    ),
    "initials and abbreviations": (
        ("J. K. Rowling", "J. R. R. Tolkien"), ("A. Smith", "A. Jones"), ("E. coli", "E. faecalis"),
        ("T. rex", "T. gondii"),
        ("X: the Movie", "X: the Album"), ("C. S. Lewis", "C"), ("B) King", "B) Smith"), ("B. King", "B"),
        ("A. Smith", "Smith"),
        ("St. Paul", "Paul"), ("Apple Inc.", "Apple"), ("D. H. Lawrence", "T. E. Lawrence"),
        ("a) b", "a) c"), ("Vitamin B", "B"),
        ("I.T.", "it"), ("George W. Bush", "George H. Bush"), ("Henry V", "Henry I"), ("Type A", "Type B"),
        ("M. Curie", "P. Curie"),
    ),
    "negations": (
        ("not 5", "5"), ("not Paris", "Paris"), ("no", "not"), ("isn't 5", "5"), ("never", "ever"),
        ("5 is wrong", "5"),
        ("5 is not the answer", "5"), ("not true", "true"), ("untrue", "true"), ("yes", "no"),
        ("neither", "either"),
    ),
    "several answers": (
        ("A, B and D", "A"), ("Paris or Lyon", "Paris"), ("5 and 6", "5"), ("4 or 5", "5"), ("5, -5", "5"),
        ("x = 3 or x = 4", "4"),
        ("Paris, London", "Paris"), ("1, 2", "2, 1"), ("±5", "+5"), ("Paris/Lyon", "Paris"), ("5; 6", "5"),
        ("5/6", "5"),
    ),
}  # fmt: skip


ON_LINES = "Who wrote it?\n\nA) Rowling\nB) Tolkien\nC) Orwell\nD) C. S. Lewis\n\nEnd with a line."

BALLOTS: Sequence[tuple[str, Sequence[str], int]] = (
    ("Who?", ("Answer: A. Smith", "Answer: B. King", "Answer: B. King", "Answer: A. Jones",
    "Answer: A. Miller"), 1),
    ("Who?", ("J. R. R. Tolkien", "J. K. Rowling", "Philip Pullman", "J. K. Rowling"), 1),
    ("What?", ("E. coli", "T. rex", "E. faecalis", "T. rex", "E. durans"), 1),
    ("Which?", ("X: the Movie", "Up", "X: the Album", "Up", "X: the Game"), 1),
    ("Which?", ("(a) x", "(a) y", "b", "b"), 2),
    ("How much?", ("-5", "5", "5"), 1),
    ("How much?", ("$5", "€5", "£5", "6", "6"), 3),
    ("How much?", ("6", "$5", "5"), 1),
    ("How much?", ("6", "$5", "€5", "5", "6"), 0),
    ("How much?", ("5", "5 %", "5 km", "6", "6"), 3),
    ("How much?", ("0.333...", "1/3", "0.333", "0.333"), 2),
    (ON_LINES, ("Orwell", "B) Tolkien", "C", "(B)", "Tolkien"), 1),
    (ON_LINES, ("C. S. Lewis", "A", "C", "C. Orwell"), 2),
    (ON_LINES, ("B. King", "B. Smith", "A"), 0),
    ("Which? (A) red (B) green", ("red", "B) green", "B", "green"), 1),
)  # fmt: skip
"""A question, responses to it, and which of them wins."""


def item_of(target: str, **fields: object) -> Item:
    return Item.model_validate({"id": "q", "input": "Why?", "target": target, **fields})


def voted(question: str, responses: Sequence[str]) -> Completion:
    parts = [
        Part("query", question),
        *(Part("response", each, at, f"w{at}") for at, each in enumerate(responses)),
    ]

    async def completion() -> Completion:
        (only,) = [each async for each in VoteWorker().stream(Request((Message("user", tuple(parts)),)))]
        return only

    return asyncio.run(completion())


def verdicts(answer: str, target: str) -> dict[str, bool]:
    """Whether each scorer finds an answer right, an answer is the choice with that text, and a vote counts
    the two as one.
    """
    response, item = f"So.\nAnswer: {answer}", item_of(target)
    chosen = item_of("D", choices=("Nothing", "Other", "More", target))
    return {
        **{each.__name__: each(response, item).right for each in (exact, flexible, number, contains)},
        "choice": choice(response, chosen).right,
        "vote": voted("Why?", ["Nothing", response, "Nothing", target, target]).text == response,
    }


def both_ways(tables: Mapping[str, Pairs]) -> list[tuple[str, str]]:
    pairs = [pair for pairs in tables.values() for pair in pairs]
    return [*pairs, *((other, one) for one, other in pairs)]


@pytest.mark.parametrize(("answer", "target"), both_ways(EQUAL))
def test_ways_to_write_one_answer_are_one_for_each_scorer_vote_and_choice(answer: str, target: str) -> None:
    decided = verdicts(answer, target)
    # A letter alone is the letter of a choice and never its text; words hold no number.
    without = {
        *(["choice"] if len(comparable(target)) == 1 and comparable(target).isalpha() else []),
        *(["number"] if amount_in(target) is None else []),
    }
    assert [name for name, right in decided.items() if not right and name not in without] == []


@pytest.mark.parametrize(("answer", "target"), both_ways(DIFFERENT))
def test_different_answers_are_two_for_each_scorer_vote_and_choice(answer: str, target: str) -> None:
    # A text contains an answer beside much else: see the tables of what stands in a text.
    assert [name for name, right in verdicts(answer, target).items() if right and name != "contains"] == []


@pytest.mark.parametrize(("question", "responses", "winner"), BALLOTS)
def test_a_vote_counts_answers_as_scorers_compare_them(
    question: str, responses: Sequence[str], winner: int
) -> None:
    assert voted(question, responses).text == responses[winner]


@given(
    st.integers(-(10**20), 10**20), st.sampled_from(["{}", "{:,}", "{}.0", "${:,}", "**{}**", "{}.", " {} "])
)
def test_a_number_is_the_same_answer_however_it_is_written(value: int, form: str) -> None:
    assert same(form.format(value), str(value))
    assert not same(form.format(value), str(value + 1))


_PIECES = st.sampled_from(
    [
        *"59.,-−$€%°()[]{}^_*`'\"=/!?≤½²₂xAßéℂ个١ ",
        "km",
        "the ",
        "A ",
        "B) ",
        "not ",
        "\\frac",
        "\\text{",
        "e5",
        "square ",
    ]
)


@given(st.lists(_PIECES, max_size=10).map("".join))
def test_any_text_is_the_same_as_itself_and_stays_in_one_ballot(text: str) -> None:
    assert same(text, text)
    assert ballots([text, text, f"{text} and more"])[0][:2] == [0, 1]
    assert bool(comparable(text)) >= bool(text.strip(" "))


def test_a_number_of_a_thousand_digits_is_compared_as_text() -> None:
    assert comparable("9" * 1000) == "9" * 1000
