"""A marked key is sent to its endpoint and stands nowhere else, whatever goes wrong."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Iterator

import pytest

from conductor.errors import ConductorError
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool, parse_pool
from tests.support.endpoints.chat_cases import completed, endpoint, request, set_key
from tests.support.endpoints.fake_openai import FAULTS, FakeOpenAI, Served, serving
from tests.support.runs.worker_cases import events_of, run_of
from tests.support.runs.workflow_cases import workflow_of

KEY = "sk-marked-0123456789abcdef"


@pytest.fixture(scope="module")
def keyed() -> Iterator[Served]:
    """An endpoint that takes the marked key only."""
    with serving(FakeOpenAI(key=KEY)) as served:
        yield served


@pytest.fixture
def served(keyed: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """It, with nothing logged, and the key in the environment."""
    set_key(monkeypatch, keyed.base_url, KEY)
    keyed.fake.forget()
    return keyed


TIMES = {"fault:slow-first-token": {"first_token": 0.1}, "fault:stall": {"between_tokens": 0.1}}
VALUES = {"fault:unknown-parameter": "=stream_options"}


def _worker(served: Served, model: str) -> OpenAIWorker:
    return OpenAIWorker(
        endpoint(
            served.base_url,
            model + VALUES.get(model, ""),
            api_key_env="ALPHA_API_KEY",
            retries=0,
            **TIMES.get(model, {}),
        ),
        name="alpha",
    )


async def _traces(worker: OpenAIWorker) -> str:
    """All that a call leaves behind: its items, its error with all causes, and everybody's repr."""
    left = [repr(worker), repr(worker.client), repr(worker.card), worker.card.identity, repr(vars(worker))]
    try:
        left += [repr(item) async for item in worker.stream(request())]
    except ConductorError as error:
        left += [repr(error), *traceback.format_exception(error), repr(vars(error))]
    return "\n".join(left)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["simulated", "reasoning-simulated", *(f"fault:{name}" for name in FAULTS)])
async def test_no_call_leaves_the_key_behind(
    served: Served, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    left = await _traces(_worker(served, model))
    await asyncio.sleep(0)  # a connection is closed in the next turn of the loop
    assert served.settled().authorization_sent
    assert KEY not in left
    assert KEY not in caplog.text
    assert "HTTP Request" in caplog.text or "reset" in model
    if model == "fault:leaky-401":
        assert "Incorrect API key provided: Bearer ***" in left
    if model == "fault:leaky-answer":
        assert "text='You sent Bearer ***, as I see.', reasoning='You sent Bearer ***, as I see.'" in left


async def test_no_key_can_be_joined_from_log_probabilities(served: Served) -> None:
    worker = _worker(served, "fault:leaky-answer")
    completion = await completed(worker.stream(request(logprobs=3)))
    assert completion.text == "You sent Bearer ***, as I see."
    tokens = "".join(token.token for token in completion.logprobs)
    # Each has seven letters; those that have one of the key are left out.
    assert tokens == "You sent Beare, as I see."
    likely = [other.token for token in completion.logprobs for other in token.top]
    assert len(likely) == 3 * len(completion.logprobs)


@pytest.mark.parametrize("unfit", [f"{KEY}\n{KEY}", f"{KEY}é", f"{KEY}\t{KEY}"])
async def test_a_key_that_no_header_can_carry_is_not_repeated(
    served: Served, unfit: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("ALPHA_API_KEY", unfit)
    left = await _traces(_worker(served, "simulated"))
    assert "alpha: ALPHA_API_KEY holds characters that no key has" in left
    assert "marked" not in left + caplog.text
    assert not served.log.entries


@pytest.mark.slow
async def test_no_run_leaves_the_key_behind(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    failing = FallbackWorker(_worker(served, "fault:leaky-401"), _worker(served, "simulated"))
    pool = Pool(workers=(failing,))
    events = await events_of(run_of(workflow_of((), (0,)), pool))
    stored = "\n".join(event.model_dump_json() for event in events)
    assert "Bearer ***" in stored
    assert KEY not in stored + caplog.text + repr(pool) + repr(events)


def test_no_pool_shows_the_key(served: Served) -> None:
    text = f"""
        [conductor]
        base_url = "{served.base_url}"
        model = "conductor"
        api_key_env = "ALPHA_API_KEY"

        [[worker]]
        name = "alpha"
        base_url = "{served.base_url}"
        model = "simulated"
        api_key_env = "ALPHA_API_KEY"
    """
    pool = parse_pool(text)
    cards = "".join(card.model_dump_json() + card.identity for card in pool.cards.values())
    assert pool.conductor is not None
    assert KEY not in repr(pool) + cards + pool.conductor.model_dump_json()


async def test_the_list_of_models_leaves_no_key_behind(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    chat = _worker(served, "simulated").client
    assert "simulated" in [model.name for model in await chat.served()]
    wrong = f"{KEY}-wrong"
    monkeypatch.setenv("ALPHA_API_KEY", wrong)
    with pytest.raises(ConductorError) as caught:
        await chat.served()
    left = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert "check the key in ALPHA_API_KEY" in left
    assert KEY not in left
