"""A client sends what it is given, remembers what is refused, leaves at once, and names each call."""

from __future__ import annotations

import asyncio
import gc
from contextlib import aclosing

import pytest

from conductor.errors import WorkerError
from conductor.values.messages import Delta, Retried, Sampling
from conductor.values.output import HandEdit
from conductor.workers.endpoint.client import ChatClient
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.pool import Pool
from tests.support.endpoints.chat_cases import ask, client, completed, endpoint, lines_of, request, set_key
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.endpoints.raw_endpoint import DONE, chunk, event, head, raw_endpoint, replies
from tests.support.runs.waiting import until_async
from tests.support.runs.worker_cases import played
from tests.support.runs.workflow_cases import workflow_of


async def test_the_body_holds_what_was_asked_and_nothing_that_was_not(fake_openai: Served) -> None:
    await completed(ask(client(fake_openai.base_url)))
    assert fake_openai.settled().body == {
        "model": "simulated",
        "messages": [{"role": "user", "content": "why is the sky blue?"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_sampling_effort_and_extra_parameters_go_into_the_body(fake_openai: Served) -> None:
    chat = client(fake_openai.base_url, reasoning_effort="low", extra={"top_k": 3, "seed": 1})
    stream = chat.stream(
        request().messages, sampling=Sampling(temperature=0.2, max_tokens=7), extra={"seed": 2, "top_p": 0.5}
    )
    completion = await completed(stream)
    body = fake_openai.settled().body or {}
    expected = {
        "temperature": 0.2,
        "max_tokens": 7,
        "reasoning_effort": "low",
        "top_k": 3,
        "seed": 2,
        "top_p": 0.5,
    }
    assert body.items() >= expected.items()
    assert (completion.finish_reason, completion.usage.completion_tokens) == ("length", 7)


@pytest.mark.parametrize("model", ["reasoning-simulated", "reasoning-field-simulated"])
async def test_reasoning_is_kept_apart_from_the_answer(fake_openai: Served, model: str) -> None:
    thought, text, end = await lines_of(ask(client(fake_openai.base_url, model)))
    assert thought.startswith("thought: Simulated reasoning: ")
    assert text.startswith("text: Simulated answer № ")
    assert end.startswith("stop: ")


async def test_a_think_block_is_reasoning_too_wherever_it_is_cut() -> None:
    pieces = ["\n<th", "ink>so ", "and so</thi", "nk>", "\n\n", "blue", "<thin"]
    body = b"".join(chunk(content=piece) for piece in pieces) + chunk("stop") + DONE
    async with raw_endpoint(replies(body)) as base_url:
        completion = await completed(ask(client(base_url)))
    assert (completion.reasoning, completion.text) == ("so and so", "blue<thin")


async def test_tokens_are_those_of_the_last_word_on_them() -> None:
    early = event({"choices": [{"delta": {"content": "a"}}], "usage": {"prompt_tokens": 1}})
    late = event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
    async with raw_endpoint(replies(early + chunk("stop") + late + DONE)) as base_url:
        usage = (await completed(ask(client(base_url)))).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cost) == (5, 2, None)


@pytest.mark.parametrize(
    ("reported", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 4}}, 4),
        ({"prompt_tokens_details": {"cached_tokens": 0}, "prompt_cache_hit_tokens": 3}, 0),
        ({"prompt_tokens_details": None, "prompt_cache_hit_tokens": 3, "prompt_cache_miss_tokens": 2}, 3),
        ({"cache_creation_input_tokens": 1, "cache_read_input_tokens": 2}, 2),
        ({"prompt_tokens_details": {"cached_tokens": "many"}}, None),
        ({"prompt_tokens_details": [4]}, None),
        ({}, None),
    ],
)
async def test_tokens_from_a_providers_cache_are_read_in_each_form(
    reported: dict[str, object], cached: int | None
) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, **reported}
    body = event({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}], "usage": usage})
    async with raw_endpoint(replies(body)) as base_url:
        read = (await completed(ask(client(base_url)))).usage
    assert (read.prompt_tokens, read.cached_tokens) == (5, cached)


@pytest.mark.parametrize("usage", [None, "many", {"prompt_tokens": -1}, {"prompt_tokens": True}, {}])
async def test_tokens_that_make_no_sense_are_unknown(usage: object) -> None:
    body = event({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}], "usage": usage})
    async with raw_endpoint(replies(body)) as base_url:
        assert (await completed(ask(client(base_url)))).usage.prompt_tokens is None


async def test_parts_of_a_message_that_are_text_are_the_answer() -> None:
    parts = [{"type": "image"}, {"type": "text", "text": "bl"}, {"type": "text", "text": "ue"}]
    async with raw_endpoint(replies(chunk(content=parts) + chunk("stop") + DONE)) as base_url:
        assert (await completed(ask(client(base_url)))).text == "blue"


