"""Answers as people and models write them: units, currencies, powers, fractions, intervals, two choices."""

from __future__ import annotations

import asyncio

import pytest

from conductor.evaluation.items import Item
from conductor.evaluation.scorers import score

TEXTS: tuple[tuple[str, str, str, bool], ...] = (
    ("exact", "Answer: 50%", "50 %", True),
    ("exact", "Answer: −5", "-5", True),
    ("exact", "Answer: 1 000", "1000", True),
    ("exact", "Answer: 1 000", "1000", True),
    ("exact", "Answer: ½", "0.5", True),
    ("exact", "Answer: 1/2", "0.5", True),
    ("exact", "Answer: \\frac12", "1/2", True),
    ("exact", "Answer: A and B", "B", False),
    ("exact", "Answer:", "x", False),
    ("exact", "   ", "x", False),
    ("exact", "Answer: $5", "5", True),
    ("exact", "Answer: Straße", "strasse", True),
    ("exact", "Answer: 1.000", "1000", False),
    ("exact", "Answer: 3.0", "3", True),
    ("exact", "Answer: café", "café", True),
    ("exact", 'Answer: "Paris"', "Paris", True),
    ("exact", "Answer: the Nile", "Nile", True),
    ("exact", "**Answer:** Paris", "Paris", True),
    ("exact", "**Answer**: Paris", "Paris", True),
    ("exact", "Final Answer: Paris!", "Paris", True),
    ("exact", "Answer: Paris (France)", "Paris", False),
    ("number", "Answer: 5 km", "5", True),
    ("number", "Answer: 5 km/h", "5", True),
    ("number", "Answer: 72 km²", "72", True),
    ("number", "Answer: 3 m2", "3", True),
    ("number", "Answer: 10 m^2", "10", True),
    ("number", "Answer: 1 000 000", "1000000", True),
    ("number", "Answer: 12 345", "12345", True),
    ("number", "Answer: 1,5", "1.5", False),
    ("number", "Answer: 2 1/2", "2.5", True),
    ("number", "Answer: −1,234.5 €", "-1234.5", True),
    ("number", "Answer: (5)", "5", True),
    ("number", "Answer: 5-6", "5", False),
    ("number", "Answer: x = -3", "-3", True),
    ("number", "Answer: 3 × 10^8", "300000000", True),
    ("number", "Answer: $3 \\times 10^{8}$ m/s", "300000000", True),
    ("number", "Answer: 3e8", "300000000", True),
    ("number", "Answer: twelve", "12", False),
    ("number", "Answer: 070", "70", True),
    ("number", "\\boxed{70}", "070", True),
    ("number", "\\boxed{70.}", "70", True),
    ("number", "Answer: 70 (not 71)", "70", False),
    ("number", "Answer: \\(42\\)", "42", True),
    ("number", "Answer: $42$", "42", True),
    ("number", "Answer: **42**", "42", True),
    ("number", "Answer: 42.0%", "42", True),
    ("number", "", "5", False),
    ("number", "Answer: ∞", "5", False),
    ("number", "Answer: 4 or 5", "5", False),
    ("number", "Answer: CO2", "2", False),
    ("number", "Answer: 25 °C", "25", True),
    ("number", "Answer: 10^2", "100", True),
    ("number", "Answer: 2^10", "1024", True),
    ("number", "Answer: ¾", "0.75", True),
    ("number", "Answer: 1½", "1.5", True),
    ("number", "Answer: H2O has 3 atoms", "3", False),
    ("number", "Answer: 5 million dollars", "5000000", True),
    ("number", "Answer: 1,234", "1234", True),
    ("number", "Answer: 1,23", "123", False),
    ("number", "Answer: -0", "0", True),
    ("number", "\\boxed{-\\frac{1}{2}}", "-0.5", True),
    ("number", "\\boxed{\\tfrac{1}{2}}", "0.5", True),
    ("number", "\\boxed{5\\text{ cm}}", "5", True),
    ("number", "\\boxed{5\\,\\mathrm{cm}^2}", "5", True),
    ("number", "\\boxed{1{,}234}", "1234", True),
    ("number", "\\boxed{1\\,234}", "1234", True),
    ("number", "\\boxed{\\$5}", "5", True),
    ("number", "\\boxed{50\\%}", "50", True),
    ("flexible", "Answer: 50%", "50", True),
    ("flexible", "Answer: USD 20", "$20", True),
    ("flexible", "Answer: 20 EUR", "20 euros", True),
    ("flexible", "Answer: A and B", "A", False),
    ("flexible", "", "x", False),
    ("flexible", "Answer: 9.8 m/s^2", "9.81", True),
    ("flexible", "Answer: 1.2 million", "1,200,000", True),
    ("flexible", "Answer: -20", "20", False),
    ("flexible", "Answer: yes", "Yes", True),
    ("flexible", "Answer: £20", "20 GBP", True),
    ("flexible", "Answer: between 5 and 6", "5", False),
    ("number", "Answer: 1.5M", "1500000", False),
    ("flexible", "Answer: 50%", "0.5", False),
    ("exact", "Answer: (0, 1)", "[0, 1]", False),
    ("exact", "Answer: 10²", "102", False),
    ("number", "Answer: 2 1/2", "0.5", False),
)

