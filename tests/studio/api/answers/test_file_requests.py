"""Files in requests: who is sent them, what is stored of them, and what is refused."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI
from sqlalchemy import select

from conductor.files import file_text
from conductor.limited.command import Ended
from conductor.values.message_parts.attached_file import AttachedFile
from conductor.workers.simulated import SimulatedWorker
from storage.database.schema import EVENTS, FRAGMENTS, LONG_TEXTS, SESSIONS
from tests.studio.api.stage import Stage
from tests.support.cases.attached_files import pdf
from tests.support.runs.conductor_cases import plan_text
from tests.support.stores.session_files import exported, imported

TWO = plan_text((0, "look", "[]"), (1, "answer", "[0]"))
REPORT = pdf("The river has 6650 km.")


def data(content: bytes = REPORT, prefix: str = "data:application/pdf;base64,") -> str:
    return prefix + b64encode(content).decode()


def chat_file(content: bytes = REPORT, name: str = "report.pdf", **more: Any) -> dict[str, Any]:
    return {"type": "file", "file": {"file_data": data(content), "filename": name, **more}}


def input_file(content: bytes = REPORT, **more: Any) -> dict[str, Any]:
    return {"type": "input_file", "file_data": data(content, ""), "filename": "report.pdf", **more}


def user(*parts: Any) -> Any:
    return [{"role": "user", "content": list(parts)}]


def texts(worker: SimulatedWorker) -> list[str]:
    """The text of each message of the worker's last request."""
    return [message.content for message in worker.requests[-1].messages]


def test_every_step_and_the_conductor_see_the_text_of_a_file(stage: Stage, client: OpenAI) -> None:
    alpha, beta = SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")
    conductor = stage.plays(alpha, beta, plans=(TWO,))
    messages = user(chat_file(), {"type": "text", "text": "How long?"})
    client.chat.completions.create(model="conductor", messages=messages)
    for worker in (alpha, beta):
        assert "[File report.pdf]\nThe river has 6650 km.\n[End of report.pdf]" in texts(worker)[0]
    (file,) = conductor.requests[0].conversation.files
    assert file == AttachedFile(name="report.pdf", text="The river has 6650 km.")


def test_a_worker_alone_is_sent_it_behind_the_question(stage: Stage, client: OpenAI) -> None:
    alpha = SimulatedWorker(name="alpha")
    stage.plays(alpha)
    client.responses.create(
        model="worker:alpha", input=user({"type": "input_text", "text": "How long?"}, input_file())
    )
    assert texts(alpha) == ["How long?\n\n[File report.pdf]\nThe river has 6650 km.\n[End of report.pdf]"]


def test_a_file_of_an_earlier_response_is_sent_again(stage: Stage, client: OpenAI) -> None:
    alpha = SimulatedWorker(name="alpha")
    stage.plays(alpha)
    messages = user({"type": "input_text", "text": "How long?"}, input_file())
    first = client.responses.create(model="worker:alpha", input=messages)
    client.responses.create(model="worker:alpha", input="And wide?", previous_response_id=first.id)
    assert "6650 km" in texts(alpha)[0]
    assert texts(alpha)[-1] == "And wide?"
    items = client.responses.input_items.list(first.id).data
    assert [part.type for part in items[0].content] == ["input_text", "input_file"]


def test_its_session_has_it_once_and_takes_it_along_in_its_file(
    stage: Stage, client: OpenAI, tmp_path: Any
) -> None:
    stage.plays(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta"), plans=(TWO,))
    long = ("Rivers and their lengths. " * 400).strip()
    messages = user({"type": "text", "text": "How long?"}, chat_file(long.encode(), "../a/<b>notes.txt"))
    answer: Any = client.chat.completions.create(model="conductor", messages=messages)
    store = stage.workbench.store
    session = answer.conductor["session"]
    (file,) = store.sessions.find(session).earlier_conversation.files
    assert (file.name, file.text) == ("bnotes.txt", long)
    with store._transactions.database.transaction(to="read") as connection:
        own = select(LONG_TEXTS.c.text).where(LONG_TEXTS.c.session == session)
        assert sum(long in text for text in connection.scalars(own)) == 1
        for column in (EVENTS.c.event, SESSIONS.c.conversation, FRAGMENTS.c.text):
            assert not any(long in str(row) for row in connection.execute(select(column)))
    again = imported(store, exported(store, session))
    assert again.earlier_conversation.files == (file,)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (chat_file(b"%PDF-1.4 broken"), "cannot be read as a PDF"),
        (chat_file(b"\0\1"), "UTF-16-BE without a mark; save it as UTF-8"),
        ({"type": "file", "file": {"file_data": "???", "filename": "a"}}, "its base64 cannot be read"),
        (chat_file(file_id="file-1"), "no files are stored here"),
        ({"type": "file", "file": {"filename": "a"}}, "file_data"),
    ],
)
def test_a_file_that_cannot_be_taken_is_refused_by_name(
    stage: Stage, client: OpenAI, part: dict[str, Any], reason: str
) -> None:
    stage.plays(SimulatedWorker(name="alpha"))
    with pytest.raises(openai.BadRequestError, match=reason) as refused:
        client.chat.completions.create(model="worker:alpha", messages=user(part))
    assert (refused.value.param or "").startswith("messages.0.content.0")


WHY = {"type": "text", "text": "How long?"}
WHY_INPUT = {"type": "input_text", "text": "How long?"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat/completions", {"messages": user(WHY, chat_file())}),
        ("/responses", {"input": user(WHY_INPUT, input_file())}),
        ("/responses", {"input": user(WHY_INPUT, input_file()), "previous_response_id": ""}),
    ],
)
@pytest.mark.parametrize("name", ["file_data", r"\u0066ile_data", r"file\u005Fdata"])
def test_others_are_answered_while_a_pdf_is_read(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any], name: str
) -> None:
    stage.plays(SimulatedWorker(name="alpha"))
    reading, free = Event(), Event()

    async def held(*command: Any, **options: Any) -> Ended:
        reading.set()
        await asyncio.to_thread(free.wait)
        return Ended(json.dumps(["6650 km", 1, 1]), code=0)

    monkeypatch.setattr(file_text, "limited", held)
    request = {"model": "worker:alpha", **body}
    with stage.client() as client, ThreadPoolExecutor(1) as thread:
        if "previous_response_id" in request:
            request["previous_response_id"] = client.responses.create(model="worker:alpha", input="Hello").id
        content = json.dumps(request).replace("file_data", name).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {client.api_key}"}
        try:
            url = f"{str(client.base_url).rstrip('/')}{path}"
            answer = thread.submit(httpx.post, url, content=content, headers=headers, timeout=60)
            assert reading.wait(60)
            client.chat.completions.create(model="worker:alpha", messages=user(WHY, chat_file(b"A text.")))
        finally:
            free.set()
        assert answer.result().status_code == 200


def test_an_address_of_a_file_is_not_fetched(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha"))
    with pytest.raises(openai.BadRequestError, match="nothing is fetched"):
        client.responses.create(
            model="worker:alpha", input=user(input_file(file_url="https://example.org/a.pdf"))
        )


def test_too_many_files_are_refused(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha"))
    with pytest.raises(openai.BadRequestError, match="There are 21 files; the limit is 20"):
        client.chat.completions.create(model="worker:alpha", messages=user(*[chat_file(b"a")] * 21))
