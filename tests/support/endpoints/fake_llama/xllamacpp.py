"""Stands for the package xllamacpp in the process of an embedded model.

The last message decides what its server answers: "die" ends the process, "die late" after the first words,
"who" gets its settings, "environment" the names of its variables; any other is repeated. A file that contains
"broken", "killed" or "slow" does not load. The vector of a text is the process's number and how long it is.
"""

from __future__ import annotations

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

llama_pooling_type = SimpleNamespace(LLAMA_POOLING_TYPE_MEAN=1)


class CommonParams:
    embedding = False

    def __init__(self) -> None:
        self.model = SimpleNamespace(path="")
        self.cpuparams, self.cpuparams_batch = SimpleNamespace(n_threads=0), SimpleNamespace(n_threads=0)


class Server:
    def __init__(self, params: Any) -> None:
        content = Path(params.model.path).read_bytes()
        if b"broken" in content:
            print("0.00 E srv load_model: failed to load model", file=sys.stderr, flush=True)
            raise RuntimeError("Failed to init server, please check the input params.")
        if b"killed" in content:
            os.kill(os.getpid(), 9)
        if b"slow" in content:
            time.sleep(600)
        server = ThreadingHTTPServer((params.hostnames[0], params.port), _Handler)
        server.params = params  # type: ignore[attr-defined]
        Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{server.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def do_GET(self) -> None:
        name = min(self.server.params.model_alias)
        self._answer(json.dumps({"data": [{"id": name, "owned_by": "llamacpp"}]}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        params = self.server.params
        if self.headers["Authorization"] != f"Bearer {params.api_keys[0]}":
            self.send_error(401)
            return
        if params.embedding != self.path.endswith("/embeddings"):
            self.send_error(501)
            return
        if params.embedding:
            vectors = [[os.getpid(), len(text)] for text in body["input"]]
            data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
            self._answer(json.dumps({"data": data}))
            return
        question = body["messages"][-1]["content"]
        if question == "die":
            os._exit(1)
        figures = f"{os.getpid()} {params.cpuparams.n_threads} {params.n_ctx} {body['model']}"
        environment = " ".join(sorted(os.environ))
        words = {"who": figures, "environment": environment}.get(question, question)
        chunks = [{"delta": {"content": words}}, {"delta": {}, "finish_reason": "stop"}]
        lines = [json.dumps({"choices": [{"index": 0, **chunk}]}) for chunk in chunks]
        if question == "die late":
            self._begin("text/event-stream")
            self.wfile.write(f"data: {lines[0]}\n\n".encode())
            self.wfile.flush()
            time.sleep(0.2)
            os._exit(1)
        self._answer("".join(f"data: {line}\n\n" for line in (*lines, "[DONE]")), "text/event-stream")

    def _answer(self, text: str, kind: str = "application/json") -> None:
        self._begin(kind)
        self.wfile.write(text.encode())

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass
