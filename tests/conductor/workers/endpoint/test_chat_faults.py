"""Whatever an endpoint does, the person who watches the step reads what happened and what to do."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.errors import WorkerError
from conductor.text.json_text import portable
from conductor.workers.endpoint.reply.reply import Reply
from conductor.workers.endpoint.transport import timing
from conductor.workers.endpoint.wire import read_chunk
from conductor.workers.keys.mask import NO_KEYS
from tests.support.endpoints.chat_cases import ask, client, completed, lines_of, request
from tests.support.endpoints.fake_openai import Served
from tests.support.endpoints.raw_endpoint import DONE, Conversation, chunk, event, head, raw_endpoint, replies

TEXT = r"text: Simulated answer № [0-9a-f]{6}: .+"
START = r"text: Simulated answer № .*"
LIMITED = r"alpha: HOST answered 429 Too Many Requests: “Rate limit reached”"
FAILED = (
    r"alpha: HOST answered 500 Internal Server Error: "
    r"“The server had an error while processing your request”"
)
BROKE_FIRST = r"alpha: HOST broke the connection before the first token"
BROKE = r"alpha: HOST broke the connection after \d+ characters"
TIMES = {
    "slow-first-token": {"first_token": 0.1},
    "stall": {"between_tokens": 0.2},
    "rate-limited-retry-after=900": {"total": 5},
}


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (
            "slow-first-token",
            [
                r"error: alpha: HOST sent no token within 0\.1 seconds; raise first_token_seconds in the "
                r"pool file, or give the step a faster worker\."
            ],
        ),
        (
            "stall",
            [
                START,
                r"error: alpha: HOST sent nothing more for 0\.2 seconds after \d+ characters; run the step "
                r"again, or raise between_tokens_seconds in the pool file\.",
            ],
        ),
        (
            "reset-before-first-byte",
            [
                rf"attempt 1: {BROKE_FIRST}\.",
                rf"attempt 2: {BROKE_FIRST}\.",
                rf"error: {BROKE_FIRST}, at the last of 3 attempts; run the step again\.",
            ],
        ),
        (
            "reset-mid-stream",
            [
                START,
                rf"attempt 1: {BROKE}\. \(\d+ withdrawn\)",
                START,
                rf"error: {BROKE}, at the last of 2 attempts; run the step again\.",
            ],
        ),
        (
            "hang-up",
            [
                START,
                rf"attempt 1: {BROKE}\. \(\d+ withdrawn\)",
                START,
                rf"error: {BROKE}, at the last of 2 attempts; run the step again\.",
            ],
        ),
        (
            "error-event",
            [
                START,
                r"attempt 1: alpha: HOST reported an error: “The engine died”\. \(\d+ withdrawn\)",
                START,
                r"error: alpha: HOST reported an error: “The engine died”, at the last of 2 attempts; run "
                r"the step again later\.",
            ],
        ),
        ("rate-limited", [rf"attempt 1: {LIMITED}\.", rf"attempt 2: {LIMITED}\.", TEXT, r"stop: \d+ tokens"]),
        (
            "rate-limited=9",
            [
                rf"attempt 1: {LIMITED}\.",
                rf"attempt 2: {LIMITED}\.",
                rf"error: {LIMITED}, at the last of 3 attempts; wait a while, or lower requests_per_minute "
                r"or concurrency in the pool file\.",
            ],
        ),
        ("rate-limited-retry-after=0.01", [rf"attempt 1: {LIMITED}\.", TEXT, r"stop: \d+ tokens"]),
        (
            "rate-limited-retry-after=900",
            [
                rf"error: {LIMITED}, and asking again after the 900 seconds that it asks for would pass the "
                r"5 seconds in all; raise total_seconds in the pool file, or run the step later\."
            ],
        ),
        (
            "error-500",
            [
                rf"attempt 1: {FAILED}\.",
                rf"attempt 2: {FAILED}\.",
                rf"error: {FAILED}, at the last of 3 attempts; run the step again later\.",
            ],
        ),
        (
            "bad-request-400",
            [
                r"error: alpha: HOST answered 400 Bad Request: “Unsupported value: 'messages' does not suit "
                r"this model”; change what it objects to in the step or the pool file\."
            ],
        ),
        ("empty", [r"stop: \d+ tokens"]),
        ("no-usage", [TEXT, r"stop: None tokens"]),
        ("length", [START, r"length: \d+ tokens"]),
        (
            "unknown-parameter=top_k",
            [
                r"error: alpha: HOST answered 400 Bad Request: “Unknown parameter: 'top_k'”; change what it "
                r"objects to in the step or the pool file\."
            ],
        ),
    ],
)
async def test_every_misbehaviour_states_what_it_was(
    fake_openai: Served, fault: str, expected: list[str]
) -> None:
    chat = client(
        fake_openai.base_url,
        f"fault:{fault}",
        extra={"top_k": 3},
        **TIMES.get(fault, {}),
    )
    answer = await lines_of(ask(chat))
    host = re.escape(chat.endpoint.host)
    assert len(answer) == len(expected), answer
    for line, pattern in zip(answer, expected, strict=True):
        assert re.fullmatch(pattern.replace("HOST", host), line, re.DOTALL), line


@pytest.mark.slow
async def test_the_end_of_all_attempts_together_is_reported(fake_openai: Served) -> None:
    chat = client(fake_openai.base_url, "fault:stall", total=0.2)
    assert (await lines_of(ask(chat)))[-1] == (
        f"error: alpha: {chat.endpoint.host} did not finish within 0.2 seconds, all attempts together; raise "
        "total_seconds in the pool file, or request a shorter answer."
    )


@contextmanager
def _no_one_answers_the_door() -> Iterator[str]:
    """A port whose queue is full, so that connecting waits."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=0)) as listener:
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        try:
            yield f"http://127.0.0.1:{address[1]}/v1"
        finally:
            for one in waiting:
                one.close()


