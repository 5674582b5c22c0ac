"""Everyday questions by category: the share that is answered rightly, and that no answer is wrong.

The questions of `everyday.csv`, `another_author.csv` and `third_author.csv` are worded as newcomers do;
those of `adversarial.csv` are fragments, traps and nonsense, whose answer is empty where only a refusal is
right. The grammar was written with the first two in sight, and measured on the third.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import pytest
from reading_work import patience

from conductor.engine.meter import Meter
from conductor.orchestrate import orchestrate
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.request import RunRequest
from conductor.runs.state import fold
from conductor.values.budget import NO_BUDGET
from conductor.workers.offline.questions.grammar import grammar
from conductor.workers.offline.questions.nearby import examples, nearby
from conductor.workers.offline.questions.reading import MEANINGS, MODULES, answer_to, meanings_in
from conductor.workers.offline.questions.wording import MAX_CHARACTERS
from conductor.workers.pool.pool import offline_pool

TODAY = date(2025, 3, 14)
OF_TODAY = re.compile(r"today|birthday|Christmas", re.IGNORECASE)
ENOUGH = 0.6


def questions(name: str) -> list[Mapping[str, str]]:
    with Path(__file__).with_name(f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def right(given: str, expected: str) -> bool:
    """Whether an answer holds the expected one as a whole: a number is not the beginning of another."""
    if not expected:
        return False
    longer = r"" if re.search(r"\.\d", expected) else r"(?!\d|/)"
    return bool(re.search(rf"(?<![\w.]){re.escape(expected)}{longer}", given, re.IGNORECASE))


def wrong(rows: list[Mapping[str, str]]) -> Iterator[str]:
    for row in rows:
        found = answer_to(row["question"], today=TODAY)
        if found is not None and not right(found[1].text, row["answer"]):
            yield f"{row['question']} -> {found[1].text}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["everyday", "another_author", "third_author", "adversarial"])
def test_no_answer_is_wrong(name: str) -> None:
    assert not list(wrong(questions(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["everyday", "another_author"])
def test_most_everyday_questions_of_every_category_are_answered(name: str) -> None:
    rows = questions(name)
    assert len(rows) >= 60
    for category in {row["category"] for row in rows}:
        asked = [row["question"] for row in rows if row["category"] == category]
        answered = [question for question in asked if answer_to(question, today=TODAY)]
        assert len(answered) >= ENOUGH * len(asked), category


@pytest.mark.slow
@pytest.mark.parametrize("name", ["everyday", "adversarial"])
async def test_a_whole_workflow_answers_rightly_or_refuses(name: str) -> None:
    pool, failed, answered = offline_pool(), [], 0
    for row in questions(name):
        if OF_TODAY.search(row["question"]):
            continue
        stream = orchestrate(
            RunRequest(row["question"]), conductor=OfflineConductor(), pool=pool, meter=Meter(NO_BUDGET)
        )
        state = fold([event async for event in stream])
        answer = (state.answer or "").splitlines()[-1]
        answered += state.answered
        if state.answered and not right(answer.removeprefix("Answer: "), row["answer"]):
            failed.append(f"{row['question']} -> {state.answer}")
        if not state.answered and "Verified" in (state.answer or ""):
            failed.append(f"{row['question']}: verified and not answered")
    assert not failed
    assert name == "adversarial" or answered >= ENOUGH * len(questions(name))


@pytest.mark.slow
def test_every_question_that_is_offered_has_an_answer() -> None:
    assert not [question for question in examples() if answer_to(question, today=TODAY) is None]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How many furlongs are in 5 miles?", "How many kilometres is 5 miles?"),
        ("What is the population of Atlantis?", "What is the population of Germany?"),
        ("xyzzy", "What is 15% of 80?"),
    ],
)
def test_three_questions_are_offered_and_the_nearest_first(question: str, first: str) -> None:
    offered = nearby(question)
    assert len(set(offered)) == 3
    assert offered[0] == first


def test_every_meaning_belongs_to_a_rule_of_the_grammar() -> None:
    rules = {str(rule.alias or rule.origin.name) for rule in grammar().rules}
    named = rules | {re.sub(r"_\d+$", "", rule) for rule in rules}
    assert {name for module in MODULES for name in module.RULES} <= named
    known = [name for module in MODULES for name in meanings_in(module) if name in named]
    assert len(known) == len(set(known)), "two modules know the same rule"
    ordered = {rule for rule in rules if re.fullmatch(r"[a-z][a-z_]*_\d+", rule)}
    assert {re.sub(r"_\d+$", "", rule) for rule in ordered} <= set(MEANINGS)


@pytest.mark.parametrize(
    "repeated",
    [
        "1 + ",
        "1 ",
        "and ",
        "half of ",
        "apples ",
        "Tom has 3 apples. ",
        "of ",
        "what is ",
        "((",
        "a ",
        "5 km ",
        "'x' ",
    ],
)
def test_a_hostile_question_is_read_to_its_end(repeated: str) -> None:
    with patience():
        answer_to(repeated * (MAX_CHARACTERS // len(repeated)), today=TODAY)
