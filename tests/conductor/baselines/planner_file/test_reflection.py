"""What a reflector is sent and how its answer is read; which candidate is rewritten next."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from conductor.baselines.planner_file.planner_texts import MAX_INSTRUCTION, PlannerTexts
from conductor.baselines.planner_file.reflection import parent_of, read_reflection, reflection_request
from conductor.errors import FormatError
from conductor.planner.prompt.prompt import HOW_TO_PLAN

STRENGTHS = {"alpha": "all", "beta": "sums"}
SOLVED = ("Add 1 and 2.", "What is the\ncapital of Peru?")
BEFORE = PlannerTexts(strengths={"alpha": "cities"})


def read(answer: str) -> PlannerTexts:
    return read_reflection(answer, BEFORE, tuple(STRENGTHS), SOLVED)


def test_it_is_sent_the_present_texts_and_what_was_tried_between_lines_with_a_code() -> None:
    request = reflection_request(BEFORE, STRENGTHS, ["Question: a", "Question: b"], SOLVED, fault="no JSON")
    (message,) = request.messages
    head, begin, rest = message.content.partition(" begin\n")
    fence = head[head.rindex("===") :]
    material, end, fault = rest.partition(f"\n{fence} end")
    assert begin
    assert end
    assert HOW_TO_PLAN in head
    assert "alpha: cities\nbeta: sums" in head
    assert material.startswith(
        "Question: a\n\nQuestion: b\n\nSolved questions:\n0: Add 1 and 2.\n1: What is the cap"
    )
    assert fault == "\n\nYour last answer cannot be used: no JSON"


def test_an_answer_is_read_out_of_what_stands_around_it() -> None:
    answer = {"why": "so", "instruction": "Do\nthis.", "strengths": {"beta": "letters"}, "examples": [1, 1]}
    texts = read(f"Here it is:\n```json\n{json.dumps(answer)}\n```")
    assert texts == PlannerTexts(
        instruction="Do this.",
        strengths={"alpha": "cities", "beta": "letters"},
        examples=("What is the\ncapital of Peru?",),
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("A poem.", "it is no JSON object"),
        ("[1]", "it is no JSON object"),
        ("{'a': 1}", "it is no JSON object"),
        ("{" * 5000 + "}" * 5000, "it is no JSON object"),
        ("{}", "instruction: Field required"),
        ({"instruction": " "}, "it changes no text"),
        ({"instruction": "x" * (MAX_INSTRUCTION + 1)}, "instruction: String should have at most 4000"),
        ({"instruction": "x", "strengths": {"gamma": "all"}}, "the pool has no worker 'gamma'"),
        (
            {"instruction": "x", "strengths": {"beta": "x" * 401}},
            "strengths.beta: String should have at most",
        ),
        ({"instruction": "x", "examples": [2]}, "an example's number is that of no solved question"),
        ({"instruction": "x", "examples": [0, 1, 0, 1]}, "examples: Tuple should have at most 3"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(answer: object, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        read(answer if isinstance(answer, str) else json.dumps(answer))


def test_a_candidate_that_is_best_on_more_questions_is_rewritten_more_often() -> None:
    shares = {0: {1: 1.0, 2: 0.0, 3: 0.0}, 1: {1: 0.0, 2: 1.0, 3: 1.0}, 2: {1: 0.0, 2: 0.5, 3: 0.5}}
    draws = Counter(parent_of(shares, random.Random(seed)) for seed in range(300))
    assert draws.keys() == {0, 1}
    assert 170 < draws[1] < 230
    assert parent_of({0: {}}, random.Random(0)) == 0
