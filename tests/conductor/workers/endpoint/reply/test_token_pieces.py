"""Log probabilities come with the text of the answer, and with nothing else; odd ones are left out."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from conductor.errors import WorkerError
from conductor.values.message_parts.token_logprobs import TokenLogprob, TopLogprob
from conductor.values.messages import Completion, Delta, Retried, Sampling
from conductor.workers.endpoint.client import ChatClient
from conductor.workers.endpoint.reply.token_pieces import UNLIKELY
from tests.support.endpoints.chat_cases import client, completed, lines_of, request
from tests.support.endpoints.fake_openai import Served
from tests.support.endpoints.raw_endpoint import DONE, chunk, raw_endpoint, replies


async def answered(chat: ChatClient, logprobs: int | None = 0) -> Completion:
    return await completed(chat.stream(request().messages, sampling=Sampling(logprobs=logprobs)))


async def answered_by(*chunks: bytes, logprobs: int | None = 0) -> Completion:
    async with raw_endpoint(replies(b"".join(chunks) + chunk("stop") + DONE)) as base_url:
        return await answered(client(base_url), logprobs)


def spelled(completion: Completion) -> str:
    return "".join(token.token for token in completion.logprobs)


def tokens(*texts: str) -> dict[str, Any]:
    return {"content": [{"token": text, "logprob": -0.5, "top_logprobs": []} for text in texts]}


@pytest.mark.parametrize(
    ("number", "sent"), [(0, {"logprobs": True}), (3, {"logprobs": True, "top_logprobs": 3})]
)
async def test_they_are_asked_for_and_come_with_each_piece(
    fake_openai: Served, number: int, sent: dict[str, Any]
) -> None:
    chat = client(fake_openai.base_url)
    stream = chat.stream(request().messages, sampling=Sampling(logprobs=number))
    *pieces, end = [item async for item in stream]
    body = fake_openai.settled().body or {}
    assert {name: value for name, value in body.items() if "logprobs" in name} == sent
    assert isinstance(end, Completion)
    assert all(
        isinstance(piece, Delta) and [token.token for token in piece.logprobs] == [piece.text]
        for piece in pieces
    )
    assert [token for piece in pieces if isinstance(piece, Delta) for token in piece.logprobs] == [
        *end.logprobs
    ]
    first = end.logprobs[0]
    assert (first.token, first.bytes) == ("Simulated", tuple(b"Simulated"))
    assert [one.logprob for one in first.top] == [-0.25, -0.5, -0.75][:number]


async def test_what_was_not_asked_for_is_left_out(fake_openai: Served) -> None:
    chat = client(fake_openai.base_url, extra={"logprobs": True})
    assert (await answered(chat, None)).logprobs == ()


async def test_an_endpoint_that_gives_none_has_answered(fake_openai: Served) -> None:
    completion = await answered(client(fake_openai.base_url, "fault:no-logprobs"))
    assert (completion.logprobs, bool(completion.text)) == ((), True)


@pytest.mark.parametrize("name", ["logprobs", "top_logprobs"])
async def test_an_endpoint_that_refuses_them_is_named(fake_openai: Served, name: str) -> None:
    chat = client(fake_openai.base_url, f"fault:unknown-parameter={name}")
    (line,) = await lines_of(chat.stream(request().messages, sampling=Sampling(logprobs=2)))
    assert f"Unknown parameter: '{name}'" in line
    assert line.startswith("error: alpha: ")
    assert line.endswith("; ask for fewer log probabilities or for none, or ask another worker.")


@pytest.mark.parametrize("model", ["reasoning-simulated", "reasoning-field-simulated"])
async def test_tokens_of_the_reasoning_are_left_out(fake_openai: Served, model: str) -> None:
    completion = await answered(client(fake_openai.base_url, model))
    assert completion.reasoning
    assert spelled(completion) == completion.text


async def test_tokens_of_a_think_block_are_left_out() -> None:
    pieces = ["\n", "<think>", "so", "</think>", "\n\n", "It", " is", "."]
    completion = await answered_by(*(chunk(content=piece, logprobs=tokens(piece)) for piece in pieces))
    assert spelled(completion) == completion.text == "It is."


async def test_what_could_have_been_a_think_block_is_the_answers() -> None:
    pieces = ["<", "th", "ree"]
    completion = await answered_by(*(chunk(content=piece, logprobs=tokens(piece)) for piece in pieces))
    assert spelled(completion) == completion.text == "<three"
    short = await answered_by(chunk(content="<", logprobs=tokens("<")))
    assert spelled(short) == short.text == "<"


async def test_tokens_of_calls_are_left_out() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "look", "arguments": "{}"}}
    body = (
        chunk(content="So", logprobs=tokens("So"))
        + chunk(tool_calls=[call], logprobs=tokens("{}"))
        + chunk("tool_calls", content="", logprobs=tokens("<end>"))
    )
    offered = Sampling.model_validate({"logprobs": 0, "tools": {"tools": [{"name": "look"}]}})
    async with raw_endpoint(replies(body + chunk("stop") + DONE)) as base_url:
        stream = client(base_url).stream(request().messages, sampling=offered)
        *_, end = [item async for item in stream]
    assert isinstance(end, Completion)
    assert (end.text, [token.token for token in end.logprobs]) == ("So", ["So", "<end>"]), "as they came"


async def test_an_answer_of_calls_alone_has_none() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "look", "arguments": "{}"}}
    body = chunk(tool_calls=[call]) + chunk("tool_calls", content="", logprobs=tokens("<end>"))
    offered = Sampling.model_validate({"logprobs": 0, "tools": {"tools": [{"name": "look"}]}})
    async with raw_endpoint(replies(body + chunk("stop") + DONE)) as base_url:
        *_, end = [item async for item in client(base_url).stream(request().messages, sampling=offered)]
    assert isinstance(end, Completion)
    assert (end.logprobs, len(end.tool_calls)) == ((), 1)


async def test_those_of_a_refusal_are_of_its_text() -> None:
    refused = {"content": None, "refusal": tokens("No", ".")["content"]}
    completion = await answered_by(chunk(refusal="No.", logprobs=refused))
    assert (spelled(completion), completion.finish_reason) == ("No.", "refused")


@pytest.mark.slow
async def test_a_broken_stream_loses_those_of_its_text(fake_openai: Served) -> None:
    chat = client(fake_openai.base_url, "fault:hang-up", retries=1)
    attempts: list[list[Delta]] = [[]]
    with suppress(WorkerError):
        async for item in chat.stream(request().messages, sampling=Sampling(logprobs=0)):
            if isinstance(item, Retried):
                attempts.append([])
            elif isinstance(item, Delta):
                attempts[-1].append(item)
    first, second = attempts
    assert first == second, "the second attempt begins with its own"
    assert [piece.text for piece in first] == [token.token for piece in first for token in piece.logprobs]


@pytest.mark.parametrize(
    ("entry", "read"),
    [
        ({"token": "a", "logprob": -1}, [TokenLogprob("a", -1.0, (97,))]),
        ({"token": "a", "logprob": 0.0, "bytes": None}, [TokenLogprob("a", 0.0, (97,))]),
        ({"token": "\ufffd", "logprob": -1.0}, [TokenLogprob("\ufffd", -1.0, None)]),
        (
            {"token": "\\xe2\\x84", "logprob": -1.0, "bytes": [226, 132]},
            [TokenLogprob("\\xe2\\x84", -1.0, (226, 132))],
        ),
        ({"token": "a", "logprob": float("-inf")}, [TokenLogprob("a", UNLIKELY, (97,))]),
        ({"token": "\ud83d", "logprob": -1.0, "bytes": [1]}, [TokenLogprob("\ufffd", -1.0, (1,))]),
        ({"token": "a", "logprob": -1.0, "bytes": [256]}, [TokenLogprob("a", -1.0, (97,))]),
        (
            {
                "token": "a",
                "logprob": -1.0,
                "id": 7,
                "top_logprobs": [{"token": "a", "logprob": -1.0}, "b", {"token": 1, "logprob": -1.0}] * 9,
            },
            [TokenLogprob("a", -1.0, (97,), (TopLogprob("a", -1.0, (97,)),))],
        ),
        ({"token": "a", "logprob": None}, []),
        ({"token": "a", "logprob": True}, []),
        ({"token": 7, "logprob": -1.0}, []),
        ({"logprob": -1.0}, []),
        ("a", []),
        (None, []),
    ],
)
async def test_what_is_no_log_probability_is_left_out(entry: object, read: list[TokenLogprob]) -> None:
    completion = await answered_by(chunk(content="a", logprobs={"content": [entry]}), logprobs=2)
    assert [*completion.logprobs] == read


@pytest.mark.parametrize(
    "logprobs", [7, [], {}, {"content": {}}, {"tokens": ["a"], "token_logprobs": [-1.0]}]
)
async def test_what_has_another_shape_is_left_out(logprobs: object) -> None:
    assert (await answered_by(chunk(content="a", logprobs=logprobs))).logprobs == ()


async def test_too_many_are_broken_off() -> None:
    body = chunk(content="a", logprobs=tokens(*["a"] * 20)) + chunk("stop") + DONE
    async with raw_endpoint(replies(body)) as base_url:
        (line,) = await lines_of(
            client(base_url, max_characters=100).stream(request().messages, sampling=Sampling(logprobs=0))
        )
    assert "sent more than 100 characters and was broken off" in line
