"""A hub of models on loopback: its list and one file, which breaks off, ignores ranges or is another one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTENT = b"GGUF" + bytes(range(256)) * 4_000


@dataclass
class FakeHub:
    """`sent` is the content of the file, `listed` the one whose sum the list has. After `breaks` bytes of an
    answer the connection ends, as often as `times`. `ranges` has the Range of each request for the file.
    """

    file: str
    sent: bytes = CONTENT
    listed: bytes = CONTENT
    breaks: int | None = None
    times: int = 1_000
    takes_ranges: bool = True
    redirects: bool = True
    url: str = ""
    ranges: list[str | None] = field(default_factory=list)


@contextmanager
def serving_hub(hub: FakeHub) -> Iterator[FakeHub]:
    """Serve it until the block is left."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/api/models/"):
                self._list()
            elif self.path.endswith(f"/resolve/main/{hub.file}") and hub.redirects:
                self.send_response(302)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                self._file()

        def _list(self) -> None:
            lfs = {"oid": sha256(hub.listed).hexdigest(), "size": len(hub.listed)}
            entries = [{"path": "README.md"}, {"path": hub.file, "lfs": lfs}]
            self._begin(200, len(body := json.dumps(entries).encode()))
            self.wfile.write(body)

        def _file(self) -> None:
            span = self.headers["Range"]
            hub.ranges.append(span)
            first = int(span.removeprefix("bytes=").rstrip("-")) if span and hub.takes_ranges else 0
            content = hub.sent[first:]
            name = f"bytes {first}-{len(hub.sent) - 1}/{len(hub.sent)}"
            self._begin(206 if first else 200, len(content), **({"Content-Range": name} if first else {}))
            if hub.breaks is not None and hub.times:
                hub.times -= 1
                self.wfile.write(content[: hub.breaks])
                self.connection.close()
                return
            self.wfile.write(content)

        def _begin(self, status: int, length: int, **headers: str) -> None:
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(length)}.items():
                self.send_header(key.replace("_", "-"), value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
