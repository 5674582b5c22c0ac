"""Several answers to one request: the final step runs again for each, in the request's own session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from threading import Event
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from conductor.values.messages import Completion, Delta, Request
from conductor.workers.protocol import Price, WorkerCard
from conductor.workers.simulated import SimulatedWorker
from studio.access.auth import Principal
from tests.studio.api.performers import Paced
from tests.studio.api.stage import Stage
from tests.support.runs.conductor_cases import plan_text

TWO = plan_text((0, "find", "[]"), (1, "answer", "[0]"))
QUESTION: Any = [{"role": "user", "content": "Who was Ada?"}]


def plays(stage: Stage, *, plans: int = 1) -> tuple[SimulatedWorker, SimulatedWorker]:
    finder = SimulatedWorker(name="finder", answer="A countess.")
    writer = SimulatedWorker(name="writer", answer=lambda _: f"Answer {len(writer.requests)}.")
    stage.plays(finder, writer, plans=(TWO,) * plans)
    return finder, writer


def choices_of(stream: Any) -> dict[int, tuple[str, str | None]]:
    texts: dict[int, tuple[str, str | None]] = {}
    for chunk in stream:
        for choice in chunk.choices:
            text, reason = texts.get(choice.index, ("", None))
            texts[choice.index] = (text + (choice.delta.content or ""), choice.finish_reason or reason)
    return texts


@pytest.mark.parametrize("streamed", [False, True])
def test_the_final_step_alone_runs_again_for_each_further_answer(
    stage: Stage, client: OpenAI, *, streamed: bool
) -> None:
    finder, writer = plays(stage)
    answer: Any = client.chat.completions.create(model="conductor", messages=QUESTION, n=3, stream=streamed)
    if streamed:
        choices = choices_of(answer)
    else:
        choices = {each.index: (each.message.content, each.finish_reason) for each in answer.choices}
    assert choices == {at: (f"Answer {at + 1}.", "stop") for at in range(3)}
    assert (len(finder.requests), len(writer.requests)) == (1, 3)
    stage.settle(requests=3)


def test_usage_and_metadata_are_of_all_answers(stage: Stage, client: OpenAI) -> None:
    plays(stage)
    whole: Any = client.chat.completions.create(model="conductor", messages=QUESTION, n=2)
    stage.settle(requests=2)
    final = whole.conductor["steps"][1]["usage"]
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (final["prompt_tokens"], 2 + 2)
    assert whole.usage.conductor["total_tokens"] == sum(stage.auth.used) == whole.conductor["tokens"]
    assert whole.usage.conductor["calls"] == 4
    assert whole.conductor["calls"] == 4, "a plan, two steps and the second one again"
    runs = stage.workbench.store.runs.of_session(whole.conductor["session"])
    assert {each["run"] for each in whole.conductor["choices"]} == {run.id for run in runs}


def test_several_answers_are_stored_as_one_completion(stage: Stage, client: OpenAI) -> None:
    plays(stage)
    whole = client.chat.completions.create(model="conductor", messages=QUESTION, n=2, store=True)
    assert client.chat.completions.retrieve(whole.id) == whole


def test_nothing_is_left_of_several_answers_that_are_not_to_be_stored(stage: Stage, client: OpenAI) -> None:
    plays(stage)
    whole: Any = client.chat.completions.create(model="conductor", messages=QUESTION, n=2, store=False)
    stage.settle(requests=2)
    assert len(whole.choices) == 2
    assert stage.workbench.store.sessions.named(whole.conductor["session"]) == ()


@pytest.mark.parametrize("stored", [True, False])
def test_a_client_that_leaves_stops_the_answer_that_is_written(stage: Stage, *, stored: bool) -> None:
    class StuckAfterwards(Paced):
        async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
            try:
                async for item in super().stream(request):
                    yield item
            finally:
                self.gates[1] = Event()

    writer = StuckAfterwards("writer", ["So", "."])
    stage.plays(SimulatedWorker(name="finder", answer="A countess."), writer, plans=(TWO,))
    body = {"model": "conductor", "messages": QUESTION, "n": 2, "stream": True, "store": stored}
    with httpx.stream("POST", f"{stage.base_url}/chat/completions", json=body) as answer:
        session = answer.headers["x-request-id"]
        lines = answer.iter_lines()
        assert any('"index": 1' in line for line in lines)
    stage.settle(requests=2)
    runs = [run.status for run in stage.workbench.store.runs.of_session(session)] if stored else []
    assert sorted(runs) == (["cancelled", "finished"] if stored else [])
    assert bool(stage.workbench.store.sessions.named(session)) == stored


@pytest.mark.parametrize("streamed", [False, True])
def test_the_budget_is_that_of_all_answers(stage: Stage, client: OpenAI, *, streamed: bool) -> None:
    _, writer = plays(stage)
    steering = {"conductor": {"budget": {"calls": 3}}}
    with pytest.raises(openai.APIError) as refused:
        choices_of(
            client.chat.completions.create(
                model="conductor", messages=QUESTION, n=2, stream=streamed, extra_body=steering
            )
        )
    assert refused.value.code == "budget_exceeded"
    assert len(writer.requests) == 1


@pytest.mark.parametrize("budget", [{"tokens": 700}, {"cost": 0.0007}])
def test_an_answer_without_a_report_takes_of_the_budget_by_estimate(
    stage: Stage, client: OpenAI, budget: dict[str, float]
) -> None:
    requests: list[Request] = []
    price = Price(prompt=1.0, completion=1.0)

    class Silent:
        card = WorkerCard(name="writer", kind="model", strengths="writes", model="m", price=price)

        async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
            requests.append(request)
            yield Delta("word " * 400)
            yield Completion("word " * 400)

    stage.plays(Silent())
    with pytest.raises(openai.APIError) as refused:
        client.chat.completions.create(
            model="worker:writer", messages=QUESTION, n=4, extra_body={"conductor": {"budget": budget}}
        )
    assert refused.value.code == "budget_exceeded"
    assert len(requests) == 2


def test_a_worker_alone_answers_several_times(stage: Stage, client: OpenAI) -> None:
    _, writer = plays(stage)
    whole = client.chat.completions.create(model="worker:writer", messages=QUESTION, n=4)
    assert [each.message.content for each in whole.choices] == [f"Answer {at}." for at in range(1, 5)]
    assert len({request.messages for request in writer.requests}) == 1, "each is sent the same"


def test_an_answer_that_fails_is_the_error_of_all(stage: Stage, client: OpenAI) -> None:
    finder = SimulatedWorker(name="finder", answer="A countess.")
    writer = SimulatedWorker(name="writer", answer="Fine.", fail_calls=frozenset({1}))
    stage.plays(finder, writer, plans=(TWO,))
    with pytest.raises(openai.APIStatusError, match="set to fail") as failed:
        client.chat.completions.create(model="conductor", messages=QUESTION, n=3)
    assert failed.value.code == "run_failed"
    assert len(writer.requests) == 2


TOOL: Any = {"type": "function", "function": {"name": "look"}}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"n": 5}, "1 to 4 answers"),
        ({"n": 0}, "1 to 4 answers"),
        ({"n": 2, "tools": [TOOL]}, "the calls of one answer"),
    ],
)
def test_what_cannot_be_repeated_is_refused(
    stage: Stage, client: OpenAI, more: dict[str, Any], message: str
) -> None:
    _, writer = plays(stage)
    with pytest.raises(openai.BadRequestError, match=message) as refused:
        client.chat.completions.create(model="conductor", messages=QUESTION, **more)
    assert refused.value.param == "n"
    assert writer.requests == []


def test_a_token_that_may_not_use_the_writer_gets_no_further_answer(stage: Stage, client: OpenAI) -> None:
    _, writer = plays(stage)
    stage.auth.principal = Principal(workers=frozenset({"finder"}))
    with pytest.raises(openai.PermissionDeniedError):
        client.chat.completions.create(model="worker:writer", messages=QUESTION, n=2)
    assert writer.requests == []
