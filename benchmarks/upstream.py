"""An endpoint to measure against: `python -m benchmarks.upstream` prints its base URL and serves.

Answers chat completions with a chosen pace and no thinking at all; each token is the time (Unix seconds) at
which it was sent. A process of its own, so that it takes no time from whoever is measured.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

LATENCY_SECONDS = 0.1
TOKENS = 20
TOKENS_PER_SECOND = 200.0


async def _completion(request: Request) -> StreamingResponse:
    await request.body()
    return StreamingResponse(_stream(), media_type="text/event-stream")


async def _stream() -> AsyncIterator[str]:
    await asyncio.sleep(LATENCY_SECONDS)
    for _ in range(TOKENS):
        yield _event({"choices": [{"index": 0, "delta": {"content": f"{time.time():.6f} "}}]})
        await asyncio.sleep(1 / TOKENS_PER_SECOND)
    yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    yield _event({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": TOKENS}})
    yield "data: [DONE]\n\n"


def _event(data: object) -> str:
    return f"data: {json.dumps(data)}\n\n"


@contextmanager
def upstream() -> Iterator[str]:
    """The base URL of such an endpoint, for as long as the block lasts."""
    root = Path(__file__).resolve().parent.parent
    command = [sys.executable, "-m", "benchmarks.upstream"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main() -> None:
    """Serve on a free port until terminated."""
    # Named TCP, or asyncio holds small pieces back.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", flush=True)
    app = Starlette(routes=[Route("/v1/chat/completions", _completion, methods=["POST"])])
    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", timeout_keep_alive=600)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
