"""Images in requests: who is sent them, what is stored of them, and what is refused."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import openai
import pytest
from openai import OpenAI
from sqlalchemy import func, select

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.values.conversation import Conversation
from conductor.values.message_parts.images import MAX_IMAGE, Image
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Worker
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage.database.schema import EVENTS, LONG_TEXTS, SESSIONS
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text
from tests.support.stores.session_files import exported, imported

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 100
GIF = b"GIF89a" + b"\x00" * 50
TWO = plan_text((0, "look", "[]"), (1, "answer", "[0]"))


def data_url(content: bytes = PNG, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{b64encode(content).decode()}"


def seeing(name: str, served: Served) -> Worker:
    return OpenAIWorker(
        Endpoint(base_url=served.base_url, model="simulated", retries=0), name=name, vision=True
    )


def image(content: bytes = PNG, **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": data_url(content), **more}}


def user(*parts: Any) -> list[Any]:
    return [{"role": "user", "content": list(parts)}]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def contents(served: Served) -> list[Any]:
    return [(entry.body or {})["messages"][-1]["content"] for entry in served.log.entries]


def test_a_worker_gets_images_where_they_stand(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(seeing("alpha", fake_openai))
    parts = (text("Left:"), image(detail="low"), text("Right:"), image(GIF), text("Which?"))
    client.chat.completions.create(model="worker:alpha", messages=user(text("\n "), *parts))
    sent = contents(fake_openai)[0]
    gif = {"type": "image_url", "image_url": {"url": data_url(GIF, "image/gif")}}
    assert sent == [*parts[:3], gif, parts[4]]


def test_an_image_of_an_earlier_message_is_sent_again(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    stage.plays(seeing("alpha", fake_openai))
    part = {"type": "input_image", "image_url": data_url(), "detail": "auto"}
    question: Any = [{"role": "user", "content": [{"type": "input_text", "text": "What?"}, part]}]
    first = client.responses.create(model="worker:alpha", input=question)
    client.responses.create(model="worker:alpha", input="And?", previous_response_id=first.id)
    messages = (fake_openai.log.entries[-1].body or {})["messages"]
    assert messages[0]["content"] == [text("What?"), image(detail="auto")]
    assert messages[-1]["content"] == "And?"


def test_the_steps_whose_workers_see_get_the_images_and_the_planner_reads_of_them(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    conductor = stage.plays(seeing("alpha", fake_openai), model("beta", fake_openai.base_url), plans=(TWO,))
    fake_openai.fake.texts += ["A cat.", "It is a cat."]
    answer: Any = client.chat.completions.create(
        model="conductor", messages=user(text("What is it?"), image())
    )
    look, last = contents(fake_openai)
    assert look[-1] == image()
    assert isinstance(last, str)
    assert "The user sent 1 image with this, which you are not shown." in last
    assert conductor.requests[0].conversation.pictures[0].words == "image/png, 608 bytes"
    store = stage.workbench.store
    run = store.runs.latest(answer.conductor["session"])
    request = store.runs.state(run.id).steps[0].request
    assert request is not None
    assert request.messages[-1].images[0].url == data_url()


def test_an_image_is_stored_once(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(seeing("alpha", fake_openai), model("beta", fake_openai.base_url), plans=(TWO,))
    answer: Any = client.chat.completions.create(model="conductor", messages=user(text("What?"), image()))
    stage.settle()
    session = answer.conductor["session"]
    store = stage.workbench.store
    with store._transactions.database.transaction(to="read") as connection:
        texts = select(func.count()).where(LONG_TEXTS.c.session == session, LONG_TEXTS.c.text == data_url())
        assert connection.scalar(texts) == 1
        for column in (EVENTS.c.event, SESSIONS.c.conversation):
            assert not any(data_url() in str(row) for row in connection.execute(select(column)))
    assert store.sessions.find(session).earlier_conversation.images[0].url == data_url()


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("https://example.org/cat.png", "not fetched"),
        ("http://127.0.0.1:1/cat.png", "not fetched"),
        ("file:///etc/passwd", "not fetched"),
        ("data:image/svg+xml;base64," + b64encode(b"<svg/>").decode(), "no type that is taken"),
        (data_url(b"MZ\x90\x00 no picture"), "no type that is taken"),
        ("data:image/png;base64,%%%", "base64 cannot be read"),
        ("data:image/png;base64,", "no type that is taken"),
        (data_url(PNG + b"\x00" * MAX_IMAGE), "larger than 5.0 MB"),
    ],
)
def test_what_is_no_image_is_refused(
    stage: Stage, client: OpenAI, fake_openai: Served, url: str, fault: str
) -> None:
    stage.plays(seeing("alpha", fake_openai))
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(
            model="worker:alpha", messages=user({"type": "image_url", "image_url": {"url": url}})
        )
    assert refused.value.param == "messages.0.content.0.image_url.url"
    assert fault in refused.value.message
    part = {"type": "input_image", "image_url": url, "detail": "auto"}
    messages: Any = [{"role": "user", "content": [part]}]
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="worker:alpha", input=messages)
    assert refused.value.param == "input.0.content.0.image_url"
    assert not fake_openai.log.entries


def test_too_many_images_are_refused(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(seeing("alpha", fake_openai))
    large = image(PNG + b"\x00" * 3_600_000)
    for parts, fault in (([image()] * 21, "the limit is 20"), ([large, large], "the limit is 7.0 MB")):
        with pytest.raises(openai.BadRequestError, match=fault) as refused:
            client.chat.completions.create(model="worker:alpha", messages=user(*parts))
        assert refused.value.param == "messages"


def test_images_that_no_one_sees_are_refused(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    blind = model("beta", fake_openai.base_url)
    stage.plays(blind)
    for name in ("worker:beta", "conductor"):
        with pytest.raises(openai.BadRequestError, match="the worker 'beta' does not see them") as refused:
            client.chat.completions.create(model=name, messages=user(image()))
        assert refused.value.code == "no_vision"
    stage.plays(seeing("alpha", fake_openai), blind, plans=(plan_text((1, "answer", "[]")),))
    with pytest.raises(openai.BadRequestError, match="does not see them"):
        client.chat.completions.create(model="conductor", messages=user(text("What?"), image()))
    assert not fake_openai.log.entries


def test_other_parts_than_texts_and_images_are_refused(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    stage.plays(seeing("alpha", fake_openai))
    sound: Any = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
    with pytest.raises(openai.BadRequestError, match="no sounds") as refused:
        client.chat.completions.create(model="worker:alpha", messages=user(sound))
    assert refused.value.param == "messages.0.content.0.type"


def test_stored_messages_have_their_images(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(seeing("alpha", fake_openai))
    parts = (text("What?"), image(detail="low"))
    completion = client.chat.completions.create(model="worker:alpha", messages=user(*parts), store=True)
    stage.settle()
    stored = client.chat.completions.messages.list(completion.id).data[0]
    assert stored.content == "What?"
    assert [part.model_dump(exclude_none=True) for part in stored.content_parts or ()] == list(parts)
    part = {"type": "input_image", "image_url": data_url(), "detail": "low"}
    words = {"type": "input_text", "text": "What?"}
    messages: Any = [{"role": "user", "content": [words, part]}]
    answer = client.responses.create(model="worker:alpha", input=messages)
    stage.settle(requests=2)
    item: Any = client.responses.input_items.list(answer.id).data[0]
    assert [part.model_dump(exclude_none=True) for part in item.content] == [words, part]


def test_a_changed_image_reruns_the_steps_that_see_it() -> None:
    alpha, beta = SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")
    alpha.card = alpha.card.model_copy(update={"vision": True})
    workflow = Workflow.of([Step(instruction="look", worker="alpha"), Step(instruction="x", worker="beta")])
    pool = Pool(workers=(alpha, beta))
    one, other = (
        BoundWorkflow.of(
            workflow, query="What?", pool=pool, conversation=Conversation(images=(Image.of(url),))
        )
        for url in (data_url(PNG), data_url(GIF))
    )
    assert one.fingerprint(0, {}) != other.fingerprint(0, {})
    assert one.fingerprint(1, {}) == other.fingerprint(1, {})


def test_a_session_keeps_its_images_when_it_is_copied(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    stage.plays(seeing("alpha", fake_openai))
    answer: Any = client.chat.completions.create(model="worker:alpha", messages=user(text("?"), image()))
    stage.settle()
    store, session = stage.workbench.store, answer.conductor["session"]
    brought = imported(store, exported(store, session))
    head = store.revisions.head(session)
    assert head is not None
    forked = store.sessions.fork(session, head.id)
    for copy in (brought.id, forked.id):
        assert store.sessions.find(copy).earlier_conversation.images[0].url == data_url()
