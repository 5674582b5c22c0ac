"""A response that ends in the background is announced, signed, to the operator's address."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from conductor_cases import plan_text
from openai import InvalidWebhookSignatureError
from performers import Paced, eventually
from served_app import serving
from stage import Stage, staged
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conductor.errors import ServeError
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.api import webhook
from studio.api.webhook import Receiver, Webhooks, configured_receiver

SECRET = "whsec_" + "c2VjcmV0IG9mIHR3ZW50eS1mb3VyIGJ5dGVzIQ=="


@dataclass
class Inbox:
    """A receiver that answers with these statuses in turn, the last one for ever."""

    statuses: tuple[int, ...] = (204,)
    got: list[tuple[bytes, dict[str, str]]] = field(default_factory=list)
    address: str = ""

    async def take(self, request: Request) -> Response:
        self.got.append((await request.body(), dict(request.headers)))
        return Response(status_code=self.statuses[min(len(self.got), len(self.statuses)) - 1])

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body, _ in self.got]


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    inbox = Inbox()
    with serving(Starlette(routes=[Route("/hook", inbox.take, methods=["POST"])])) as port:
        inbox.address = f"http://127.0.0.1:{port}/hook"
        yield inbox


@pytest.fixture
def announced(
    inbox: Inbox, empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stage]:
    """A server whose operator has set the webhook."""
    monkeypatch.setenv(webhook.ADDRESS, inbox.address)
    monkeypatch.setenv(webhook.SECRET, SECRET)
    (tmp_path / "conductor.db").write_bytes(empty_store.read_bytes())
    with staged(SessionStore.open(f"sqlite:///{tmp_path / 'conductor.db'}")) as stage:
        stage.plays(SimulatedWorker(name="alpha", answer="Because."), plans=(plan_text((0, "Say.", "[]")),))
        yield stage


@pytest.mark.slow
def test_openais_client_reads_the_event_of_a_complete_response(announced: Stage, inbox: Inbox) -> None:
    with announced.client() as client:
        response = client.responses.create(model="conductor", input="Why?", background=True)
        eventually(lambda: inbox.got)
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
    eventually(lambda: inbox.got)
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
        eventually(lambda: inbox.got)
        gated = Workflow.of([Step(instruction="Say.", worker="alpha", gate=True)])
        plan = write_plan(gated, query=None, origin="human", workers=("alpha",), label=None)
        waits = client.responses.create(
            model="conductor",
            input="Why?",
            background=True,
            extra_body={"conductor": {"workflow": json.loads(plan)}},
        )
        eventually(lambda: len(inbox.got) == 2)
    assert [(event["type"], event["data"]) for event in inbox.events()] == [
        ("response.cancelled", {"id": running.id}),
        ("response.incomplete", {"id": waits.id, "reason": "paused"}),
    ]


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


def test_without_settings_nothing_is_announced() -> None:
    assert configured_receiver() is None


def test_the_key_is_not_printed() -> None:
    assert "kkk" not in repr(Receiver(httpx.URL("https://example.org"), b"k" * 24))