CHOICES: tuple[tuple[str, bool], ...] = (
    ("Answer: (B)", True),
    ("Answer: B and C", False),
    ("Answer: A and B", False),
    ("Answer: B, C", False),
    ("Answer: B/C", False),
    ("Answer: B or C", False),
    ("Answer: both A and B", False),
    ("(B)", True),
    ("B.", True),
    ("B) Paris", True),
    ("b", True),
    ("Answer: [B]", True),
    ("Answer: choice (B)", True),
    ("The correct answer is (B) Paris.", True),
    ("The answer is: B", True),
    ("Answer: B: Paris", True),
    ("Answer: B - Paris", True),
    ("Answer: Paris.", True),
    ("Answer: not B", False),
    ("Answer: A", False),
    ("Answer: Beta", False),
    ("$\\boxed{\\text{(B)}}$", True),
    ("Answer: **B**", True),
    ("Answer: `B`", True),
    ("I think a dog.", False),
    ("A good choice is Paris", False),
    ("Answer: A good choice is Paris", False),
    ("Answer: I", False),
    ("Answer: B because A is wrong", True),
    ("Answer: B (not A)", True),
    ("Answer: B and nothing else", True),
    ("Answer: Ⓑ", True),
    ("Answer: В", False),
    ("", False),
)

FORMULAS: tuple[tuple[str, str, bool], ...] = (
    ("\\boxed{(0,1]}", "(0,1]", True),
    ("\\boxed{(0,1]}", "(0,1)", False),
    ("\\boxed{[0, 1]}", "[0,1]", True),
    ("\\boxed{\\{1,2,3\\}}", "\\{3,2,1\\}", True),
    ("\\boxed{\\{1,2\\}}", "\\{1,2,3\\}", False),
    ("\\boxed{50\\%}", "0.5", True),
    ("\\boxed{x=5}", "5", True),
    ("\\boxed{1,000}", "1000", True),
    ("\\boxed{\\frac{\\pi}{2}}", "\\pi/2", True),
    ("\\boxed{-3}", "−3", True),
    ("\\boxed{−3}", "-3", True),
    ("\\boxed{2\\sqrt{3}}", "\\sqrt{12}", True),
    ("\\boxed{A\\text{ and }B}", "A", False),
    ("\\boxed{\\dfrac{1}{2}}", "\\frac12", True),
    ("\\boxed{0.333}", "\\frac13", False),
    ("\\boxed{x>3}", "x>3", True),
    ("\\boxed{3<x}", "x>3", True),
    ("\\boxed{\\begin{pmatrix}1\\\\2\\end{pmatrix}}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}", True),
    ("\\boxed{90^\\circ}", "90", True),
    ("\\boxed{5\\text{ cm}}", "5", True),
    ("\\boxed{\\text{Evelyn}}", "\\text{Evelyn}", True),
    ("\\boxed{p - q}", "p-q", True),
    ("\\boxed{(3,\\frac{\\pi}{2})}", "\\left( 3, \\frac{\\pi}{2} \\right)", True),
    ("\\boxed{(-\\infty,2)\\cup(3,\\infty)}", "(-\\infty, 2)\\cup(3, \\infty)", True),
    ("\\boxed{11\\sqrt2}", "11\\sqrt{2}", True),
    ("\\boxed{1 \\pm \\sqrt{2}}", "1+\\sqrt{2},1-\\sqrt{2}", True),
    ("\\boxed{6,-5}", "-5,6", True),
    ("\\boxed{2^{1000000000}}", "1", False),
    ("", "5", False),
    ("\\boxed{}", "5", False),
    ("\\boxed{58_9}", "58_9", True),
    ("\\boxed{4210_5}", "4210_{5}", True),
    ("\\boxed{\\$18.90}", "18.90", True),
    ("\\boxed{10,080}", "10080", True),
)


def right(scorer: str, response: str, target: str, choices: tuple[str, ...] | None = None) -> bool:
    item = Item(id="q", input="Why?", target=(target,), choices=choices, scorer=scorer)
    return asyncio.run(score(response, item)).right


@pytest.mark.parametrize(("scorer", "response", "target", "expected"), TEXTS)
def test_a_text_or_number_is_read_as_it_is_written(
    scorer: str, response: str, target: str, expected: bool
) -> None:
    assert right(scorer, response, target) is expected


@pytest.mark.parametrize(("response", "expected"), CHOICES)
def test_a_choice_is_one_letter_or_one_text(response: str, expected: bool) -> None:
    assert right("choice", response, "B", ("Rome", "Paris", "Lyon")) is expected


@pytest.mark.slow
@pytest.mark.thorough
def test_formulas_are_the_same_where_their_meaning_is() -> None:
    async def all_in_one() -> dict[tuple[str, str], bool]:
        """In one loop they share a process, which starts once."""
        rights = {}
        for response, target, _ in FORMULAS:
            item = Item(id="q", input="Why?", target=(target,), scorer="mathematics")
            rights[response, target] = (await score(response, item)).right
        return rights

    assert asyncio.run(all_in_one()) == {(answer, target): same for answer, target, same in FORMULAS}


@pytest.mark.thorough
@pytest.mark.parametrize("scorer", ["exact", "number", "flexible", "choice"])
def test_a_long_answer_takes_no_longer_than_its_length(scorer: str) -> None:
    for response in (
        "1" * 50_000,
        "1 " * 25_000,
        "1,111" * 10_000,
        "(" * 50_000,
        "½" * 20_000,
        "\\frac" * 10_000,
    ):
        assert not right(scorer, response, "5", ("Rome", "Paris"))
