"""Stored chat completions and what they answer, as OpenAI's own client reads, lists and deletes them."""

from __future__ import annotations

from functools import partial
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from conductor.workers.simulated import SimulatedWorker
from studio.access.auth import Principal
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text

ONE = plan_text((0, "answer", "[]"))
MESSAGES: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Who was Ada?"},
    {"role": "assistant", "content": "A countess."},
    {"role": "user", "content": "When?", "name": "ann"},
]


def plays(stage: Stage) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="In 1815."), plans=(ONE,) * 9)


def completed(client: OpenAI, **more: Any) -> Any:
    request: dict[str, Any] = {"model": "conductor", "messages": MESSAGES, "store": True, **more}
    return client.chat.completions.create(**request)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_stored_completion_is_read_as_it_was_answered(
    stage: Stage, client: OpenAI, *, streamed: bool
) -> None:
    plays(stage)
    if streamed:
        *_, last = completed(client, stream=True, metadata={"team": "red"})
        id = last.id
    else:
        whole = completed(client, metadata={"team": "red"})
        id = whole.id
        assert client.chat.completions.retrieve(id) == whole
    completion: Any = client.chat.completions.retrieve(id)
    assert completion.choices[0].message.content == "In 1815."
    assert (completion.metadata, completion.id) == ({"team": "red"}, id)
    assert "begun" not in completion.conductor
    assert completion.usage.conductor["total_tokens"] == completion.conductor["tokens"]


def test_the_messages_of_a_completion_are_listed(stage: Stage, client: OpenAI) -> None:
    plays(stage)
    id = completed(client).id
    messages = list(client.chat.completions.messages.list(id, limit=3))
    assert [(each.role, each.content) for each in messages] == [  # type: ignore[comparison-overlap]
        (each["role"], each["content"]) for each in MESSAGES
    ]
    newest = client.chat.completions.messages.list(id, order="desc", limit=1)
    assert (newest.data[0].content, newest.data[0].name, newest.has_more) == ("When?", "ann", True)  # type: ignore[attr-defined]


def test_the_metadata_of_a_completion_is_changed(stage: Stage, client: OpenAI) -> None:
    plays(stage)
    whole = completed(client, metadata={"team": "red", "case": "changed"})
    changed: Any = client.chat.completions.update(whole.id, metadata={"case": "changed now"})
    assert changed.metadata == {"case": "changed now"}
    assert client.chat.completions.retrieve(whole.id) == changed
    assert changed.choices == whole.choices
    assert [each.id for each in client.chat.completions.list(metadata={"case": "changed now"})] == [whole.id]
    emptied: Any = client.chat.completions.update(whole.id, metadata=None)
    assert emptied.metadata == {}


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({}, "metadata"),
        ({"metadata": {"n": 1}}, "metadata.n"),
        ({"metadata": {str(at): "" for at in range(17)}}, "metadata"),
        ({"metadata": {}, "model": "conductor"}, "model"),
    ],
)
def test_only_metadata_of_a_completion_can_be_changed(
    stage: Stage, client: OpenAI, change: dict[str, Any], param: str
) -> None:
    plays(stage)
    id = completed(client, metadata={"case": "kept"}).id
    refused = httpx.post(f"{stage.base_url}/chat/completions/{id}", json=change)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
    completion: Any = client.chat.completions.retrieve(id)
    assert completion.metadata == {"case": "kept"}


def test_completions_are_listed_by_age_model_and_metadata(stage: Stage, client: OpenAI) -> None:
    plays(stage)
    one, two, three = (
        completed(client, model=name, metadata={"case": "lists", "number": number}).id
        for name, number in (("conductor", "1"), ("conductor-mini", "2"), ("conductor", "3"))
    )
    completions = client.chat.completions
    of_case: Any = {"metadata": {"case": "lists"}}
    assert [each.id for each in completions.list(**of_case)] == [one, two, three]
    assert [each.id for each in completions.list(**of_case, limit=1)] == [one, two, three], "page by page"
    assert [each.id for each in completions.list(**of_case, order="desc")] == [three, two, one]
    assert [each.id for each in completions.list(**of_case, after=one)] == [two, three]
    assert [each.id for each in completions.list(**of_case, model="conductor-mini")] == [two]
    assert [each.id for each in completions.list(metadata={"case": "lists", "number": "3"})] == [three]


