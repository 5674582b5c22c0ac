"""A vote and a selection return one visible response unchanged, and report how they came to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from conductor.errors import WorkerError
from conductor.values.messages import NOTHING_USED, Completion, Message, Part, Request
from conductor.workers.computed import COMPUTED_WORKERS, is_computed
from conductor.workers.computed.select import (
    SelectWorker,
    heaviest,
    smoothie_weights,
    squared_distances,
    tf_idf,
)
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.embeddings import EmbeddingClient
from conductor.workers.pool.pool import Pool
from conductor.workers.pool.schema import EmbeddingsTable
from conductor.workers.simulated import SimulatedWorker
from tests.support.endpoints.fake_openai import Served


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
        (["Answer: 2", "\\boxed{\\frac12}", "Answer: 1/2", "0.5"], 1),
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
@pytest.mark.parametrize("responses", [[], ["No answer: none"] * 2])
def test_without_an_answer_there_is_nothing_to_return(worker: str, responses: list[str]) -> None:
    with pytest.raises(WorkerError, match=f"{worker} sees no answer"):
        answered(worker, responses)


@pytest.mark.parametrize(("response", "reason"), [("So.", "stop"), ("No answer: none", "refused")])
def test_a_selection_of_one_is_that_one(response: str, reason: str) -> None:
    completion = answered("select", [response])
    assert (completion.text, completion.finish_reason) == (response, reason)


def test_the_response_that_agrees_with_the_others_is_selected() -> None:
    responses = ["the sky is green today", "the sky is blue", "the sky is blue today", "bananas are yellow"]
    completion = answered("select", responses)
    assert completion.text == "the sky is blue today"
    assert "step 4 (w3): weight 0." in completion.reasoning


@pytest.mark.parametrize(
    ("apart", "weights"),
    [
        # ij, ik, jk = 3, 5, 4: the estimates (ij + ik - jk) / 2 and so on are 2, 1 and 3, their reciprocals
        # 1/2, 1 and 1/3 of a sum of 11/6.
        ([[0, 3, 5], [3, 0, 4], [5, 4, 0]], (3 / 11, 6 / 11, 2 / 11)),
        # Four voters: each estimate is a mean over three triplets, here 1, 1, 2 and 3.
        ([[0, 2, 3, 4], [2, 0, 3, 4], [3, 3, 0, 5], [4, 4, 5, 0]], (6 / 17, 6 / 17, 3 / 17, 2 / 17)),
        # A negative estimate has a negative weight: -1/2, 5/2 and 5/2 have the reciprocals -2, 2/5 and 2/5.
        ([[0, 2, 2], [2, 0, 5], [2, 5, 0]], (2 / 1.2, -0.4 / 1.2, -0.4 / 1.2)),
        ([[0, 0, 2], [0, 0, 2], [2, 2, 0]], (0.5, 0.5, 0.0)),
        ([[0, 1], [1, 0]], (0.5, 0.5)),
    ],
)
def test_weights_are_those_of_smoothies_triplets(
    apart: list[list[float]], weights: tuple[float, ...]
) -> None:
    assert smoothie_weights(apart) == pytest.approx(weights)


def test_distances_are_squared_and_of_the_largest_weights_the_first_counts() -> None:
    assert squared_distances(tf_idf(["x", "x", "y"])) == [[0, 0, 2], [0, 0, 2], [2, 2, 0]]
    assert heaviest((0.2, 0.4, 0.4)) == 1


async def test_a_selection_may_be_by_a_models_embeddings(fake_openai: Served) -> None:
    client = EmbeddingClient(Endpoint(base_url=fake_openai.base_url, model="letters"), name="embeddings")
    pool = Pool(
        workers=(SimulatedWorker("alpha"),),
        embeddings=EmbeddingsTable(base_url=fake_openai.base_url, model="letters"),
    )
    worker = pool["select-embeddings"]
    assert worker.card == SelectWorker(client).card
    assert (worker.card.model, is_computed(worker.card)) == ("computed/select (letters)", True)
    # No word in common; the letters of the second and the third are the same.
    responses = ["xyzzy", "listen", "silent"]
    parts = [Part("response", text, at, f"w{at}") for at, text in enumerate(responses)]
    async for completion in worker.stream(Request((Message("user", tuple(parts)),))):
        assert isinstance(completion, Completion)
        assert completion.text == "listen"
        assert completion.usage.prompt_tokens == 3


def test_every_pool_has_them_without_a_number_and_a_worker_of_that_name_replaces_one() -> None:
    pool = Pool(workers=(SimulatedWorker("alpha"),))
    assert pool.names == ("alpha",)
    assert set(pool.cards) == {"alpha", "vote", "select"}
    assert is_computed(pool["vote"].card)
    own = Pool(workers=(SimulatedWorker("vote"),))
    assert own["vote"].card.kind == "simulated"
    assert not is_computed(own["vote"].card)
