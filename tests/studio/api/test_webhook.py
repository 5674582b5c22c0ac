"""A response that ends in the background is announced, signed, to the operator's address."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping
from threading import Event
from typing import Any

import httpx
import pytest
from openai import InvalidWebhookSignatureError
from starlette.applications import Starlette
from starlette.routing import Route

from conductor.errors import ServeError
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from studio.api import webhook
from studio.api.webhook import Receiver, Webhooks, configured_receiver
from tests.studio.api.inbox import SECRET, Inbox
from tests.studio.api.performers import Paced
from tests.studio.api.stage import Stage
from tests.support.endpoints.raw_endpoint import head, raw_endpoint
from tests.support.processes.served_app import serving
from tests.support.runs.conductor_cases import plan_text
from tests.support.runs.waiting import until


@pytest.mark.slow
def test_openais_client_reads_the_event_of_a_complete_response(announced: Stage, inbox: Inbox) -> None:
    with announced.client() as client:
        response = client.responses.create(model="conductor", input="Why?", background=True)
        until(lambda: inbox.got)
        body, headers = inbox.got[0]
        event = client.webhooks.unwrap(body, headers, secret=SECRET)
        assert (event.type, event.data.id, event.object) == ("response.completed", response.id, "event")
        assert client.responses.retrieve(response.id).status == "completed"
        with pytest.raises(InvalidWebhookSignatureError):
            client.webhooks.unwrap(body + b" ", headers, secret=SECRET)
    assert b"Because" not in body
    assert b"Why" not in body


@pytest.mark.slow
def test_only_what_goes_on_in_the_background_is_announced(announced: Stage, inbox: Inbox) -> None:
    with announced.client() as client:
        client.responses.create(model="conductor", input="Why?")
        client.chat.completions.create(model="conductor", messages=[{"role": "user", "content": "Why?"}])
        response = client.responses.create(model="conductor", input="Why?", background=True)
    until(lambda: inbox.got)
    announced.settle(requests=3)
    assert [event["data"]["id"] for event in inbox.events()] == [response.id]


@pytest.mark.slow
def test_a_cancelled_one_and_one_that_waits_at_a_gate_are_announced_as_such(
    announced: Stage, inbox: Inbox
) -> None:
    gate = Event()
    paced = Paced("alpha", pieces=("So ", "it ", "is."), gates={1: gate})
    announced.plays(paced, plans=(plan_text((0, "Say.", "[]")),))
    with announced.client() as client:
        running = client.responses.create(model="conductor", input="Why?", background=True)
        client.responses.cancel(running.id)
        gate.set()
        until(lambda: inbox.got)
        gated = Workflow.of([Step(instruction="Say.", worker="alpha", gate=True)])
        plan = write_plan(gated, query=None, origin="human", workers=("alpha",), label=None)
        waits = client.responses.create(
            model="conductor",
            input="Why?",
            background=True,
            extra_body={"conductor": {"workflow": json.loads(plan)}},
        )
        until(lambda: len(inbox.got) == 2)
    assert [(event["type"], event["data"]) for event in inbox.events()] == [
        ("response.cancelled", {"id": running.id}),
        ("response.incomplete", {"id": waits.id, "reason": "paused"}),
    ]


@pytest.mark.slow
def test_what_is_announced_is_stored_by_then(announced: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    responses: list[str | None] = []
    store = announced.workbench.store

    def send(response: Mapping[str, Any]) -> None:
        responses.append(store.requests.response(response["id"].removeprefix("resp_")))

    monkeypatch.setattr(announced.api.state.runs.webhooks, "send", send)
    with announced.client() as client:
        client.responses.create(model="conductor", input="Why?", background=True)
    assert '"status": "completed"' in str(until(lambda: responses)[0])


# -- deliveries ------------------------------------------------------------------------------------


RECEIVED = {"id": "resp_1", "status": "completed", "incomplete_details": None}


async def delivered(inbox: Inbox, monkeypatch: pytest.MonkeyPatch, *statuses: int, pauses: int = 2) -> str:
    """The outcome of one event whose attempts get these statuses."""
    monkeypatch.setattr(webhook, "PAUSES", (0.01,) * pauses)
    inbox.statuses = statuses
    outcomes: asyncio.Queue[str] = asyncio.Queue()
    webhooks = Webhooks(Receiver(httpx.URL(inbox.address), b"k" * 24), count=outcomes.put_nowait)
    webhooks.send(RECEIVED)
    return await outcomes.get()


@pytest.mark.parametrize(
    ("statuses", "outcome", "attempts"),
    [
        ((500, 503, 200), "delivered", 3),
        ((500,), "given up", 3),
        ((302,), "given up", 3),
        ((410,), "given up", 1),
    ],
)
async def test_an_event_is_sent_until_it_is_taken_or_given_up(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch, statuses: tuple[int, ...], outcome: str, attempts: int
) -> None:
    assert await delivered(inbox, monkeypatch, *statuses) == outcome
    assert len(inbox.got) == attempts
    assert len({headers["webhook-id"] for _, headers in inbox.got}) == 1


async def test_a_receiver_that_sends_the_event_elsewhere_is_given_up_and_nothing_goes_there(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Inbox()
    with serving(Starlette(routes=[Route("/{path:path}", elsewhere.take, methods=["GET", "POST"])])) as port:
        for status in (301, 302, 303, 307, 308):
            monkeypatch.setattr(inbox, "headers", {"Location": f"http://127.0.0.1:{port}/hook"})
            assert await delivered(inbox, monkeypatch, status, pauses=0) == "given up"
    assert elsewhere.got == []


@pytest.mark.slow
@pytest.mark.parametrize(("status", "outcome"), [("200 OK", "delivered"), ("500 No", "given up")])
async def test_of_an_answer_without_an_end_the_status_is_read(
    monkeypatch: pytest.MonkeyPatch, status: str, outcome: str
) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(head(status=status))
        while True:
            writer.write(b"words " * 1000)
            await writer.drain()

    async with raw_endpoint(endless) as base_url:
        assert await delivered(Inbox(address=base_url), monkeypatch, 200, pauses=0) == outcome


@pytest.mark.slow
async def test_a_receiver_whose_head_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def interim(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await writer.drain()

    monkeypatch.setattr(webhook, "PATIENCE", 0.3)
    async with raw_endpoint(interim) as base_url:
        assert await delivered(Inbox(address=base_url), monkeypatch, 200, pauses=0) == "given up"


async def test_a_receiver_that_is_not_there_is_given_up_and_named_without_its_path(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gone = Inbox(address="http://127.0.0.1:9/hook?key=hidden")
    assert await delivered(gone, monkeypatch, 200, pauses=0) == "given up"
    assert "127.0.0.1 was given up" in caplog.text
    assert "hidden" not in caplog.text


@pytest.mark.slow
async def test_a_receiver_that_never_answers_holds_up_no_server_that_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhook, "LAST_SECONDS", 0.05)
    outcomes: list[str] = []
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]
    webhooks = Webhooks(Receiver(httpx.URL(f"http://127.0.0.1:{port}"), b"k" * 24), count=outcomes.append)
    webhooks.send(RECEIVED)
    await asyncio.sleep(0.01)
    await webhooks.stop()
    assert outcomes == ["not sent"]
    silent.close()


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "secret", "reason"),
    [
        ("https://example.org/hook", None, "WEBHOOK_URL is set and CONDUCTOR_WEBHOOK_SECRET is not"),
        (None, SECRET, "WEBHOOK_SECRET is set and CONDUCTOR_WEBHOOK_URL is not"),
        ("ftp://example.org", SECRET, "is no address of HTTP"),
        ("http://example.org:port", SECRET, "is no address"),
        ("https://example.org", "whsec_short", "is no secret of a webhook"),
        ("https://example.org", SECRET.removeprefix("whsec_"), "is no secret of a webhook"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_without_the_secret(
    monkeypatch: pytest.MonkeyPatch, address: str | None, secret: str | None, reason: str
) -> None:
    for name, value in ((webhook.ADDRESS, address), (webhook.SECRET, secret)):
        if value is not None:
            monkeypatch.setenv(name, value)
    with pytest.raises(ServeError, match=reason) as refused:
        configured_receiver()
    assert secret is None or secret not in str(refused.value)


def test_a_faulty_proxy_before_the_receiver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(webhook.ADDRESS, "https://example.org")
    monkeypatch.setenv(webhook.SECRET, SECRET)
    monkeypatch.setenv("ALL_PROXY", "socks4://127.0.0.1:9")
    with pytest.raises(ServeError, match="WEBHOOK_URL cannot be reached: ALL_PROXY names no proxy"):
        configured_receiver()
    monkeypatch.setenv(webhook.ADDRESS, "http://127.0.0.1:7")
    assert configured_receiver() is not None


def test_without_settings_nothing_is_announced() -> None:
    assert configured_receiver() is None


def test_the_key_is_not_printed() -> None:
    assert "kkk" not in repr(Receiver(httpx.URL("https://example.org"), b"k" * 24))
