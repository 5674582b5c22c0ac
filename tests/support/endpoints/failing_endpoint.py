"""A model on the loopback address that answers a question with a text, or with one of the failures below."""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler], None]

_QUESTION = re.compile(r"\bquestion (\d+)\b")


def sends(body: object, *, status: int = 200, content_type: str = "application/json") -> Reply:
    """A whole reply: a text as it is, anything else as JSON."""
    content = (body if isinstance(body, str) else json.dumps(body)).encode()

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return reply


def refuses(status: int, message: str = "no", **error: str) -> Reply:
    """An error in OpenAI's shape."""
    return sends({"error": {"message": message, **error}}, status=status)


def answers(text: str, *, finish: str = "stop") -> Reply:
    """A completion, with its end's reason."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return sends({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})


def streams_an_error(**error: object) -> Reply:
    """An error in the place of the first piece of a stream."""
    return sends(f"data: {json.dumps({'error': error})}\n\n", content_type="text/event-stream")


def resets(handler: BaseHTTPRequestHandler) -> None:
    """Breaks the connection as a crash does."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


@dataclass
class FailingEndpoint:
    """`failures` are its replies by a model's name, by the number of a question, which prompts have as
    "question 3", or by both; everything else has the `answer` to that number. `numbers` are those of the
    questions that came, in their order.
    """

    base_url: str
    answer: Callable[[int], str] = str
    failures: Mapping[object, Reply] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        prompt = json.dumps(body["messages"])
        match = _QUESTION.search(prompt)
        number = int(match[1]) if match else -1
        self.numbers.append(number)
        model = body["model"]
        failures = (self.failures.get(key) for key in ((model, number), model, number))
        return next(filter(None, failures), answers(self.answer(number)))

    def pool(self, *names: str, retries: int = 0, seconds: float = 20) -> str:
        """A pool file with workers of these names, each of them this model."""
        return "".join(
            f'[[worker]]\nname = "{name}"\nmodel = "{name}"\nbase_url = "{self.base_url}"\nretries = '
            f"{retries}\nfirst_token_seconds = {seconds}\ntotal_seconds = {seconds}\n\n"
            for name in names
        )


@contextmanager
def failing_endpoint() -> Iterator[FailingEndpoint]:
    """The endpoint, while it listens."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.reply_to(body)(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint = FailingEndpoint(f"http://127.0.0.1:{server.server_port}/v1")
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join(60)
        server.server_close()
