"""The log proves things: what was sent, what became of it, and that a client's leaving was seen."""

from __future__ import annotations

import asyncio
from threading import Thread

import httpx
import pytest
from asking import Asking
from fake_openai_server import Served, serving

from conductor.fake_openai.app import FakeOpenAI
from conductor.fake_openai.performance import Performance
from conductor.fake_openai.script import Head, Reset


def test_bodies_are_kept_as_they_were_sent(asking: Asking, fake_openai: Served) -> None:
    body = asking.body(reasoning_effort="low", extra={"deep": [1, None]})
    asking.client.post("chat/completions", json=body)
    asking.client.post("chat/completions", content=b"{")
    first, second = fake_openai.log.entries
    assert (first.number, first.path, first.body) == (0, "/v1/chat/completions", body)
    assert (first.status, first.outcome, first.authorization_sent) == (200, "answered", False)
    assert (second.number, second.status, second.body, second.outcome) == (1, 400, None, "answered")


def test_another_process_reads_the_same_log(asking: Asking, fake_openai: Served) -> None:
    asking.client.get("models", headers={"authorization": "Bearer sk-marked"})
    asking.stream()
    told = httpx.get(f"{fake_openai.root_url}/log")
    models, chat = told.json()["requests"]
    assert (models["path"], models["authorization_sent"], models["status"]) == ("/v1/models", True, 200)
    assert chat["body"]["stream"] is True
    assert chat["received_at"] <= chat["ended_at"] <= told.json()["now"]
    assert "sk-marked" not in told.text


@pytest.mark.parametrize("body", [{"stream": True, "fault": "stall"}, {"fault": "slow-first-token"}])
async def test_a_cancelled_request_is_seen_leaving_within_a_second(
    fake_openai: Served, body: dict[str, object]
) -> None:
    asked = {"model": "simulated", "messages": [{"role": "user", "content": "?"}], **body}
    async with httpx.AsyncClient(base_url=fake_openai.base_url) as client:
        call = asyncio.create_task(client.post("chat/completions", json=asked))
        arrived = await asyncio.to_thread(fake_openai.log.wait_for, bool, seconds=5)
        assert arrived
        assert fake_openai.log.entries[0].outcome is None
        call.cancel()
        await asyncio.wait([call])
        entry = await asyncio.to_thread(fake_openai.settled, within=1.0)
    assert entry.disconnected


@pytest.mark.slow
def test_leaving_in_the_middle_of_a_huge_answer_is_seen(asking: Asking, fake_openai: Served) -> None:
    body = asking.body(stream=True, fault="huge=100")
    with asking.client.stream("POST", "chat/completions", json=body) as response:
        next(response.iter_raw())
    assert fake_openai.settled().disconnected
    assert fake_openai.settled().pieces < 25_000


def test_waiting_in_vain_comes_back(fake_openai: Served) -> None:
    assert not fake_openai.log.wait_for(bool, seconds=0.01)


def test_forgetting_clears_the_log_and_the_counts(asking: Asking, fake_openai: Served) -> None:
    for _ in range(2):
        assert asking.post(fault="error-500-then-200").status_code == 500
        fake_openai.fake.forget()
    assert fake_openai.log.entries == ()


def test_stopping_breaks_off_what_is_under_way() -> None:
    with serving(FakeOpenAI()) as served:
        failures: list[httpx.HTTPError] = []

        def ask() -> None:
            with httpx.Client(base_url=served.base_url, timeout=30) as client:
                try:
                    Asking(client).post(stream=True, fault="stall")
                except httpx.HTTPError as error:
                    failures.append(error)

        asker = Thread(target=ask)
        asker.start()
        stalled = served.log.wait_for(lambda entries: bool(entries) and entries[0].pieces > 0, seconds=5)
    asker.join(5)
    assert stalled
    assert len(failures) == 1
    assert served.log.entries[0].outcome == "disconnected"


async def test_an_app_without_its_server_says_that_it_cannot_reset() -> None:
    fake = FakeOpenAI()
    entry = fake.log.received("/v1/chat/completions", authorization_sent=False)
    performance = Performance((Head(), Reset()), entry=entry, log=fake.log, break_off=fake.break_off)

    async def receive() -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    async def send(_: object) -> None: ...

    with pytest.raises(RuntimeError, match="FakeServer"):
        await performance({"type": "http"}, receive, send)
