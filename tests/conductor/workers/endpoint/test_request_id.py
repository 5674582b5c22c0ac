"""The provider's own name of a call is kept with what it gave, and stands in every error of it."""

from __future__ import annotations

import asyncio

import pytest
from chat_cases import asked, client, completed, endpoint, set_key, told
from raw_endpoint import DONE, chunk, event, head, raw_endpoint, says
from worker_cases import outputs_of, played
from workflow_cases import workflow_of

from conductor.errors import WorkerError
from conductor.values.output import HandEdit
from conductor.workers.endpoint.worker import OpenAIWorker
from conductor.workers.pool.pool import Pool

ALL = chunk(content="all") + chunk("stop") + DONE
NAMED = "x-request-id: req_1\r\n"
JSON = "application/json"
KEY = "sk-marked-0123456789"


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ("", None),
        (NAMED, "req_1"),
        ("request-id: req_011CSHoEeqs5C35K2UUqR7Fy\r\n", "req_011CSHoEeqs5C35K2UUqR7Fy"),
        ("CF-Ray: 8f-FRA\r\nx-request-id: req_1\r\n", "req_1"),
        ("cf-ray: 8f-FRA\r\n", "8f-FRA"),
        ("x-request-id: \r\ncf-ray: 8f-FRA\r\n", "8f-FRA"),
        ("x-request-id: two words\r\ncf-ray: 8f-FRA\r\n", "8f-FRA"),
        (f"x-request-id: {'a' * 128}\r\n", "a" * 128),
        (f"x-request-id: {'a' * 129}\r\n", None),
        ("x-request-id: \u00fc\r\n", None),
        ("x-request-id: one\r\nx-request-id: two\r\n", None),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
async def test_an_answer_has_the_name_that_its_headers_give(
    headers: str, name: str | None, *, whole: bool
) -> None:
    message = b'{"choices": [{"message": {"content": "all"}, "finish_reason": "stop"}]}'
    answer = says(message, content_type=JSON, more=headers) if whole else says(ALL, more=headers)
    async with raw_endpoint(answer) as base_url:
        assert (await completed(asked(client(base_url)))).request_id == name


@pytest.mark.parametrize(
    ("status", "body"),
    [
        ("400 Bad Request", b"{}"),
        ("200 OK", chunk(content="al")),
        ("200 OK", event({"error": {"message": "no"}})),
        ("200 OK", chunk(content="al") + b"data: {broken\n\n"),
        ("200 OK", chunk(content="a" * 101)),
        ("200 OK", chunk("content_filter")),
    ],
)
async def test_every_failure_of_a_call_names_it(status: str, body: bytes) -> None:
    async with raw_endpoint(says(body, status=status, more=NAMED)) as base_url:
        said = await told(asked(client(base_url, retries=0, max_characters=100)))
    assert said[-1].count("(request id req_1)") == 1
    assert said[-1].startswith("error: ")


async def test_a_stalled_call_is_named() -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        writer.write(head(more=NAMED))
        await asyncio.sleep(60)

    async with raw_endpoint(silent) as base_url:
        (line,) = await told(asked(client(base_url, first_token=0.1)))
    assert "sent no token within 0.1 seconds (request id req_1); raise first_token_seconds" in line


@pytest.mark.usefixtures("no_pauses")
async def test_each_attempt_has_a_name_of_its_own() -> None:
    bodies = iter([(b"", "500 Oh", "a"), (b"", "503 Oh", "b"), (ALL, "200 OK", "c")])

    async def answer(writer: asyncio.StreamWriter) -> None:
        body, status, name = next(bodies)
        await says(body, status=status, more=f"x-request-id: req_{name}\r\n")(writer)

    async with raw_endpoint(answer) as base_url:
        chat = client(base_url)
        said = await told(asked(chat))
    at = f"alpha: {chat.endpoint.host} answered"
    assert said[:2] == [
        f"attempt 1: {at} 500 Internal Server Error (request id req_a).",
        f"attempt 2: {at} 503 Service Unavailable (request id req_b).",
    ]


async def test_a_list_of_models_that_fails_is_named() -> None:
    async with raw_endpoint(says("{}", status="401 Unauthorized", content_type=JSON, more=NAMED)) as base_url:
        with pytest.raises(WorkerError, match=r"answered 401 Unauthorized \(request id req_1\); name the"):
            await client(base_url).served()


async def test_a_key_in_the_name_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_endpoint(says(ALL, more=f"x-request-id: req_{KEY}\r\n")) as base_url:
        set_key(monkeypatch, base_url, KEY)
        completion = await completed(asked(client(base_url, api_key_env="ALPHA_API_KEY")))
    assert completion.request_id == "req_***"


async def test_a_run_keeps_the_name_with_the_output_and_not_in_the_fingerprint() -> None:
    names = iter(["req_1", "req_2"])

    async def answer(writer: asyncio.StreamWriter) -> None:
        await says(ALL, more=f"x-request-id: {next(names)}\r\n")(writer)

    async with raw_endpoint(answer) as base_url:
        pool = Pool(workers=(OpenAIWorker(endpoint(base_url), name="alpha"),))
        first = await played(workflow_of(()), pool)
        second = await played(workflow_of(()), pool)
    ((mark, output),) = outputs_of(first).items()
    ((other_mark, other),) = outputs_of(second).items()
    assert (output.request_id, other.request_id) == ("req_1", "req_2")
    assert mark == other_mark
    assert output.by_hand("mine", edit=HandEdit(at=0.0)).request_id is None