@pytest.mark.parametrize(
    ("parameter", "learned"),
    [
        ("stream_options", "asked again without stream_options, so its tokens stay unknown."),
        ("max_tokens", "asked again with max_completion_tokens."),
    ],
)
async def test_a_refused_parameter_is_left_out_from_then_on(
    fake_openai: Served, parameter: str, learned: str
) -> None:
    chat = client(fake_openai.base_url, f"fault:unknown-parameter={parameter}")
    first = await lines_of(chat.stream(request().messages, sampling=Sampling(max_tokens=500)))
    assert first[0].endswith(learned)
    second = await lines_of(chat.stream(request().messages, sampling=Sampling(max_tokens=500)))
    assert second == first[1:]


async def test_the_limit_of_tokens_is_called_as_the_endpoint_calls_it() -> None:
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    refusal = replies(f'{{"error": {{"message": "{message}"}}}}', status="400 Bad Request")
    async with raw_endpoint(refusal) as base_url:
        chat = client(base_url)
        lines = await lines_of(chat.stream(request().messages, sampling=Sampling(max_tokens=5)))
    assert lines[0].endswith("asked again with max_completion_tokens.")
    # The endpoint objects to everything, but is not asked the same twice.
    assert len(lines) == 2
    assert lines[1].startswith("error: ")


@pytest.mark.slow
async def test_the_key_is_sent_and_a_wrong_one_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(FakeOpenAI(key="right")) as served:
        chat = client(served.base_url, api_key_env="ALPHA_API_KEY")
        set_key(monkeypatch, served.base_url, "right")
        await completed(ask(chat))
        monkeypatch.setenv("ALPHA_API_KEY", "wrong")
        (line,) = await lines_of(ask(chat))
        assert line.endswith(
            "answered 401 Unauthorized: “Incorrect API key provided”; check the key in ALPHA_API_KEY."
        )
        (line,) = await lines_of(ask(client(served.base_url)))
        assert line.endswith(
            "401 Unauthorized: “You did not provide an API key”; name the variable that holds its key in "
            "api_key_env in the pool file."
        )


async def test_a_key_that_is_not_set_is_missed_before_the_call(fake_openai: Served) -> None:
    chat = client(fake_openai.base_url, api_key_env="NOBODYS_API_KEY")
    assert await lines_of(ask(chat)) == [
        "error: alpha: NOBODYS_API_KEY is not set; export it, or write it into .streamlit/secrets.toml."
    ]
    assert not fake_openai.log.entries


async def _left(served: Served) -> bool:
    """Whether the server saw the client leave."""
    return await asyncio.to_thread(
        served.log.wait_for, lambda entries: entries[-1].outcome == "disconnected", seconds=60
    )


async def test_closing_the_stream_is_seen_by_the_server(fake_openai: Served) -> None:
    async with aclosing(client(fake_openai.base_url, "fault:stall").stream(request().messages)) as items:
        assert isinstance(await anext(items), Delta)
    assert await _left(fake_openai)


@pytest.mark.parametrize("fault", ["stall", "slow-first-token"])
async def test_cancelling_the_wait_is_seen_by_the_server(fake_openai: Served, fault: str) -> None:
    waiting = asyncio.create_task(lines_of(ask(client(fake_openai.base_url, f"fault:{fault}"))))
    came = await asyncio.to_thread(
        fake_openai.log.wait_for, lambda entries: bool(entries) and entries[-1].pieces > 0, seconds=60
    )
    assert came
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await _left(fake_openai)


async def test_closing_the_stream_ends_a_long_pause(fake_openai: Served) -> None:
    chat = client(fake_openai.base_url, "fault:rate-limited-retry-after=300")
    async with aclosing(chat.stream(request().messages)) as items:
        first = await anext(items)
    assert isinstance(first, Retried)
    assert 300 <= first.seconds <= 330
    assert len(fake_openai.log.entries) == 1


@pytest.mark.slow
async def test_one_connection_serves_call_after_call_until_its_worker_is_dropped() -> None:
    with serving(FakeOpenAI()) as served:
        chat = client(served.base_url)
        for _ in range(3):
            await completed(ask(chat))
        assert len(served.connections) == 1
        # In a circle, as a failure's traceback makes one: found by the collector, not by counting.
        vars(chat)["circle"] = chat
        del chat
        gc.collect()
        await until_async(lambda: not served.connections)


@pytest.mark.slow
async def test_connections_can_be_closed_and_are_opened_again(fake_openai: Served) -> None:
    chat = client(fake_openai.base_url)
    await completed(ask(chat))
    await chat.aclose()
    await chat.aclose()
    await completed(ask(chat))


@pytest.mark.slow
def test_a_client_serves_one_event_loop_after_another(fake_openai: Served) -> None:
    chat = client(fake_openai.base_url, concurrency=1, requests_per_minute=1_000)
    texts = {asyncio.run(completed(ask(chat))).text for _ in range(3)}
    assert len(texts) == 1