@pytest.mark.slow
@pytest.mark.usefixtures("no_pauses")
async def test_a_connection_that_no_one_takes_is_reported() -> None:
    with _no_one_answers_the_door() as base_url:
        chat = client(base_url, connect=0.05, retries=1)
        reason = f"alpha: {chat.endpoint.host} took no connection within 0.05 seconds"
        assert await lines_of(ask(chat)) == [
            f"attempt 1: {reason}.",
            f"error: {reason}, at the last of 2 attempts; check base_url and that the server runs, or raise "
            "connect_seconds in the pool file.",
        ]


@pytest.mark.usefixtures("no_pauses")
async def test_a_server_that_does_not_run_is_reported(unused_tcp_port: int) -> None:
    chat = client(f"http://127.0.0.1:{unused_tcp_port}/v1", retries=1)
    reason = f"alpha: 127.0.0.1:{unused_tcp_port} cannot be reached (Connection refused)"
    assert await lines_of(ask(chat)) == [
        f"attempt 1: {reason}.",
        f"error: {reason}, at the last of 2 attempts; start the server there, or correct base_url in the "
        "pool file.",
    ]


@contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """The most bytes that Python held in the block beyond those before it."""
    tracemalloc.start()
    peak = 0
    try:
        yield lambda: peak
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


@pytest.mark.slow
async def test_signs_of_life_are_no_tokens() -> None:
    async def breathing(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + chunk(role="assistant", content=""))
        while True:
            writer.write(b": still here\n\nid: 1\n\n" + event({"choices": []}))
            await writer.drain()
            await asyncio.sleep(0.01)

    async with raw_endpoint(breathing) as base_url:
        line = await lines_of(ask(client(base_url, first_token=0.1)))
    assert len(line) == 1
    assert "sent no token within 0.1 seconds" in line[0]


@pytest.mark.slow
async def test_a_stream_kept_open_by_signs_of_life_has_still_stalled() -> None:
    async def breathing(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + chunk(content="half"))
        while True:
            writer.write(b": still here\n\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with raw_endpoint(breathing) as base_url:
        lines = await lines_of(ask(client(base_url, between_tokens=0.1)))
    assert lines[0] == "text: half"
    assert "sent nothing more for 0.1 seconds after 4 characters" in lines[1]


@pytest.mark.slow
async def test_an_answer_that_is_whole_is_kept_though_its_stream_never_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timing, "TAIL_SECONDS", 0.05)

    async def lingering(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + chunk(content="all") + chunk("stop"))
        await writer.drain()
        await asyncio.sleep(60)

    async with raw_endpoint(lingering) as base_url:
        assert await lines_of(ask(client(base_url))) == ["text: all", "stop: None tokens"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (chunk(content="all") + chunk("stop"), ["text: all", "stop: None tokens"]),
        (
            chunk(content="all") + DONE,
            [
                "text: all",
                "ended its answer without a finish reason after 3 characters, so it may be cut off",
            ],
        ),
        (chunk("stop", content="all") + DONE + b"data: {broken\n\n", ["text: all", "stop: None tokens"]),
        (chunk(content="all") + chunk("eos"), ["text: all", "stop: None tokens"]),
        (chunk(content="all") + chunk("max_tokens"), ["text: all", "length: None tokens"]),
        (chunk(content="all") + chunk("new_word"), ["text: all", "other: None tokens"]),
        (chunk(refusal="I will not.") + chunk("stop"), ["text: I will not.", "refused: None tokens"]),
        (chunk(content="all", tool_calls=[{}]) + chunk("tool_calls"), ["text: all", "other: None tokens"]),
        (
            chunk(content="\n", tool_calls=[{}]) + chunk("stop") + DONE,
            [
                "text: \n",
                "called tools that were not offered, and answered nothing; run the step again, or give the "
                "step another worker.",
            ],
        ),
        (chunk(content="half") + chunk("content_filter") + DONE, ["text: half", "refused: None tokens"]),
        (chunk("content_filter"), ["held its answer back by its content filter; word the step differently"]),
        (chunk("error"), ["ended its answer with the finish reason “error”, so it may be cut off; run the"]),
        (b"", ["broke the connection before the first token"]),
        (
            chunk(content="half") + b'data: {"choices": [{"delta": {"content": "more\n\n',
            [
                "text: half",
                "); run the step again, or check base_url in the pool file.",
            ],
        ),
        (b"data: 7\n\n", ["no chat completion (Input should be an object)"]),
        (b"data: {}\n\ndata: null\n\n", ["broke the connection before the first token"]),
        (b"data: " + b"[" * 5_000 + b"\n\n", ["Invalid JSON: recursion limit exceeded"]),
        (
            event({"choices": [{"index": 1, "delta": {"content": "b"}}]}) + DONE,
            ["it has no answer among its"],
        ),
        (b"data: " + b"x" * 700_000, ["sent more than 100 characters and was broken off"]),
        (
            chunk(content="x" * 60) * 2,
            [
                "text: x",
                "sent more than 100 characters and was broken off; set max_tokens for the worker, or raise "
                "max_characters in the pool file.",
            ],
        ),
    ],
)
async def test_every_end_of_a_stream_is_understood(body: bytes, expected: list[str]) -> None:
    async with raw_endpoint(replies(body)) as base_url:
        answer = await lines_of(ask(client(base_url, retries=0, max_characters=100)))
    assert len(answer) == len(expected), answer
    assert all(part in line for line, part in zip(answer, expected, strict=True)), answer


async def test_a_page_is_no_answer() -> None:
    async with raw_endpoint(replies("<html>", content_type="text/html; charset=utf-8")) as base_url:
        (line,) = await lines_of(ask(client(base_url)))
    assert line.endswith(
        "answered with HTML or XML instead of an event stream; check base_url in the pool file."
    )


