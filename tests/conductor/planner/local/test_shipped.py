"""The Conductor that comes with the program: at home in the orchard, and aware of where that ends."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path

import pytest

from conductor.learning.demonstration.exam import Exam
from conductor.learning.reward import Judge
from conductor.llama.numpy_llama import read_llama
from conductor.orchard import Split, draw, orchard_pool
from conductor.planner.conductor import PlanRequest
from conductor.planner.local.local_conductor import LocalConductor
from conductor.workers.local_model import SHIPPED
from conductor.workers.pool.built_in import built_in_file
from conductor.workers.pool.pool import parse_pool
from conductor.workers.pool.schema import LocalConductorTable

FOREIGN = """\
    Write a poem about the sea
    Compare France, Japan and Brazil
    Summarise the plot of Hamlet in three sentences.
    Who won the 1998 world cup?
    What is 17 * 23?
    Explain quicksort and give Python code
    Solve x^2 - 5x + 6 = 0
    Prove that the square root of two is irrational.
    How do I bake bread?
    What is the meaning of life?
    Translate 'good morning' to German.
    Integrate x sin x.
    Which planet is the largest?
    Name three rivers in Africa.
    What is the population of Japan?
    How far is the moon?
    Give me ideas for a birthday party.
    Is 97 a prime number?
    What day is it today?
    Write a SQL query that counts orders by month.
    Fix this bug: TypeError: 'NoneType' object is not iterable
    What is the weather in Paris?
    Plan a trip to Japan for two weeks.
    How many people live in the capital of France?
    What are the neighbours of Germany?
    Who wrote War and Peace?
    Draft an email to my boss about a raise.
    How many days are there between 2024-01-01 and 2024-03-01?
    What is 15% of 240?
    A train travels 60 km in 45 minutes. What is its average speed?
    Which is larger, Peru or Chile?
    What is the GDP of Italy?
    Should we use Kafka or RabbitMQ for our event bus?
    What is the boiling point of water?
    Convert 5 miles to kilometres.
    Count to ten.
    What is the largest country in Africa?
    Spell 'harbour' backwards.
    What colour is the sky?
    Who is the president of France?
    What rhymes with orange?
    How many vowels are in the word 'orchestra'?
    How many legs has a spider?
    Tell me a joke.
    hello
    What languages are spoken in Switzerland?
    Debate whether cities should ban cars.
    Review this contract clause for risks.
    What is the integral of 1/x?
    How many words are in this sentence?
"""


@cache
def shipped() -> LocalConductor:
    return LocalConductor(LocalConductorTable(kind="local", model=str(SHIPPED["orchard"]), name="orchard"))


def _handed_over(query: str) -> bool:
    _, written = shipped().write(query, orchard_pool().names)
    return shipped().doubt(written) is not None


def _share(queries: list[str]) -> float:
    return sum(map(_handed_over, queries)) / len(queries)


@pytest.mark.thorough
@pytest.mark.slow
def test_questions_of_other_worlds_are_handed_over():
    assert _share([line.strip() for line in FOREIGN.splitlines()]) >= 0.9


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("split", "most"), [("test", 0.03), ("combinations", 0.03), ("wordings", 0.25)])
def test_questions_of_its_own_world_are_planned(split: Split, most: float):
    assert _share([question.text for question in draw(90, seed=91, split=split)]) <= most


@pytest.mark.thorough
@pytest.mark.slow
def test_its_plans_answer_most_questions_that_it_was_not_trained_on():
    """As its card has it. The best worker alone is right on half of them, no router on three quarters."""
    pool = orchard_pool()
    exam = Exam.of(90, pool.names, seed=92)
    plans = [shipped().write(question.text, pool.names)[1].text for question in exam.questions]
    outcomes = asyncio.run(Judge(pool).judge(plans, exam.items, exam.pools))
    assert sum(outcome.right for outcome in outcomes) / len(outcomes) >= 0.85


def test_its_folder_is_small_and_its_card_is_whole():
    folder, card = SHIPPED["orchard"], shipped().trained
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_200_000
    assert card.least is not None
    assert (card.licence, card.workers) == ("Apache-2.0", orchard_pool().names)
    assert {row["planner"] for row in card.results["rows"]} >= {"this Conductor", "perfect router"}
    assert read_llama(folder).config.max_position_embeddings >= 512


def test_the_name_of_the_orchard_is_its_workers_with_this_conductor():
    text = built_in_file(Path("orchard"))
    assert text is not None
    pool = parse_pool(text)
    assert isinstance(pool.conductor, LocalConductorTable)
    assert pool.conductor.model == str(SHIPPED["orchard"])
    request = PlanRequest(query="?", workers=tuple(worker.card for worker in pool.workers))
    assert shipped().offered(request) == pool.names
