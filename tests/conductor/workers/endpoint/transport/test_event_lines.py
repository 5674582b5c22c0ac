"""A text that is whole is read from any container, wherever the stream is cut."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.workers.endpoint.transport.exchange import EventLines
from tests.support.endpoints.chat_cases import ask, client, completed, lines_of
from tests.support.endpoints.raw_endpoint import raw_endpoint, replies

FIRST = '{"choices":[{"index":0,"delta":{"content":"42"},"finish_reason":null}]}'
LAST = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'


def _stream(*data: str) -> str:
    return "".join(f"data: {one}\n\n" for one in data)


def _ended(choice: str) -> str:
    return _stream(FIRST, '{"choices":[{' + choice + ',"finish_reason":"stop"}]}', "[DONE]")


PLAIN = _stream(FIRST, LAST, "[DONE]")
STREAMS: list[tuple[str, str]] = [
    ("PHP", _ended('"index":0,"delta":[]')),
    ("vercel/ai#20203", _ended('"index":null,"delta":null')),
    ("Zhipu", _ended('"index":0')),
    ("delta a text", _ended('"index":0,"delta":""')),
    ("index a float", _ended('"index":0.0,"delta":{}')),
    (
        "PHP, list as object",
        _stream(FIRST, '{"choices":{"0":{"delta":{},"finish_reason":"stop"}}}', "[DONE]"),
    ),
    ("null choices", _stream('{"choices":null}', FIRST, LAST, '{"choices":[null]}', "[DONE]")),
    ("content {}", _ended('"delta":{"content":{},"refusal":[],"tool_calls":{},"function_call":[]}')),
    ("SGLang", _ended('"index":0,"delta":{"role":"","content":null},"matched_stop":151645')),
    ("content a number", _stream(FIRST.replace('"42"', "42"), LAST, "[DONE]")),
    ("content a part", _stream(FIRST.replace('"42"', '{"type":"text","text":"42"}'), LAST, "[DONE]")),
    ("Together", _stream('{"choices":[{"index":0,"text":"42"}]}', LAST, "[DONE]")),
    ("Perplexity", _ended('"message":{"content":"42"},"delta":{"content":""}')),
    ("a message behind deltas", _ended('"message":{"content":"42"}')),
    ("MiniMax", PLAIN.replace("data: ", "data:")),
    *((f"end as {end}", _stream(FIRST, LAST, end)) for end in ("[DONE] ", '"[DONE]"', "DONE", "[done]")),
    ("data: null", _stream(FIRST, LAST, "null", "{}", "[DONE]")),
    ("Anthropic", _stream(FIRST, LAST) + 'event: ping\ndata: {"type": "ping"}\n\n' + _stream("[DONE]")),
    ("OpenRouter", ": OPENROUTER PROCESSING\n\n" + PLAIN),
    ("one line break", PLAIN.replace("\n\n", "\n")),
    ("Ollama", f"{FIRST}\n{LAST}\n"),
    (
        "Ollama's own",
        '{"message":{"content":"42"},"done":false}\n{"message":{"content":""},"done":true,"done_reason":"stop"}',
    ),
    ("doubled data:", PLAIN.replace("data: ", "data: data: ")),
    ("DashScope", PLAIN.replace("data: ", "id:1\nevent:result\n:HTTP_STATUS/200\ndata:")),
    ("BOM and CRLF", "\ufeff" + PLAIN.replace("\n", "\r\n")),
    ("CR", PLAIN.replace("\n", "\r")),
    ("no last line break", PLAIN.rstrip()),
    ("Azure", _stream('{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}') + PLAIN),
    # learn.microsoft.com, content streaming: what was checked comes behind the end, and without a delta.
    (
        "Azure, asynchronous filter",
        _stream(
            FIRST,
            LAST,
            '{"id":"","choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{"check_offset":2},'
            '"content_filter_results":{"error":{"code":"content_filter_error","message":"not filtered"}}}]}',
            "[DONE]",
        ),
    ),
    # api-docs.deepseek.com, rate limit: comments in a stream, blank lines before a whole answer.
    ("DeepSeek, waiting", ": keep-alive\n\n: keep-alive\n\n" + PLAIN),
    (
        "DeepSeek, waiting, whole",
        '\n\n\n \n{"choices":[{"message":{"content":"42"},"finish_reason":"stop"}]}',
    ),
    # ollama middleware/openai.go: the reason in a chunk of its own, then the tokens.
    ("Ollama, OpenAI", _stream(FIRST, LAST, '{"choices":[],"usage":{"total_tokens":9}}', "[DONE]")),
    # vllm, ChatCompletionResponseStreamChoice: what it stopped at is a token.
    ("vLLM", _ended('"index":0,"delta":{"content":""},"stop_reason":128001,"token_ids":null')),
    ("Open WebUI", _stream('{"sources":[{"document":["d"]}]}', FIRST, LAST, "[DONE]")),
    # MiniMax-M2.5#2: a role that is empty.
    ("MiniMax, role", _stream('{"choices":[{"delta":{"role":"","content":""}}]}', FIRST, LAST)),
    ("one event", _stream('{"choices":[{"message":{"content":"42"},"finish_reason":"stop"}]}')),
]


@pytest.mark.parametrize(("server", "body"), STREAMS, ids=[server for server, _ in STREAMS])
async def test_a_stream_in_any_container_is_read(server: str, body: str) -> None:
    async with raw_endpoint(replies(body)) as base_url:
        completion = await completed(ask(client(base_url)))
    assert (completion.text, completion.finish_reason) == ("42", "stop"), server


MESSAGE = '{"choices":[{"message":{"content":"42"},"finish_reason":"stop"}]}'


@pytest.mark.parametrize(
    "content_type",
    [
        *("text/event-stream; charset=utf-8", "text/plain", "application/octet-stream", "text/html", ""),
        *("application/json", "application/x-ndjson", "application/stream+json", "application/vnd.api+json"),
    ],
)
@pytest.mark.parametrize("body", [PLAIN, MESSAGE, json.dumps(json.loads(MESSAGE), indent=2)])
async def test_an_answer_is_read_under_any_content_type(body: str, content_type: str) -> None:
    async with raw_endpoint(replies(body, content_type=content_type)) as base_url:
        assert (await completed(ask(client(base_url)))).text == "42"


@pytest.mark.parametrize(
    ("server", "body", "text"),
    [
        ("a number", MESSAGE.replace('"42"', "42"), "42"),
        ("Cloudflare", MESSAGE.replace('"42"', '{"a": 1}'), '{"a": 1}'),
        ("completions", '{"choices":[{"text":"42","finish_reason":"stop"}]}', "42"),
        ("Zhipu", '{"code":200,"msg":"success","data":' + MESSAGE + "}", "42"),
        ("Cloudflare's own", '{"success":true,"errors":[],"result":' + MESSAGE + "}", "42"),
        ("Ollama's own", '{"message":{"content":"42"},"done":true,"done_reason":"stop"}', "42"),
    ],
)
async def test_a_whole_body_in_any_frame_is_read(server: str, body: str, text: str) -> None:
    async with raw_endpoint(replies(body, content_type="application/json")) as base_url:
        assert (await completed(ask(client(base_url)))).text == text, server


@pytest.mark.parametrize("cut", ["dat", "data: ", "data: [DO", 'data: {"choices":[{', "ev"])
async def test_a_part_of_an_event_at_the_end_is_a_broken_connection(cut: str) -> None:
    async with raw_endpoint(replies(_stream(FIRST) + cut)) as base_url:
        *_, line = await lines_of(ask(client(base_url, retries=0)))
    assert "broke the connection after 2 characters" in line


@given(body=st.sampled_from([body for _, body in STREAMS]), cuts=st.sets(st.integers(0, 300), max_size=5))
def test_where_the_bytes_are_cut_changes_no_event(body: str, cuts: set[int]) -> None:
    data = body.encode()

    def events(places: list[int]) -> list[object]:
        lines = EventLines()
        ends = [0, *places, len(data)]
        parts = [data[start:end] for start, end in pairwise(ends)]
        return [event for part in parts for event in lines.feed(part)] + [*lines.end()]

    assert events(sorted(cut for cut in cuts if cut < len(data))) == events([])
