"""Behaves like vLLM's server as a process does: logs, takes its time, answers, guards /v1, dies.

Copied to where vLLM's own module would be. `--fake WHAT`, given any number of times, chooses how: `die`,
`slow` (unhealthy for five requests), `never` (unhealthy for good), `child` (starts one that outlives it),
`stubborn` (ignores interrupts), `leak` (logs the key), `controls` (logs control characters), `end` (ends
after a request for its models), `mute` (lists no models).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

LOG = "\x1b[36m(APIServer pid=7)\x1b[0m INFO 11-21 13:30:14 [model.py:733] "
FAILURE = """(EngineCore pid=9) ERROR 11-21 13:34:22 [core.py:1510] EngineCore failed to start.
(EngineCore pid=9) ERROR 11-21 13:34:22 [core.py:1510] Traceback (most recent call last):
(EngineCore pid=9) ERROR 11-21 13:34:22 [core.py:1510]   File "core.py", line 1482, in run
(EngineCore pid=9) ERROR 11-21 13:34:22 [core.py:1510]     engine = Engine()
(EngineCore pid=9) ERROR 11-21 13:34:22 [core.py:1510]              ^^^^^^^^
(EngineCore pid=9) ERROR 11-21 13:34:22 [core.py:1510] ValueError: 99 GiB are needed, 80 GiB are there.
Traceback (most recent call last):
  File "entry.py", line 236, in <module>
    main()
RuntimeError: Engine core initialization failed. See root cause above."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fake", action="append", default=[])
    parser.add_argument("--served-model-name")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--max-model-len", type=int, default=4096)
    options, _ = parser.parse_known_args()
    if "RECORD" in os.environ:
        facts = {"arguments": sys.argv[1:], "environment": dict(os.environ), "pid": os.getpid()}
        # A test reads the record the moment it is there, so it comes whole.
        record = Path(os.environ["RECORD"])
        draft = record.with_name(f"{record.name}.draft")
        draft.write_text(json.dumps(facts), encoding="utf-8")
        draft.replace(record)
    if "stubborn" in options.fake:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if "leak" in options.fake:
        print(f"{LOG}the key is {os.environ['VLLM_API_KEY']}", flush=True)
    if "controls" in options.fake:
        print(f"{LOG}go \x07\x1b]0;title \x9b2J", flush=True)
    if "child" in options.fake:
        child = subprocess.Popen([sys.executable, "-c", CHILD])
        Path(os.environ["RECORD"]).with_name("child").write_text(str(child.pid), encoding="utf-8")
    if "die" in options.fake:
        print(FAILURE, flush=True)
        sys.exit(1)
    print(f"{LOG}Starting to load model", flush=True)
    serve(options)


CHILD = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)"


def serve(options: argparse.Namespace) -> None:
    unhealthy = 5 if "slow" in options.fake else 10**9 if "never" in options.fake else 0

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal unhealthy
            if self.path == "/health":
                unhealthy -= 1
                self.answer(503 if unhealthy >= 0 else 200, {})
            elif self.path == "/v1/models":
                self.models()
            else:
                self.answer(404, {})

        def models(self) -> None:
            key = os.environ.get("VLLM_API_KEY")
            if key is not None and self.headers.get("Authorization") != f"Bearer {key}":
                self.answer(401, {"error": "Unauthorized"})
                return
            model = {"id": options.served_model_name, "max_model_len": options.max_model_len}
            self.answer(200, {} if "mute" in options.fake else {"data": [model]})
            if "end" in options.fake:
                print(f"{LOG}the engine is dead", flush=True)
                os._exit(3)

        def answer(self, status: int, body: object) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer((options.host, options.port), Handler)
    try:
        server.serve_forever(poll_interval=0.02)
    except KeyboardInterrupt:
        print(f"{LOG}shutdown", flush=True)


if __name__ == "__main__":
    main()
