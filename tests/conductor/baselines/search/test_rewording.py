"""A model writes instructions for a search, which reads them however they are laid out."""

from __future__ import annotations

import random

import pytest

from conductor.baselines.search.instructions import Instructions
from conductor.baselines.search.rewording import instructions_in, rewording_request
from tests.support.runs.workflow_cases import workflow_of


@pytest.mark.parametrize(
    ("text", "instructions"),
    [
        ("Find the city.\nAdd both.", ("Find the city.", "Add both.")),
        ("1. Find the city.\n(2) Add both.\n", ("Find the city.", "Add both.")),
        ('- "Find the city."\n* `Add both.`\n\n', ("Find the city.", "Add both.")),
        ("Find the city.\nFind the city.", ("Find the city.",)),
        ("Ok", ()),
        ("", ()),
        ("x" * 301, ()),
        ("\n".join(f"Do part {at}." for at in range(20)), tuple(f"Do part {at}." for at in range(6))),
    ],
)
def test_each_line_of_an_answer_is_an_instruction(text: str, instructions: tuple[str, ...]) -> None:
    assert instructions_in(text) == instructions


def test_a_model_is_sent_the_question_the_workers_and_the_plan() -> None:
    request = rewording_request("How many?", workflow_of((), (0,)), {"alpha": "counts {letters}"})
    for part in ("Question: How many?", "- alpha: counts {letters}", "1. alpha: task 1\n2. alpha: task 2"):
        assert part in request.messages[0].content


def test_instructions_of_a_model_are_drawn_for_its_question_and_for_others() -> None:
    questions = ("How many letters has it?", "What is it?")
    instructions = Instructions(questions, {}, {questions[0]: ("Count them.",)})
    rng = random.Random(0)
    for question in questions:
        texts = [instructions.draw(question, "alpha", rng, reads=False) for _ in range(100)]
        assert 20 < texts.count("Count them.") < 60
    plain = Instructions(questions, {})
    assert "Count them." not in [plain.draw(questions[0], "alpha", rng, reads=True) for _ in range(100)]
