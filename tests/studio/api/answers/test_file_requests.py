"""Files in requests: who is sent them, what is stored of them, and what is refused."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import openai
import pytest
from attached_files import pdf
from conductor_cases import plan_text
from openai import OpenAI
from session_files import exported, imported
from sqlalchemy import select
from stage import Stage

from conductor.values.message_parts.attached_file import AttachedFile
from conductor.workers.simulated import SimulatedWorker
from storage.database.schema import EVENTS, FRAGMENTS, LONG_TEXTS, SESSIONS

TWO = plan_text((0, "look", "[]"), (1, "answer", "[0]"))
REPORT = pdf("The river has 6650 km.")


def data(content: bytes = REPORT, prefix: str = "data:application/pdf;base64,") -> str:
    return prefix + b64encode(content).decode()


def chat_file(content: bytes = REPORT, name: str = "report.pdf", **more: Any) -> dict[str, Any]:
    return {"type": "file", "file": {"file_data": data(content), "filename": name, **more}}


def input_file(content: bytes = REPORT, **more: Any) -> dict[str, Any]:
    return {"type": "input_file", "file_data": data(content, ""), "filename": "report.pdf", **more}


def shown(*parts: Any) -> Any:
    return [{"role": "user", "content": list(parts)}]


def texts(worker: SimulatedWorker) -> list[str]:
    """What each message of the worker's last request says."""
    return [message.content for message in worker.requests[-1].messages]


def test_every_step_and_the_conductor_see_the_text_of_a_file(stage: Stage, client: OpenAI) -> None:
    alpha, beta = SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")
    conductor = stage.plays(alpha, beta, plans=(TWO,))
    asked = shown(chat_file(), {"type": "text", "text": "How long?"})
    client.chat.completions.create(model="conductor", messages=asked)
    for worker in (alpha, beta):
        assert "[File report.pdf]\nThe river has 6650 km.\n[End of report.pdf]" in texts(worker)[0]
    (file,) = conductor.requests[0].conversation.files
    assert file == AttachedFile(name="report.pdf", text="The river has 6650 km.")


def test_a_worker_alone_is_sent_it_behind_the_question(stage: Stage, client: OpenAI) -> None:
    alpha = SimulatedWorker(name="alpha")
    stage.plays(alpha)
    client.responses.create(
        model="worker:alpha", input=shown({"type": "input_text", "text": "How long?"}, input_file())
    )
    assert texts(alpha) == ["How long?\n\n[File report.pdf]\nThe river has 6650 km.\n[End of report.pdf]"]


def test_a_file_of_an_earlier_response_is_sent_again(stage: Stage, client: OpenAI) -> None:
    alpha = SimulatedWorker(name="alpha")
    stage.plays(alpha)
    asked = shown({"type": "input_text", "text": "How long?"}, input_file())
    first = client.responses.create(model="worker:alpha", input=asked)
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
    asked = shown({"type": "text", "text": "How long?"}, chat_file(long.encode(), "../a/<b>notes.txt"))
    answer: Any = client.chat.completions.create(model="conductor", messages=asked)
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
        (chat_file(b"\0\1"), "neither a text in UTF-8 nor a PDF"),
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
        client.chat.completions.create(model="worker:alpha", messages=shown(part))
    assert (refused.value.param or "").startswith("messages.0.content.0")


def test_an_address_of_a_file_is_not_fetched(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha"))
    with pytest.raises(openai.BadRequestError, match="nothing is fetched"):
        client.responses.create(
            model="worker:alpha", input=shown(input_file(file_url="https://example.org/a.pdf"))
        )


def test_too_many_files_are_refused(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha"))
    with pytest.raises(openai.BadRequestError, match="There are 21 files; the limit is 20"):
        client.chat.completions.create(model="worker:alpha", messages=shown(*[chat_file(b"a")] * 21))