async def test_a_stream_in_a_strange_form_is_read() -> None:
    """Comments, other fields, CRLF, an event on two lines, cut inside a character."""
    body = b": a comment\nevent: message\nid: 7\ndata:" + chunk(content="№ blue").removeprefix(b"data: ")
    body = body.replace(b'{"index"', b'\ndata: {"index"') + chunk("stop") + DONE
    body = body.replace(rb"\u2116", "№".encode()).replace(b"\n", b"\r\n")

    async def ragged(writer: asyncio.StreamWriter) -> None:
        writer.write(head())
        for at in range(len(body)):
            writer.write(body[at : at + 1])
            await writer.drain()
            await asyncio.sleep(0)

    async with raw_endpoint(ragged) as base_url:
        assert await lines_of(ask(client(base_url))) == ["text: № blue", "stop: None tokens"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "No such thing."}}, "“No such thing”"),
        ({"error": {"message": "No such thing.", "param": "tools"}}, "“No such thing. (tools)”"),
        ({"error": "No such thing."}, "“No such thing”"),
        ({"message": "No such thing."}, "“No such thing”"),
        ({"detail": [{"loc": ["body", "top_k"], "msg": "Extra inputs"}]}, "“body.top_k: Extra inputs”"),
        ({"object": "error", "message": {"detail": [{"msg": "Extra inputs"}]}}, "“Extra inputs”"),
        ([{"error": {"code": 400, "message": "No such thing."}}], "“No such thing”"),
        ({"error": {"message": "one\n\n\ttwo\x07\u202ethree"}}, "“one two three”"),
        ({"error": {"message": "x" * 5_000}}, f"“{'x' * 299}…”"),
    ],
)
async def test_a_servers_own_words_are_shown_in_one_short_line(body: object, words: str) -> None:
    answer = replies(json.dumps(body), content_type="application/json", status="418 I'm a Teapot")
    async with raw_endpoint(answer) as base_url:
        (line,) = await lines_of(ask(client(base_url)))
    assert f"answered 418 I'm a Teapot: {words}; change what it objects to" in line


@pytest.mark.parametrize(
    ("status", "more", "advice"),
    [
        ("301 Moved", "Location: http://127.0.0.1:1/\r\n", "write the address it sends to as base_url"),
        ("402 Payment Required", "", "see to the account there"),
        ("404 Not Found", "", "check base_url in the pool file, and that it serves the model 'simulated'"),
        ("413 Too Large", "", "change what it objects to"),
        ("599 Unheard of", "", "alpha: HOST answered 599; run the step again later"),
    ],
)
async def test_a_status_without_words_is_reported_with_advice(status: str, more: str, advice: str) -> None:
    page = replies("<html>no words</html>", content_type="text/html", status=status, more=more)
    async with raw_endpoint(page) as base_url:
        chat = client(base_url, retries=0)
        (line,) = await lines_of(ask(chat))
    assert advice.replace("HOST", chat.endpoint.host) in line
    assert "no words" not in line


async def test_an_endless_error_page_is_not_read_to_its_end() -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(head(status="400 Bad Request", content_type="text/plain"))
        while True:
            writer.write(b"words " * 1_000)
            await writer.drain()

    async with raw_endpoint(endless) as base_url:
        (line,) = await lines_of(ask(client(base_url)))
    assert "answered 400 Bad Request: “words words" in line


@cache
def _packed() -> bytes:
    """90 kB that inflate to 20 MB."""
    return gzip.compress(b" " * 20_000_000, 1)


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity, gzip", "Zstd"])
async def test_a_compressed_answer_is_refused_and_never_inflated(content_type: str, encoding: str) -> None:
    more = f"Content-Encoding: {encoding}\r\n"
    async with raw_endpoint(replies(_packed(), content_type=content_type, more=more)) as base_url:
        chat = client(base_url)
        with peak_memory() as peak:
            (line,) = await lines_of(ask(chat))
    assert line == (
        f"error: alpha: {chat.endpoint.host} sent its answer compressed ({encoding.lower()}), which is not "
        "read; make the server, or a proxy before it, send no Content-Encoding where a request accepts "
        "identity."
    )
    assert peak() < 10_000_000


async def test_a_compressed_list_of_models_is_refused_and_never_inflated() -> None:
    packed = replies(_packed(), content_type="application/json", more="Content-Encoding: gzip\r\n")
    async with raw_endpoint(packed) as base_url:
        with peak_memory() as peak, pytest.raises(WorkerError, match=r"compressed \(gzip\)"):
            await client(base_url).served()
    assert peak() < 10_000_000


