"""The load test of the API measures what it names; how fast anything is, is no test's business."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.api_load import Effort, as_text, contenders, measured
from benchmarks.streams import stream
from tests.support.endpoints.raw_endpoint import DONE, chunk, event, raw_endpoint, replies


@pytest.mark.slow
@pytest.mark.thorough
def test_a_small_load_reports_every_number_and_no_error() -> None:
    with contenders(tokens_per_second=2000) as served:
        report = asyncio.run(measured(served, Effort(size=20, rounds=1, alone=1)))
    assert list(report.errors) == []
    for load in (report.alone, report.many):
        for each in load.values():
            assert 0 < each.first <= each.whole
            assert each.tokens_per_second > 0
    text = as_text(report)
    assert "| 20 at once |" in text
    assert "0 requests failed" in text


@pytest.mark.parametrize(
    ("body", "error", "tokens"),
    [
        (chunk(content="So.") + event({"usage": {"completion_tokens": 7}}) + DONE, None, 7),
        (chunk(content="So."), "ended before its end", 0),
        (chunk(content="") + DONE, "had no text", 0),
        (chunk(content="So.") + event({"error": {"message": "no"}}), 'data: {"error": {"message": "no"}}', 0),
    ],
)
async def test_a_stream_that_is_not_whole_is_an_error(body: bytes, error: str | None, tokens: int) -> None:
    async with raw_endpoint(replies(body)) as base_url:
        reply = await stream(base_url, "any")
    assert (reply.error, reply.tokens) == (error, tokens)


async def test_a_refusal_is_an_error(unused_tcp_port: int) -> None:
    async with raw_endpoint(replies(b"{}", status="503 Service Unavailable")) as base_url:
        assert (await stream(base_url, "any")).error == "HTTP/1.1 503 Service Unavailable"
    assert "Connect" in str((await stream(f"http://127.0.0.1:{unused_tcp_port}/v1", "any")).error)
