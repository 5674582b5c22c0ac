"""A replica without Serve: what it refuses, and how it ends a request whose client has left."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from conductor.errors import ClusterError
from conductor.workers.pool.pool import orchard_pool
from studio.cluster.api_replica import ApiReplica, ApiSettings, Shielded
from studio.cluster.brief import Brief
from studio.cluster.proxy import OwnErrors, OwnRequestId

HTTP: Scope = {"type": "http", "method": "POST", "path": "/"}
BRIEF = Brief.of(orchard_pool(), Path("orchard"))


def test_a_machine_that_cannot_be_used_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", "")
    settings = ApiSettings("1", frozenset(), {"CONDUCTOR_DATABASE_URL": "sqlite:////tmp/studio.db"})
    reason = "CONDUCTOR_DATABASE_URL does not name the store there"
    with pytest.raises(ClusterError, match=f"On the machine .*{reason}"):
        ApiReplica(BRIEF, settings)


async def nothing_more() -> Message:
    """What Serve's `receive` does behind the body."""
    await asyncio.Event().wait()
    raise AssertionError("it waits for ever")


async def unsent(_: Message) -> None:
    pytest.fail("nothing is sent")


async def test_a_cancelled_request_finds_that_its_client_left_and_ends_in_order() -> None:
    seen: list[str] = []
    start, ended = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        start.set()
        seen.append((await receive())["type"])
        # Cut off here, it would leave what it began.
        await asyncio.sleep(0.01)
        seen.append((await receive())["type"])
        ended.set()

    request = asyncio.create_task(Shielded(app)(HTTP, nothing_more, unsent))
    await start.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    await asyncio.wait_for(ended.wait(), timeout=60)
    assert seen == ["http.disconnect", "http.disconnect"]


async def test_other_requests_pass_as_they_are() -> None:
    sent: list[Message] = []

    async def body() -> Message:
        return {"type": "http.request", "body": b"asked", "more_body": False}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.body", "body": (await receive())["body"]})

    async def send(message: Message) -> None:
        sent.append(message)

    await Shielded(app)(HTTP, body, send)
    assert sent == [{"type": "http.response.body", "body": b"asked"}]

    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("of the app")

    with pytest.raises(ValueError, match="of the app"):
        await Shielded(failing)(HTTP, body, send)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(b"x-request-id", b"session"), (b"X-Request-ID", b"serve")], [(b"x-request-id", b"session")]),
        ([(b"a", b"b"), (b"X-Request-ID", b"serve")], [(b"a", b"b"), (b"X-Request-ID", b"serve")]),
    ],
)
async def test_an_answer_has_one_id_the_api_s_where_it_has_one(
    headers: list[tuple[bytes, bytes]], expected: list[tuple[bytes, bytes]]
) -> None:
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def send(message: Message) -> None:
        sent.append(message)

    await OwnRequestId(app)(HTTP, nothing_more, send)
    assert sent[0]["headers"] == expected


def plain(status: int, text: bytes) -> list[Message]:
    """What a proxy answers itself."""
    headers = [[b"content-type", b"text/plain; charset=utf-8"]]
    start = {"type": "http.response.start", "status": status, "headers": headers}
    return [start, {"type": "http.response.body", "body": text}]


@pytest.mark.parametrize(
    ("path", "messages", "status", "code", "may_be_repeated"),
    [
        # A replica that was lost before its headers.
        ("/v1/chat/completions", [], 502, "run_interrupted", False),
        ("/v1/models", plain(503, b"Deployment api is unavailable."), 503, "no_replica", True),
        ("/v1/models", plain(404, b"Path '/v1/models' not found."), 503, "no_replica", True),
        ("/readyz", plain(503, b"unavailable"), 503, None, True),
        ("/v1/models", plain(200, b"fine"), 200, None, True),
    ],
)
async def test_a_proxy_without_a_replica_that_answers_has_an_error_in_openai_s_shape(
    path: str, messages: list[Message], status: int, code: str | None, may_be_repeated: bool
) -> None:
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    await OwnErrors(app)(scope, nothing_more, send)
    if code is None:
        assert sent == messages
        return
    start, body = sent
    assert start["status"] == status
    assert ((b"x-should-retry", b"false") not in start["headers"]) is may_be_repeated
    error = json.loads(body["body"])["error"]
    assert error["code"] == code
    assert error.keys() == {"message", "type", "param", "code"}