async def test_a_compressed_error_keeps_its_status_without_its_words() -> None:
    packed = replies(_packed(), status="429 Too Many Requests", more="Content-Encoding: gzip\r\n")
    async with raw_endpoint(packed) as base_url:
        chat = client(base_url, retries=0)
        with peak_memory() as peak:
            (line,) = await lines_of(ask(chat))
    assert line == (
        f"error: alpha: {chat.endpoint.host} answered 429 Too Many Requests, with words compressed (gzip) "
        "that are not read; wait a while, or lower requests_per_minute or concurrency in the pool file."
    )
    assert peak() < 10_000_000


async def test_an_answer_that_names_identity_as_its_encoding_is_read() -> None:
    body = chunk(content="all") + chunk("stop") + DONE
    async with raw_endpoint(replies(body, more="Content-Encoding: Identity\r\n")) as base_url:
        assert (await completed(ask(client(base_url)))).text == "all"


HIGH, LOW = "\ud83d", "\ude00"


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["blue ", HIGH, LOW, " sky"], "blue 😀 sky"),
        ([f"blue {HIGH}", f"{LOW} sky"], "blue 😀 sky"),
        ([f"blue {HIGH}", " sky"], "blue \ufffd sky"),
        ([f"blue {LOW}", " sky"], "blue \ufffd sky"),
        (["blue ", HIGH], "blue \ufffd"),
    ],
)
@pytest.mark.parametrize("field", ["content", "reasoning_content", "reasoning", "think"])
async def test_halves_of_a_character_are_joined_in_a_stream_and_replaced_where_alone(
    field: str, pieces: list[str], text: str
) -> None:
    deltas = [{"content": piece} if field == "think" else {field: piece} for piece in pieces]
    before, after = ("<think>", "</think>") if field == "think" else ("", "")
    body = b"".join(map(_delta, [{"content": before}, *deltas, {"content": after}])) + chunk("stop") + DONE
    async with raw_endpoint(replies(body)) as base_url:
        completion = await completed(ask(client(base_url)))
    assert (completion.text if field == "content" else completion.reasoning) == text


@given(
    text=st.text(st.sampled_from([HIGH, LOW, "a", "😀", "<", " "]), max_size=12),
    cuts=st.sets(st.integers(0, 12)),
    thinks=st.booleans(),
)
def test_where_a_stream_is_cut_changes_no_character(text: str, cuts: set[int], *, thinks: bool) -> None:
    field = "reasoning" if thinks else "content"
    ends = sorted(cut for cut in {0, len(text), *cuts} if cut <= len(text))
    reply = Reply(NO_KEYS)
    items = [
        item
        for start, end in pairwise(ends)
        for item in reply.take(read_chunk(_delta({field: text[start:end]}).decode()[len("data: ") :]))[0]
    ]
    items += reply.end()
    completion = reply.completion(None)
    assert (completion.reasoning if thinks else completion.text) == portable(text)
    assert "".join(item.text for item in items) == portable(text)


@pytest.mark.parametrize("half", [HIGH, LOW])
async def test_halves_of_a_character_in_an_answer_that_comes_whole_are_replaced(half: str) -> None:
    message = {"content": f"blue {half}{HIGH}{LOW}", "reasoning": f"so {half}"}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    async with raw_endpoint(replies(body, content_type="application/json")) as base_url:
        completion = await completed(ask(client(base_url)))
    assert (completion.text, completion.reasoning) == ("blue \ufffd😀", "so \ufffd")


async def test_bytes_that_are_no_text_are_replaced_in_an_answer_that_comes_whole() -> None:
    body = b'{"choices": [{"message": {"content": "blue \xf0\x9f"}, "finish_reason": "stop"}]}'
    async with raw_endpoint(replies(body, content_type="application/json")) as base_url:
        assert (await completed(ask(client(base_url)))).text == "blue \ufffd"


async def test_half_a_character_in_an_error_is_replaced() -> None:
    body = json.dumps({"error": {"message": f"No {HIGH} such thing"}})
    async with raw_endpoint(replies(body, status="400 Bad Request")) as base_url:
        (line,) = await lines_of(ask(client(base_url)))
    assert "“No \ufffd such thing”" in line


