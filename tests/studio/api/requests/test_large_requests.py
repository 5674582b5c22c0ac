"""Requests of very many values: refused before they are read whole, while streams go on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from conductor.workflow.file import write_plan
from conductor.workflow.model import MAX_WRITTEN_STEPS, Step, Workflow
from studio.access.errors import ApiError
from studio.api.requests.body import MAX_VALUES
from studio.api.requests.chat_request import ChatRequest
from studio.api.requests.request import MAX_MEMBERS, MAX_MESSAGES, MAX_PARTS
from studio.api.requests.responses_request import ResponsesRequest
from tests.studio.api.performers import Paced
from tests.studio.api.stage import Stage

PIECE = 65_536
HELLO = {"role": "user", "content": "a"}
REQUEST: dict[str, Any] = {"model": "worker:alpha", "messages": [HELLO]}
MANY: dict[str, Callable[[], dict[str, Any]]] = {
    "messages": lambda: {"messages": [HELLO] * 150_000},
    "members": lambda: {f"k{at}": 1 for at in range(700_000)},
    "parts": lambda: {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}] * 150_000}]},
    "a workflow": lambda: {"conductor": {"workflow": {f"k{at}": [] for at in range(400_000)}}},
    "empty lists": lambda: {"stop": [[]] * 700_000},
}


class Client:
    """Sends a body to an ASGI app in pieces; `turns` are those that a stream had before the answer began."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.read = 0
        self.read_before_answer: int | None = None
        self.turns = 0
        self.status = 0
        self.answer = b""

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(0)
        piece = self._body[self.read : self.read + PIECE]
        self.read += len(piece)
        return {"type": "http.request", "body": piece, "more_body": self.read < len(self._body)}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.read_before_answer = message["status"], self.read
        self.answer += message.get("body", b"")

    async def stream(self) -> None:
        """What goes on in the same event loop meanwhile."""
        while self.read_before_answer is None:
            self.turns += 1
            await asyncio.sleep(0)


def scope(path: str) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"transfer-encoding", b"chunked")],
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
    }


@pytest.mark.thorough
@pytest.mark.parametrize("many", MANY)
async def test_a_request_of_very_many_values_is_refused_before_it_is_read_whole(
    stage: Stage, many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []
    monkeypatch.setattr(ChatRequest, "read", lambda content: parsed.append(len(content)))
    client = Client(json.dumps({**REQUEST, **MANY[many]()}).encode())
    stream = asyncio.create_task(client.stream())
    await stage.api(scope("/chat/completions"), client.receive, client.send)
    await stream
    error = json.loads(client.answer)["error"]
    assert (client.status, error["code"]) == (413, "request_too_large")
    assert f"{MAX_VALUES:,} values" in error["message"]
    assert client.read_before_answer is not None
    assert client.read_before_answer < len(client._body) / 2
    assert client.turns >= client.read_before_answer // PIECE, "a stream has a turn for each piece"
    assert not parsed, "no parser has seen any of it"


@pytest.mark.slow
def test_the_most_messages_with_all_that_clients_send_back_have_room_beside_the_largest_plan_of_a_model(
    stage: Stage,
) -> None:
    stage.plays(Paced("alpha", ["So."]))
    answered = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "a", "annotations": [], "logprobs": []}],
    }
    steps = [
        Step(instruction="a", worker="alpha", access=tuple(range(at))) for at in range(MAX_WRITTEN_STEPS)
    ]
    workflow = json.loads(
        write_plan(Workflow.of(steps), query="?", origin="import", workers=("alpha",), label=None)
    )
    turns = [HELLO, answered] * (MAX_MESSAGES // 2 - 1)
    request = {
        "model": "conductor",
        "input": [*turns, HELLO],
        "conductor": {"workflow": workflow, "budget": {"calls": 1}},
    }
    answer = httpx.post(f"{stage.base_url}/responses", json=request, timeout=60)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "budget_exceeded", "it was taken, and its run begun"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "most"),
    [
        ("messages", [HELLO] * (MAX_MESSAGES + 1), MAX_MESSAGES),
        (
            "messages.0.content",
            [{"role": "user", "content": [{"type": "text", "text": "a"}] * (MAX_PARTS + 1)}],
            MAX_PARTS,
        ),
    ],
)
def test_a_list_that_is_too_long_is_refused_with_its_limit(name: str, value: Any, most: int) -> None:
    with pytest.raises(ApiError) as refused:
        ChatRequest.read(json.dumps({**REQUEST, "messages": value}).encode())
    assert refused.value.param == name
    assert f"array should have at most {most} items, not {most + 1}" in str(refused.value)
    with pytest.raises(ApiError) as of_responses:
        ResponsesRequest.read(json.dumps({"model": "a", "input": [HELLO] * (MAX_MESSAGES + 1)}).encode())
    assert f"array should have at most {MAX_MESSAGES} items" in str(of_responses.value)


def test_an_object_of_too_many_members_is_refused_before_each_of_them_is_an_error() -> None:
    for inside in ({}, {"conductor": {"workflow": dict.fromkeys(map(str, range(MAX_MEMBERS + 1)))}}):
        request = {**REQUEST, **inside, **({} if inside else {str(at): 1 for at in range(MAX_MEMBERS)})}
        with pytest.raises(ApiError, match=rf"the limit is {MAX_MEMBERS}\."):
            ChatRequest.read(json.dumps(request).encode())


def test_only_the_first_wrong_message_is_described() -> None:
    with pytest.raises(ApiError) as refused:
        ChatRequest.read(
            json.dumps({**REQUEST, "messages": [1, HELLO, {"role": "tool", "content": []}]}).encode()
        )
    assert refused.value.param == "messages.0"


@pytest.mark.thorough
@pytest.mark.slow
def test_a_conversation_that_earlier_responses_make_too_long_is_refused(stage: Stage) -> None:
    stage.plays(Paced("alpha", ["So."]))
    with stage.client() as client:
        first = client.responses.create(
            model="worker:alpha",
            input=[HELLO] * (MAX_MESSAGES - 1),  # type: ignore[arg-type,list-item]
        )
        again = {"model": "worker:alpha", "input": [HELLO] * 3, "previous_response_id": first.id}
        answer = httpx.post(f"{stage.base_url}/responses", json=again)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert f"the limit is {MAX_MESSAGES:,}" in answer.json()["error"]["message"]