@pytest.mark.parametrize("store", [None, False])
def test_a_completion_that_was_not_to_be_stored_is_not_there(
    stage: Stage, client: OpenAI, store: bool | None
) -> None:
    plays(stage)
    id = completed(client, store=store, metadata={"case": f"not stored {store}"}).id
    with pytest.raises(openai.NotFoundError) as refused:
        client.chat.completions.retrieve(id)
    assert refused.value.code == "completion_not_found"
    assert not client.chat.completions.list(metadata={"case": f"not stored {store}"}).data


def test_a_deleted_completion_is_gone_and_can_be_restored(stage: Stage, client: OpenAI) -> None:
    plays(stage)
    completion = completed(client, metadata={"case": "deleted"})
    assert client.chat.completions.delete(completion.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.retrieve(completion.id)
    assert not client.chat.completions.list(metadata={"case": "deleted"}).data
    stage.workbench.store.sessions.restore(completion.conductor["session"])
    assert client.chat.completions.retrieve(completion.id).id == completion.id


def test_another_tokens_completions_do_not_exist(stage: Stage, client: OpenAI) -> None:
    plays(stage)
    ann, bob = (
        stage.workbench.store.tokens.create(f"completions of {name}")[0].id for name in ("ann", "bob")
    )
    stage.auth.principal = Principal(token=ann)
    id = completed(client, metadata={"case": "rights"}).id
    assert [each.id for each in client.chat.completions.list(metadata={"case": "rights"})] == [id]
    stage.auth.principal = Principal(token=bob)
    assert not client.chat.completions.list(metadata={"case": "rights"}).data
    reads = client.chat.completions
    for read in (reads.retrieve, reads.messages.list, reads.delete, partial(reads.update, metadata={})):
        with pytest.raises(openai.NotFoundError):
            read(id)


def test_responses_and_completions_have_different_ids(stage: Stage, client: OpenAI) -> None:
    plays(stage)
    chat, response = completed(client), client.responses.create(model="conductor", input="Why?")
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(chat.id.replace("chatcmpl-", "resp_"))
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.retrieve(response.id.replace("resp_", "chatcmpl-"))


def test_what_a_response_answers_is_listed(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(model("alpha", fake_openai.base_url), plans=(ONE, ONE))
    items: Any = [
        *MESSAGES[:2],
        {"type": "function_call", "call_id": "x", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "x", "output": "1815"},
        {"role": "assistant", "content": "A countess."},
        {"role": "user", "content": "When?"},
    ]
    response = client.responses.create(model="conductor", input=items)
    listed: list[Any] = list(client.responses.input_items.list(response.id, order="asc", limit=2))
    kinds = [item.type for item in listed]
    assert kinds == ["message", "message", "function_call", "function_call_output", "message", "message"]
    assert [item.content[0].text for item in listed if item.type == "message"][-2:] == [
        "A countess.",
        "When?",
    ]
    assert (listed[2].call_id, listed[3].output) == ("x", "1815")
    newest: Any = client.responses.input_items.list(response.id, limit=1).data[0]
    assert newest.content[0].text == "When?"


@pytest.mark.parametrize("address", ["chat/completions", "responses/{}/input_items"])
@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "order=up", "after=nothing", "other=x", "metadata=x"]
)
def test_a_list_refuses_what_it_does_not_know(stage: Stage, client: OpenAI, address: str, query: str) -> None:
    plays(stage)
    id = client.responses.create(model="conductor", input="Why?").id
    refused = httpx.get(f"{stage.base_url}/{address.format(id)}?{query}")
    assert refused.status_code in (400, 404)
    assert refused.json()["error"]["message"]


def test_a_token_reads_a_completion_of_this_machines_token_and_changes_none(
    stage: Stage, client: OpenAI
) -> None:
    plays(stage)
    id = completed(client, metadata={"case": "machine's"}).id
    stage.auth.principal = Principal(token=stage.workbench.store.tokens.create("reader")[0].id)
    completions = client.chat.completions
    assert completions.retrieve(id).id == id
    for change in (completions.delete, partial(completions.update, metadata={})):
        with pytest.raises(openai.PermissionDeniedError) as refused:
            change(id)
        assert refused.value.code == "not_own_completion"
