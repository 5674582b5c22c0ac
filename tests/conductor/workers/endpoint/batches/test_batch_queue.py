"""Calls that wait for batches: how long a server that refuses for now is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from conductor.workers.endpoint.batches import batch_queue
from conductor.workers.endpoint.batches.batch_forms import Body, Line, Send
from conductor.workers.endpoint.batches.batch_queue import NO_BATCHES, BatchQueue
from conductor.workers.endpoint.failures import EndpointFailure

BUSY = EndpointFailure("slow down", advice="wait", transient=True, retry_after=99_999_999.0)


class BusyOnce:
    """A form whose endpoint refuses the first batch, and the first look at one, for three years."""

    def __init__(self) -> None:
        self._refusals = {"submit", "lines"}

    def headers(self, key: str | None) -> Mapping[str, str]:  # noqa: ARG002 - no request is sent
        return {}

    async def submit(self, send: Send, requests: Mapping[str, Body]) -> str:  # noqa: ARG002 - the same
        self._refuse("submit")
        self._ids = tuple(requests)
        return "batch"

    async def lines(self, send: Send, batch: str) -> Mapping[str, Line]:  # noqa: ARG002 - the same
        self._refuse("lines")
        return {id: Line(completion={"id": batch}) for id in self._ids}

    def _refuse(self, call: str) -> None:
        if call in self._refusals:
            self._refusals.remove(call)
            raise BUSY


async def test_a_server_that_asks_for_years_is_asked_again_after_the_longest_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def send(*_: object, **__: object) -> bytes:
        return b""

    monkeypatch.setattr(batch_queue, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(batch_queue, "LONGEST_PAUSE", 0.01)
    queue = BatchQueue("alpha", BusyOnce(), send, NO_BATCHES, masked=str)
    async with asyncio.timeout(20):
        assert await queue.line("a", {}) == Line(completion={"id": "batch"})
