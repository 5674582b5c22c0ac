"""The processes of embedded models: one for each file, started when it is needed, again where it has died.

Knows processes and pipes; what a model answers is in `worker`. A process has no key of this program, listens
on loopback, serves only requests with the random key that it was given, and ends with this program.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import signal
import sys
import tempfile
import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen
from typing import IO

from conductor.errors import WorkerError
from conductor.own_settings import passed_environment

CONTEXT = 8192
"""Tokens of a call, prompt and answer; the shipped model's own limit."""

START_SECONDS = 300.0
"""How long a model may load. The shipped one takes 2 seconds, and 13 on a busy machine."""

IDLE_SECONDS = 600
"""After this time without a request the weights leave memory; the next request loads them again."""

_CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Address:
    """Where a model is served now, such as "http://127.0.0.1:40123", and the key of its requests."""

    url: str
    key: str


class ModelProcess:
    """The process that serves `path` as `model`: its answers, or with `embeds` vectors of texts. Safe in
    several threads.
    """

    def __init__(self, path: Path, model: str, *, embeds: bool = False) -> None:
        self.path = path
        self.model = model
        self.embeds = embeds
        self.child: Popen[str] | None = None
        self._lock = threading.Lock()
        self._address: Future[Address] | None = None

    def address(self) -> Future[Address]:
        """Where it is served, once it is loaded; starts a process unless one lives.

        The future raises `WorkerError` if no child can be started.
        """
        with self._lock:
            if self._address is None or (self._address.done() and not self._lives()):
                self._address = Future()
                threading.Thread(target=self._start, args=(self._address,), daemon=True).start()
            return self._address

    def end(self) -> None:
        """End the process; the next request starts another."""
        child, self.child = self.child, None
        if child is not None:
            child.kill()
            child.communicate()

    def _lives(self) -> bool:
        return self.child is not None and self.child.poll() is None

    def _start(self, address: Future[Address]) -> None:
        try:
            address.set_result(self._started())
        except Exception as error:  # noqa: BLE001 - raised where the model was asked
            address.set_exception(error)

    def _started(self) -> Address:
        self.end()
        key = secrets.token_urlsafe(24)
        wish = {
            "path": str(self.path),
            "model": self.model,
            "embeds": self.embeds,
            "key": key,
            "context": CONTEXT,
            "threads": max(1, _cores() - 1),
            "idle_seconds": IDLE_SECONDS,
        }
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            # In a session of its own, it is not interrupted by Ctrl-C beside the program, which ends it.
            child = self.child = Popen(  # noqa: S603 - our own file
                (sys.executable, "-P", str(_CHILD)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=log,
                encoding="utf-8",
                env=passed_environment("HOME", "PYTHONPATH"),
                start_new_session=True,
            )
            _LIVING.add(self)
            late = threading.Timer(START_SECONDS, child.kill)
            late.start()
            try:
                assert child.stdin is not None
                assert child.stdout is not None
                with suppress(OSError):  # A process that has died answers nothing, which is noticed below.
                    child.stdin.write(f"{json.dumps(wish)}\n")
                    child.stdin.flush()
                line = child.stdout.readline()
            finally:
                late.cancel()
            if line:
                return Address(url=json.loads(line)["address"], key=key)
            raise WorkerError(self._why_not(child.wait(), log))

    def _why_not(self, code: int, log: IO[str]) -> str:
        """Why the process ended before it served."""
        if code == -signal.SIGKILL:
            size = self.path.stat().st_size / 1e9
            return (
                f"The process of {self.model} was killed while it loaded, for want of memory or time: it "
                f"needs some {size + 0.3:.1f} GB and at most {START_SECONDS:g} seconds. Close other "
                "programs, or choose a smaller model."
            )
        log.seek(0)
        lines = [line.strip() for line in log if " E " in line or "Error" in line]
        reason = lines[0] if lines else f"exit code {code}"
        return (
            f"The model {self.model} does not load ({reason[:300]}). Choose another GGUF file, or install a "
            "newer xllamacpp."
        )


def _cores() -> int:
    """The cores that this process may use, where the platform reports them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_PROCESSES: dict[tuple[Path, bool], ModelProcess] = {}
_LIVING: set[ModelProcess] = set()
_finding = threading.Lock()


def process_of(path: Path, model: str, *, embeds: bool = False) -> ModelProcess:
    """The one process of this file for all its workers, or the one that embeds texts by it."""
    with _finding:
        return _PROCESSES.setdefault((path.resolve(), embeds), ModelProcess(path, model, embeds=embeds))


@atexit.register
def _end_all() -> None:
    for process in tuple(_LIVING):
        process.end()
