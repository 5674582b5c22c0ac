"""The forms of batches: what becomes of a request, what has no place, and documents that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conductor.errors import WorkerError
from conductor.workers.endpoint.batches.batch_forms import AnthropicForm, Line, OpenAIForm
from conductor.workers.endpoint.reply.usage_forms import TokensSoFar

BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Why?"}]}


class Sent:
    """Answers each path with a document; `bodies` are those that were sent."""

    def __init__(self, **documents: Any) -> None:
        self.documents = {path.replace("__", "/"): document for path, document in documents.items()}
        self.bodies: list[Any] = []

    async def __call__(self, _: str, path: str, *, json: object = None, file: bytes | None = None) -> bytes:
        self.bodies.append(file or json)
        document = self.documents[path]
        return document if isinstance(document, bytes) else dumped(document)


def dumped(document: Any) -> bytes:
    return json.dumps(document).encode()


async def test_a_chat_becomes_a_message_with_its_system_apart() -> None:
    sent = Sent(messages__batches={"id": "b"})
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": "Be right."},
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": "Since"},
    ]
    body = {"model": "m", "max_completion_tokens": 9, "temperature": 0.5, "stop": ["x"], "messages": turns}
    assert await AnthropicForm().submit(sent, {"id-1": body}) == "b"
    assert sent.bodies == [
        {
            "requests": [
                {
                    "custom_id": "id-1",
                    "params": {
                        "model": "m", "max_tokens": 9, "temperature": 0.5, "stop_sequences": ["x"],
                        "system": "Be brief.\n\nBe right.", "messages": turns[2:],
                    },
                }
            ]
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({**BODY, "seed": 1, "response_format": {}}, "do not take seed, response_format"),
        ({**BODY, "messages": [{"role": "user", "content": [{"type": "text"}]}]}, "do not take images"),
        ({"model": "m", "messages": []}, "need max_tokens; write it into the pool file"),
    ],
)
async def test_what_has_no_place_in_anthropics_form_is_refused_before_it_is_sent(
    body: dict[str, Any], fault: str
) -> None:
    sent = Sent()
    with pytest.raises(WorkerError, match=fault):
        await AnthropicForm().submit(sent, {"id-1": body})
    assert sent.bodies == []


@pytest.mark.parametrize(
    ("form", "documents"),
    [
        (OpenAIForm(), {"files": {"object": "file"}}),
        (OpenAIForm(), {"files": {"id": "../batches"}}),
        (OpenAIForm(), {"files": b"<html>"}),
        (OpenAIForm(), {"files": {"id": "f"}, "batches": ["b"]}),
        (AnthropicForm(), {"messages__batches": {"id": 7}}),
    ],
)
async def test_a_document_that_names_no_batch_is_refused(form: Any, documents: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"batch|Expecting"):
        await form.submit(Sent(**documents), {"id-1": BODY})


@pytest.mark.parametrize(
    ("usage", "prompt", "cached"),
    [
        ({"input_tokens": 5, "output_tokens": 7}, 5, None),
        ({"input_tokens": 5, "output_tokens": 7, "cache_creation_input_tokens": 10}, 15, None),
        (
            {
                **{"input_tokens": 5, "output_tokens": 7, "cache_creation_input_tokens": 10},
                "cache_read_input_tokens": 100,
            },
            115,
            100,
        ),
        ({"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": None}, 5, None),
        ({"output_tokens": 7}, None, None),
        (None, None, None),
    ],
)
async def test_tokens_of_a_message_are_read_with_those_of_its_cache(
    usage: object, prompt: int | None, cached: int | None
) -> None:
    message = {"id": "msg", "content": [{"type": "text", "text": "42"}], "usage": usage}
    line = {"custom_id": "a", "result": {"type": "succeeded", "message": message}}
    sent = Sent(
        messages__batches__b={"processing_status": "ended"}, messages__batches__b__results=dumped(line)
    )
    lines = await AnthropicForm().lines(sent, "b")
    assert lines is not None
    tokens = TokensSoFar()
    tokens.take(lines["a"].completion)
    read = tokens.usage(wrote=True)
    completion = 7 if usage else None
    assert (read.prompt_tokens, read.completion_tokens, read.cached_tokens) == (prompt, completion, cached)


async def test_a_batch_that_is_refused_as_a_whole_is_named_with_its_reason() -> None:
    refused = {"status": "failed", "errors": {"data": [{"message": "Enqueued token limit reached"}]}}
    with pytest.raises(WorkerError, match=r"batch b was refused: .*token limit"):
        await OpenAIForm().lines(Sent(batches__b=refused), "b")


async def test_a_file_without_ids_is_refused_and_a_batch_under_way_has_no_lines() -> None:
    done = {"status": "completed", "output_file_id": "o", "error_file_id": None}
    with pytest.raises(ValueError, match="without its custom_id"):
        await OpenAIForm().lines(Sent(batches__b=done, files__o__content=b'{"response": 1}'), "b")
    assert await OpenAIForm().lines(Sent(batches__b={"status": "in_progress"}), "b") is None
    line = {"custom_id": "a", "response": None, "error": {"code": "batch_cancelled"}}
    lines = await OpenAIForm().lines(Sent(batches__b=done, files__o__content=dumped(line) + b"\n\n"), "b")
    assert lines == {"a": Line()}
