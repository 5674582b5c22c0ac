"""An endpoint to measure against: `python -m benchmarks.upstream` prints its base URL and serves.

Streams the same answer to every chat completion, at a chosen pace; each token is the time (Unix seconds) at
which it was sent. It runs in a process of its own, so that it takes no time from what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route


@dataclass(frozen=True)
class Pace:
    """How an answer is sent: seconds before the first token, the number of tokens, and their rate."""

    latency: float = 0.1
    tokens: int = 20
    tokens_per_second: float = 200.0


def _app(pace: Pace) -> Starlette:
    async def completion(request: Request) -> StreamingResponse:
        await request.body()
        return StreamingResponse(_stream(pace), media_type="text/event-stream")

    return Starlette(routes=[Route("/v1/chat/completions", completion, methods=["POST"])])


async def _stream(pace: Pace) -> AsyncIterator[str]:
    await asyncio.sleep(pace.latency)
    for _ in range(pace.tokens):
        yield _event({"choices": [{"index": 0, "delta": {"content": f"{time.time():.6f} "}}]})
        await asyncio.sleep(1 / pace.tokens_per_second)
    yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    yield _event({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": pace.tokens}})
    yield "data: [DONE]\n\n"


def _event(data: object) -> str:
    return f"data: {json.dumps(data)}\n\n"


@contextmanager
def upstream(pace: Pace = Pace()) -> Iterator[str]:
    """The base URL of such an endpoint, for as long as the block lasts."""
    root = Path(__file__).resolve().parent.parent
    command = [sys.executable, "-m", "benchmarks.upstream", json.dumps(asdict(pace))]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main() -> None:
    """Serve on a free port until terminated."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pace", nargs="?", type=json.loads, default={}, help="the fields of Pace, as JSON")
    pace = Pace(**parser.parse_args().pace)
    # Named TCP, or asyncio holds small pieces back.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", flush=True)
    config = uvicorn.Config(
        _app(pace), log_level="error", access_log=False, lifespan="off", timeout_keep_alive=600
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
