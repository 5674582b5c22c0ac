"""The simulated worker is true to its settings: same seed, same text; its pace and its faults."""

from __future__ import annotations

import pytest

from conductor.errors import WorkerError
from conductor.values.messages import Completion, Delta, Message, Part, Request
from conductor.workers.simulated import SimulatedWorker
from tests.support.runs.simulated_time import in_simulated_time, now


def request(instruction: str = "do") -> Request:
    return Request(messages=(Message(role="user", parts=(Part(kind="instruction", text=instruction),)),))


def request_text(request: Request) -> str:
    return request.instruction


async def items_of(worker: SimulatedWorker, instruction: str = "do") -> list[Delta | Completion]:
    return [item async for item in worker.stream(request(instruction))]


async def text_of(worker: SimulatedWorker, instruction: str = "do") -> str:
    return (await items_of(worker, instruction))[-1].text


async def test_the_same_seed_name_and_request_give_the_same_text() -> None:
    text = await text_of(SimulatedWorker(name="alpha", tokens=30))
    assert len(text.split(" ")) == 30
    assert await text_of(SimulatedWorker(name="alpha", tokens=30)) == text
    assert await text_of(SimulatedWorker(name="beta", tokens=30)) != text
    assert await text_of(SimulatedWorker(name="alpha", tokens=30, seed=1)) != text
    assert await text_of(SimulatedWorker(name="alpha", tokens=30), "do it") != text


@pytest.mark.parametrize("pace", [None, 5000.0])
@pytest.mark.parametrize("answer", ["one two  three\nfour", "", "one"])
async def test_deltas_joined_are_the_completion(pace: float | None, answer: str) -> None:
    *deltas, completion = await items_of(SimulatedWorker(name="alpha", answer=answer, tokens_per_second=pace))
    assert isinstance(completion, Completion)
    assert "".join(delta.text for delta in deltas) == completion.text == answer


async def test_an_answer_may_be_a_function_of_the_request() -> None:
    worker = SimulatedWorker(name="alpha", answer=lambda request: request.instruction.upper())
    assert await text_of(worker, "shout") == "SHOUT"


def test_it_takes_its_time() -> None:
    async def duration(worker: SimulatedWorker) -> float:
        await items_of(worker)
        return now()

    assert in_simulated_time(duration(SimulatedWorker(name="alpha", latency=50, tokens=5))) == 50
    paced = SimulatedWorker(name="alpha", latency=50, tokens=5, tokens_per_second=0.1)
    assert in_simulated_time(duration(paced)) == 100


async def test_it_fails_on_the_calls_it_was_set_to_after_half_the_text() -> None:
    worker = SimulatedWorker(
        name="alpha", answer="one two three four", tokens_per_second=5000, fail_calls=frozenset((1,))
    )
    assert await text_of(worker) == "one two three four"
    stream = worker.stream(request())
    assert [(await anext(stream)).text, (await anext(stream)).text] == ["one", " two"]
    with pytest.raises(WorkerError, match="alpha was set to fail"):
        await anext(stream)
    assert await text_of(worker) == "one two three four"


async def test_it_fails_on_an_instruction_and_remembers_what_it_was_sent() -> None:
    worker = SimulatedWorker(name="alpha", fail_on="bad")
    with pytest.raises(WorkerError):
        await items_of(worker, "a bad one")
    await items_of(worker, "a good one")
    assert worker.requests == [request("a bad one"), request("a good one")]


def test_its_card_states_simulated() -> None:
    card = SimulatedWorker(name="alpha", seed=7).card
    assert (card.name, card.kind) == ("alpha", "simulated")
    assert card.model.startswith("simulated-7-")


def test_workers_that_may_answer_differently_have_different_identities() -> None:
    workers = [
        SimulatedWorker(name="alpha"),
        SimulatedWorker(name="beta"),
        SimulatedWorker(name="alpha", seed=1),
        SimulatedWorker(name="alpha", tokens=41),
        SimulatedWorker(name="alpha", answer="None"),
        SimulatedWorker(name="alpha", answer="other"),
        SimulatedWorker(name="alpha", answer=request_text),
        SimulatedWorker(name="alpha", answer=f"{__name__}.request_text"),
        SimulatedWorker(name="alpha", fail_on="bad"),
    ]
    assert len({worker.card.identity for worker in workers}) == len(workers)


def test_workers_that_differ_only_in_pace_have_one_identity() -> None:
    slow = SimulatedWorker(name="alpha", answer=request_text, latency=1, tokens_per_second=2)
    assert slow.card.identity == SimulatedWorker(name="alpha", answer=request_text).card.identity


async def test_queued_texts_answer_the_next_calls_in_order_and_then_its_own_one() -> None:
    worker = SimulatedWorker(name="alpha", answer="own")
    worker.enqueue("first", "second")
    texts = [await text_of(worker) for _ in range(3)]
    assert texts == ["first", "second", "own"]
