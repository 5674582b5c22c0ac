"""An embedded model as a worker: the endpoint worker, whose endpoint is a process of this program.

Knows the endpoint and how the process is reached; it is labelled by its card's kind, "embedded".
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen
from types import MappingProxyType
from typing import IO, Any

from conductor.errors import PoolError, WorkerError
from conductor.own_settings import passed_environment
from conductor.values.messages import Sampling, Usage
from conductor.workers.embedded.model_file import SHIPPED_MODEL, model_file, runner_fault
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.embeddings import EmbeddingClient
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.protocol import Price, Worker

# -- processes of models ---------------------------------------------------------------------------
#
# One for each file, started when it is needed, again where it has died. A process has no key of this program,
# listens on loopback, serves only requests with the random key that it was given, and ends with this program.

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


STRENGTHS = "a tiny language model on this machine, often wrong: short answers to easy questions"

SAMPLING = Sampling(temperature=0, max_tokens=512)
"""The likeliest answer: of 14 capitals and currencies 9 were right so, and 7 at its makers' 0.2. A tiny model
may never end, and 512 tokens take it 15 seconds.
"""

_NO_LOOPS = MappingProxyType({"dry_multiplier": 0.8})
"""llama.cpp's penalty on sentences that repeat: without it the likeliest words of a tiny model never end."""

EMBEDDED_CHARACTERS = CONTEXT // 4
"""No character is more than four tokens."""

_FREE = Price(prompt=0.0, completion=0.0)


class EmbeddedEndpoint(Endpoint):
    """A model at whatever port its process listens. One request at a time.

    `source` is the shipped model's name or the path of a GGUF file, `model` the same without a folder. With
    `embeds` it makes vectors of texts, and no answers.
    """

    source: str
    embeds: bool = False
    base_url: str = "http://127.0.0.1"
    retries: int = 2
    concurrency: int | None = 1

    @property
    def host(self) -> str:
        return f"the process of {self.model}"

    def key_fault(self) -> str | None:
        """Why the model cannot be served now, None if it can."""
        try:
            model_file(self.source)
        except PoolError as error:
            return str(error)
        return runner_fault()

    async def reach(self) -> Endpoint:
        """See `Endpoint.reach`. Starts the process unless it lives. Raises `EndpointFailure`."""
        if (fault := self.key_fault()) is not None:
            raise _no_process(self.host, fault)
        process = process_of(model_file(self.source), self.model, embeds=self.embeds)
        try:
            # Shielded: others wait for the same start.
            address = await asyncio.shield(asyncio.wrap_future(process.address()))
        except WorkerError as error:
            raise _no_process(self.host, str(error)) from error
        return _Reached(base_url=f"{address.url}/v1", model=self.model, own_key=address.key)

    @classmethod
    def of(cls, source: str, **more: Any) -> EmbeddedEndpoint:
        """The one of that model."""
        return cls(source=source, model=source if source == SHIPPED_MODEL else Path(source).stem, **more)


class _Reached(Endpoint):
    """The process where it listens now, with the key that it was given."""

    own_key: str

    def key(self) -> str | None:
        return self.own_key


def _no_process(host: str, fault: str) -> EndpointFailure:
    reason, _, advice = fault.rstrip(".").partition("; ")
    return EndpointFailure(
        f"{host} did not start: {reason}", advice=advice or "see the Pool page", outage="not started"
    )


class EmbeddedWorker(OpenAIWorker):
    """See `OpenAIWorker`. Its answers cost nothing. `extra` goes into each request's body."""

    def __init__(
        self,
        model: str = SHIPPED_MODEL,
        *,
        name: str,
        strengths: str | None = None,
        sampling: Sampling = SAMPLING,
        extra: Mapping[str, Any] = _NO_LOOPS,
    ) -> None:
        super().__init__(
            EmbeddedEndpoint.of(model, extra=extra),
            name=name,
            strengths=strengths or STRENGTHS,
            sampling=sampling,
            price=_FREE,
            context=CONTEXT,
        )
        # The address changes with each start, and decides no answer.
        self.card = self.card.model_copy(update={"kind": "embedded", "endpoint": None})


class EmbeddedEmbeddings(EmbeddingClient):
    """See `EmbeddingClient`. A text counts by its first `EMBEDDED_CHARACTERS`, which fit into a context."""

    async def embed(
        self,
        texts: Sequence[str],
        *,
        dimensions: int | None = None,
        note: Callable[[Usage], object] = lambda _: None,
    ) -> list[list[float]]:
        cut = [text[:EMBEDDED_CHARACTERS] for text in texts]
        return await super().embed(cut, dimensions=dimensions, note=note)


def embedded_workers() -> tuple[Worker, ...]:
    """The set of one worker, `smol`: the model that comes with the program."""
    return (EmbeddedWorker(name="smol"),)