async def test_broken_json_with_half_a_character_is_reported() -> None:
    for data, what in (
        ('{"a": "\\ud83d"', "Invalid JSON: Expecting"),
        ('["\\ud83d", ' + "[" * 200_000, "Invalid JSON: it is nested too deeply"),
    ):
        async with raw_endpoint(replies(f"data: {data}\n\n")) as base_url:
            (line,) = await lines_of(ask(client(base_url, retries=0)))
        assert what in line


async def test_half_a_character_in_a_request_is_replaced(fake_openai: Served) -> None:
    await completed(client(fake_openai.base_url).stream(request(f"why {HIGH}?").messages))
    assert (fake_openai.settled().body or {})["messages"][0]["content"] == "why \ufffd?"


def _delta(delta: dict[str, str]) -> bytes:
    return chunk(**delta)


def _in_turn(*bodies: bytes) -> Conversation:
    """Answers the first request with the first of the bodies, and so on."""
    left = iter(bodies)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + next(left))
        await writer.drain()

    return answer


ALL = chunk(content="all") + chunk("stop") + DONE


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        (
            [chunk(content="bl"), ALL],
            ["text: bl", "attempt 1: BROKE after 2 characters. (2 withdrawn)", "text: all", "stop"],
        ),
        (
            [chunk(reasoning="so"), chunk(content="bl"), ALL],
            [
                "thought: so",
                "attempt 1: BROKE after 2 characters. (2 withdrawn)",
                "text: bl",
                "error: alpha: HOST broke the connection after 2 characters, at the last of 2 attempts; run",
            ],
        ),
        (
            [b"", chunk(content="bl"), b"", ALL],
            [
                "attempt 1: BROKE before the first token.",
                "text: bl",
                "attempt 2: BROKE after 2 characters. (2 withdrawn)",
                "attempt 3: BROKE before the first token.",
                "text: all",
                "stop",
            ],
        ),
        # A tag that is not whole yet was not shown, so there is nothing to withdraw.
        ([chunk(content="<thi"), ALL], ["attempt 1: BROKE after 4 characters.", "text: all", "stop"]),
    ],
)
async def test_an_answer_that_breaks_off_is_withdrawn_and_asked_for_again_once(
    bodies: list[bytes], expected: list[str]
) -> None:
    async with raw_endpoint(_in_turn(*bodies)) as base_url:
        chat = client(base_url, retries=3)
        answer = await lines_of(ask(chat))
    broke = f"alpha: {chat.endpoint.host} broke the connection"
    assert len(answer) == len(expected), answer
    for line, start in zip(answer, expected, strict=True):
        assert line.startswith(start.replace("BROKE", broke).replace("HOST", chat.endpoint.host)), line


@pytest.mark.usefixtures("no_pauses")
async def test_a_completion_has_nothing_of_an_answer_that_was_withdrawn() -> None:
    body = chunk(reasoning="so") + chunk(content="bl")
    async with raw_endpoint(_in_turn(body, ALL)) as base_url:
        completion = await completed(ask(client(base_url)))
    assert (completion.text, completion.reasoning) == ("all", "")


async def test_without_retries_an_answer_that_breaks_off_is_not_asked_for_again() -> None:
    async with raw_endpoint(_in_turn(chunk(content="bl"), ALL)) as base_url:
        lines = await lines_of(ask(client(base_url, retries=0)))
    assert lines[0] == "text: bl"
    assert lines[1].endswith("broke the connection after 2 characters; run the step again.")


@pytest.mark.slow
async def test_many_small_events_are_no_large_one() -> None:
    body = chunk(content="") * 2_000 + chunk("stop", content="all") + DONE
    async with raw_endpoint(replies(body)) as base_url:
        assert (await completed(ask(client(base_url, max_characters=100)))).text == "all"


async def test_text_in_another_charset_than_the_headers_state_is_read_as_utf_8() -> None:
    choice = '{"delta": {"content": "Grüße № 1"}, "finish_reason": "stop"}'
    body = f'data: {{"choices": [{choice}]}}\n\n' + DONE.decode()
    async with raw_endpoint(replies(body, content_type="text/event-stream; charset=latin-1")) as base_url:
        assert (await completed(ask(client(base_url)))).text == "Grüße № 1"
