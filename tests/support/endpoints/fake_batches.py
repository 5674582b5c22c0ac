"""Batch endpoints of both forms on the loopback address: files and batches as OpenAI has them, messages as
Anthropic has them.

A batch ends once `release` is set. An answer is "Answer: " and the last word of what was asked; questions
that end with a word of `FAULTS` fail, those of `FAIL_ONCE` only the first time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

FAULTS = ("expires", "overloads", "offends")
FAIL_ONCE = ("expires", "overloads")
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}


@dataclass
class FakeBatches:
    """`batches` has the requests of each batch, by their ids; `refused` paths are not there, and batches are
    refused as a whole for what `rejects` has.
    """

    release: Event = field(default_factory=Event)
    refused: tuple[str, ...] = ()
    rejects: str = ""
    base_url: str = ""
    batches: list[dict[str, dict[str, Any]]] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)
    files: dict[str, str] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)
    _lines: dict[int, dict[str, tuple[str, dict[str, Any]]]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @property
    def questions(self) -> list[list[str]]:
        """The last words of each batch's questions, sorted."""
        return [sorted(_word(body) for body in batch.values()) for batch in self.batches]

    def answer(self, path: str, headers: Mapping[str, str], content: bytes) -> tuple[int, str]:
        with self._lock:
            if any(path.endswith(each) for each in self.refused):
                return 404, json.dumps({"error": {"message": "no such path"}})
            anthropic = "anthropic-version" in headers
            self.keys.add(headers.get("x-api-key") if anthropic else headers.get("authorization"))
            kind = headers.get("content-type", "")
            reply = self._anthropic(path, content) if anthropic else self._openai(path, kind, content)
            return 200, reply if isinstance(reply, str) else json.dumps(reply)

    def _openai(self, path: str, kind: str, content: bytes) -> Any:
        if path == "/v1/files":
            form = BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + content)
            parts: dict[Any, Any] = {
                part.get_param("name", header="content-disposition"): part for part in form.walk()
            }
            assert parts["purpose"].get_payload() == "batch"
            id = f"file-{len(self.files)}"
            self.files[id] = parts["file"].get_payload(decode=True).decode()
            return {"id": id}
        if path == "/v1/batches":
            order = json.loads(content)
            assert (order["endpoint"], order["completion_window"]) == ("/v1/chat/completions", "24h")
            lines = map(json.loads, self.files[order["input_file_id"]].splitlines())
            self.batches.append({line["custom_id"]: line["body"] for line in lines})
            return {"id": f"batch_{len(self.batches) - 1}", "status": "validating"}
        if path.startswith("/v1/batches/"):
            at = int(path.rpartition("_")[2])
            if self.rejects:
                return {
                    "id": f"batch_{at}",
                    "status": "failed",
                    "errors": {"data": [{"message": self.rejects}]},
                }
            if not self.release.is_set():
                return {"id": f"batch_{at}", "status": "in_progress"}
            kinds = {kind for kind, _ in self._ended(at).values()}
            return {
                "id": f"batch_{at}",
                "status": "expired" if "expires" in kinds else "completed",
                "output_file_id": f"out-{at}" if "" in kinds else None,
                "error_file_id": f"bad-{at}" if kinds - {""} else None,
            }
        which, _, at = path.removeprefix("/v1/files/").removesuffix("/content").partition("-")
        lines = self._ended(int(at)).items()
        written = [_openai_line(id, *line) for id, line in lines if (line[0] == "") == (which == "out")]
        return "\n".join(map(json.dumps, written))

    def _anthropic(self, path: str, content: bytes) -> Any:
        if content:
            requests = json.loads(content)["requests"]
            self.batches.append({each["custom_id"]: each["params"] for each in requests})
            return {"id": f"msgbatch_{len(self.batches) - 1}", "processing_status": "in_progress"}
        at = int(path.removesuffix("/results").rpartition("_")[2])
        if path.endswith("/results"):
            return "\n".join(json.dumps(_anthropic_line(id, *line)) for id, line in self._ended(at).items())
        ended = self.release.is_set()
        # A client that follows this address sends its key to another server.
        results = "http://127.0.0.1:9/results"
        return {
            "id": f"msgbatch_{at}", "processing_status": "ended" if ended else "in_progress",
            "results_url": results,
        }  # fmt: skip

    def _ended(self, at: int) -> dict[str, tuple[str, dict[str, Any]]]:
        """What became of each request, drawn once: the fault, "" for an answer."""
        if at not in self._lines:
            self._lines[at] = {id: (self._fault(_word(body)), body) for id, body in self.batches[at].items()}
        return self._lines[at]

    def _fault(self, word: str) -> str:
        if word not in FAULTS or word in self._failed:
            return ""
        if word in FAIL_ONCE:
            self._failed.add(word)
        return word


def _word(body: Mapping[str, Any]) -> str:
    return str(body["messages"][-1]["content"]).rstrip("?").split()[-1]


def _openai_line(id: str, fault: str, body: dict[str, Any]) -> dict[str, Any]:
    if fault == "expires":
        error = {"code": "batch_expired", "message": "not executed in time"}
        return {"custom_id": id, "response": None, "error": error}
    if fault:
        status = 429 if fault == "overloads" else 400
        message = {"error": {"message": f"{fault} here"}}
        return {"custom_id": id, "response": {"status_code": status, "body": message}, "error": None}
    choice = {"message": {"role": "assistant", "content": f"Answer: {_word(body)}"}, "finish_reason": "stop"}
    completion = {"id": f"call-{id}", "choices": [choice], "usage": USAGE}
    return {"custom_id": id, "response": {"status_code": 200, "body": completion}, "error": None}


def _anthropic_line(id: str, fault: str, body: dict[str, Any]) -> dict[str, Any]:
    if fault == "expires":
        return {"custom_id": id, "result": {"type": "expired"}}
    if fault:
        kind = "overloaded_error" if fault == "overloads" else "invalid_request_error"
        error = {"type": "error", "error": {"type": kind, "message": f"{fault} here"}}
        return {"custom_id": id, "result": {"type": "errored", "error": error}}
    message = {
        "id": f"call-{id}",
        "content": [
            {"type": "thinking", "thinking": "so"},
            {"type": "text", "text": f"Answer: {_word(body)}"},
        ],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 50, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10,
                  "output_tokens": 10},
    }  # fmt: skip
    return {"custom_id": id, "result": {"type": "succeeded", "message": message}}


@contextmanager
def serving_batches(fake: FakeBatches) -> Iterator[FakeBatches]:
    """Serves it in a thread."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            content = self.rfile.read(int(headers.get("content-length", 0)))
            status, text = fake.answer(self.path, headers, content)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
