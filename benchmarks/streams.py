"""Streamed chat completions over bare sockets, timed: a client so cheap that many fit beside who is measured.

Knows as much of HTTP as it takes to send one request and to see its stream's first text and its end.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from urllib.parse import urlsplit

_TEXT = re.compile(rb'"content": ?"[^"]')
_TOKENS = re.compile(rb'"completion_tokens": ?(\d+)')


@dataclass(frozen=True)
class Stream:
    """One answer: seconds until its first text and until its end, and its tokens; `error` where it broke."""

    first: float
    whole: float
    tokens: int
    error: str | None = None


@dataclass(frozen=True)
class Crowd:
    """Many at once: seconds as medians and 95th percentiles, tokens a second of all, and what went wrong."""

    first: float
    first_p95: float
    whole: float
    whole_p95: float
    tokens_per_second: float
    errors: tuple[str, ...]


async def crowd(base_url: str, model: str, *, size: int, token: str = "") -> Crowd:
    """So many requests, all begun at once."""
    start = time.perf_counter()
    streams = await asyncio.gather(*(stream(base_url, model, token=token) for _ in range(size)))
    seconds = time.perf_counter() - start
    return Crowd(
        first=median(each.first for each in streams),
        first_p95=_p95([each.first for each in streams]),
        whole=median(each.whole for each in streams),
        whole_p95=_p95([each.whole for each in streams]),
        tokens_per_second=sum(each.tokens for each in streams) / seconds,
        errors=tuple(each.error for each in streams if each.error is not None),
    )


async def stream(base_url: str, model: str, *, token: str = "") -> Stream:
    """One request, from before its connection is opened; with a token where there is one."""
    start = time.perf_counter()
    first, tokens, error = 0.0, 0, "ended before its end"
    try:
        reader, writer = await _send(base_url, model, token)
        async for line in reader:
            if b"HTTP/1.1 " in line[:9] and b" 200 " not in line:
                error = line.decode().strip()
            if not first and _TEXT.search(line):
                first = time.perf_counter() - start
            if b'"error"' in line:
                error = line.decode().strip()
            if reported := _TOKENS.search(line):
                tokens = int(reported[1])
            if line.startswith(b"data: [DONE]"):
                error = "" if first else "had no text"
                break
        writer.close()
    except OSError as trouble:
        error = repr(trouble)
    return Stream(first=first, whole=time.perf_counter() - start, tokens=tokens, error=error or None)


async def _send(base_url: str, model: str, token: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(base_url)
    request = {
        "model": model,
        "messages": [{"role": "user", "content": "Say something about the sea."}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body = json.dumps(request).encode()
    # The last piece of an answer reports its whole run in one line.
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**20)
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    writer.write(
        f"POST {parts.path}/chat/completions HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n"
        f"{authorization}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    return reader, writer


def _p95(seconds: Sequence[float]) -> float:
    return quantiles(seconds, n=20)[-1] if len(seconds) > 1 else seconds[0]
