"""A vote and a selection return one visible response unchanged, and say how they came to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from conductor.errors import WorkerError
from conductor.values.messages import NOTHING_USED, Completion, Message, Part, Request
from conductor.workers.computed import COMPUTED_WORKERS, is_computed
from conductor.workers.computed.select import smoothie_distances, tf_idf
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker


def answered(worker: str, responses: Sequence[str]) -> Completion:
    parts = [
        Part("query", "why?"),
        *(Part("response", text, at, f"w{at}") for at, text in enumerate(responses)),
    ]

    async def complete() -> Completion:
        async for item in COMPUTED_WORKERS[worker].stream(Request((Message("user", tuple(parts)),))):
            assert isinstance(item, Completion)
            return item
        raise AssertionError("no completion")

    return asyncio.run(complete())


@pytest.mark.parametrize(
    ("responses", "winner"),
    [
        (["Answer: 3", "so\nAnswer: 4", "Answer: 4.0"], 1),
        (["Answer: 3", "Answer: 4"], 0),
        (["Answer: 4", "Answer: 3", "Answer: 3", "Answer: 4"], 0),
        (["No answer: no", "No answer: no", "Answer: 5"], 2),
        (["\\boxed{\\frac12}", "Answer: 1/2", "0.5"], 1),
        (["(B)", "A", "B. Rome"], 0),
    ],
)
def test_the_answer_that_most_give_wins_and_of_equals_the_first(responses: list[str], winner: int) -> None:
    completion = answered("vote", responses)
    assert completion.text == responses[winner]
    assert completion.usage == NOTHING_USED


def test_a_vote_names_the_voters() -> None:
    reasoning = answered("vote", ["Answer: 3", "Answer: 4", "Answer: 4", "No answer: none"]).reasoning
    assert reasoning.splitlines() == [
        "2 votes for “4”: step 2 (w1), step 3 (w2)",
        "1 vote for “3”: step 1 (w0)",
        "No answer from 1 step.",
    ]


@pytest.mark.parametrize("worker", ["vote", "select"])
@pytest.mark.parametrize("responses", [[], ["No answer: none"]])
def test_without_an_answer_there_is_nothing_to_return(worker: str, responses: list[str]) -> None:
    with pytest.raises(WorkerError, match=f"{worker} sees no answer"):
        answered(worker, responses)


def test_the_response_that_agrees_with_the_others_is_selected() -> None:
    responses = ["the sky is green today", "the sky is blue", "the sky is blue today", "bananas are yellow"]
    completion = answered("select", responses)
    assert completion.text == "the sky is blue today"
    assert "step 4 (w3): estimated distance" in completion.reasoning


def test_smoothie_distances_are_the_triplet_estimates() -> None:
    """For squared distances ab = 1, ac = 1, bc = 2 the estimates are 0, 1 and 1."""
    embeddings = tf_idf(["x", "x", "y"])
    assert smoothie_distances(embeddings) == pytest.approx((0.0, 0.0, 2.0))
    assert smoothie_distances(embeddings[:2]) == (0.0, 0.0)
    corner = ({"a": 0.0}, {"b": 1.0}, {"c": 1.0})
    assert smoothie_distances(corner) == pytest.approx((0.0, 1.0, 1.0))


def test_every_pool_has_them_without_a_number_and_a_worker_of_that_name_replaces_one() -> None:
    pool = Pool(workers=(SimulatedWorker("alpha"),))
    assert pool.names == ("alpha",)
    assert set(pool.cards) == {"alpha", "vote", "select"}
    assert is_computed(pool["vote"].card)
    own = Pool(workers=(SimulatedWorker("vote"),))
    assert own["vote"].card.kind == "simulated"
    assert not is_computed(own["vote"].card)