async def test_as_many_requests_are_under_way_as_the_worker_allows() -> None:
    under_way = most = 0
    two = asyncio.Barrier(2)

    async def paired(writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await two.wait()
        under_way -= 1
        writer.write(head() + chunk(content="a") + chunk("stop") + DONE)

    async with raw_endpoint(paired) as base_url:
        chat = client(base_url, concurrency=2)
        async with asyncio.timeout(60):
            lines = await asyncio.gather(*(lines_of(ask(chat)) for _ in range(6)))
    assert lines == [["text: a", "stop: None tokens"]] * 6
    assert most == 2


async def test_the_list_of_models_is_read(fake_openai: Served) -> None:
    served = await client(fake_openai.base_url).served()
    assert [model.name for model in served[:2]] == ["simulated", "reasoning-simulated"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("<html>", "200 OK", "no chat completion (its list of models cannot be read)"),
        ('{"error": {"message": "no"}}', "401 Unauthorized", "answered 401 Unauthorized: “no”; name the"),
        ("", "500 Oh", "answered 500 Internal Server Error; run the step again later"),
    ],
)
async def test_a_list_of_models_that_does_not_come_states_why(body: str, status: str, words: str) -> None:
    async with raw_endpoint(replies(body, status=status)) as base_url:
        with pytest.raises(WorkerError) as caught:
            await client(base_url).served()
    assert words in str(caught.value)


@pytest.mark.slow
async def test_a_list_of_models_has_its_time(unused_tcp_port: int) -> None:
    async def silent(_: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with raw_endpoint(silent) as base_url:
        with pytest.raises(WorkerError, match=r"sent no token within 0\.05 seconds"):
            await client(base_url, first_token=0.05).served()
    with pytest.raises(WorkerError, match="cannot be reached"):
        await client(f"http://127.0.0.1:{unused_tcp_port}/v1").served()


async def test_a_query_of_the_base_url_stays(fake_openai: Served) -> None:
    chat = ChatClient(endpoint(f"{fake_openai.base_url}?api-version=3"), name="alpha")
    assert str(chat.endpoint.url("models")).endswith("/v1/models?api-version=3")
    await completed(ask(chat))


# -- the provider's own name of a call ----------------------------------------------------------------

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
    answer = replies(message, content_type=JSON, more=headers) if whole else replies(ALL, more=headers)
    async with raw_endpoint(answer) as base_url:
        assert (await completed(ask(client(base_url)))).request_id == name


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
    async with raw_endpoint(replies(body, status=status, more=NAMED)) as base_url:
        lines = await lines_of(ask(client(base_url, retries=0, max_characters=100)))
    assert lines[-1].count("(request id req_1)") == 1
    assert lines[-1].startswith("error: ")


@pytest.mark.slow
async def test_a_stalled_call_is_named() -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        writer.write(head(more=NAMED))
        await asyncio.sleep(60)

    async with raw_endpoint(silent) as base_url:
        (line,) = await lines_of(ask(client(base_url, first_token=1)))
    assert "sent no token within 1 second (request id req_1); raise first_token_seconds" in line


@pytest.mark.usefixtures("no_pauses")
async def test_each_attempt_has_a_name_of_its_own() -> None:
    bodies = iter([(b"", "500 Oh", "a"), (b"", "503 Oh", "b"), (ALL, "200 OK", "c")])

    async def answer(writer: asyncio.StreamWriter) -> None:
        body, status, name = next(bodies)
        await replies(body, status=status, more=f"x-request-id: req_{name}\r\n")(writer)

    async with raw_endpoint(answer) as base_url:
        chat = client(base_url)
        lines = await lines_of(ask(chat))
    at = f"alpha: {chat.endpoint.host} answered"
    assert lines[:2] == [
        f"attempt 1: {at} 500 Internal Server Error (request id req_a).",
        f"attempt 2: {at} 503 Service Unavailable (request id req_b).",
    ]


async def test_a_list_of_models_that_fails_is_named() -> None:
    async with raw_endpoint(
        replies("{}", status="401 Unauthorized", content_type=JSON, more=NAMED)
    ) as base_url:
        with pytest.raises(WorkerError, match=r"answered 401 Unauthorized \(request id req_1\); name the"):
            await client(base_url).served()


async def test_a_key_in_the_name_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_endpoint(replies(ALL, more=f"x-request-id: req_{KEY}\r\n")) as base_url:
        set_key(monkeypatch, base_url, KEY)
        completion = await completed(ask(client(base_url, api_key_env="ALPHA_API_KEY")))
    assert completion.request_id == "req_***"


async def test_a_run_keeps_the_name_with_the_output_and_not_in_the_fingerprint() -> None:
    names = iter(["req_1", "req_2"])

    async def answer(writer: asyncio.StreamWriter) -> None:
        await replies(ALL, more=f"x-request-id: {next(names)}\r\n")(writer)

    async with raw_endpoint(answer) as base_url:
        pool = Pool(workers=(OpenAIWorker(endpoint(base_url), name="alpha"),))
        first = await played(workflow_of(()), pool)
        second = await played(workflow_of(()), pool)
    output, other = first.outputs[0], second.outputs[0]
    assert (output.request_id, other.request_id) == ("req_1", "req_2")
    assert output.fingerprint == other.fingerprint
    assert output.by_hand("mine", edit=HandEdit(at=0.0)).request_id is None
