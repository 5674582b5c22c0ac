"""A vLLM server as a process: started, listened to, waited for, ended with everything it started.

Knows processes and the two addresses that say whether a server is ready; knows no flag of vLLM.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import NoReturn

import httpx

from conductor.errors import ServeError
from conductor.vllm.log import Log

_CHILDREN_SECONDS = 3.0


class Server:
    """A server that runs as long as the `with` block.

    It has a process group of its own, so that Ctrl+C reaches only us and the server is asked once, in
    order. `key` is the API key, None for a server without one. `listen` hears every line, fit to show.
    `grace` is how many seconds it has to end by itself: it stops its engine and frees the device's memory.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        url: str,
        key: str | None = None,
        listen: Callable[[str], None] | None = None,
        grace: float = 20.0,
    ) -> None:
        self._command = tuple(command)
        self._environment = dict(environment)
        self._url = url
        self._key = key
        self._listen = listen
        self._grace = grace
        self._log = Log(secret=key)
        self._started = 0.0

    def __enter__(self) -> Server:
        """Start the process. Raises `ServeError` when its address is taken or it cannot be run."""
        _require_free(self._url)
        self._started = time.monotonic()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the interpreter the user named, our arguments
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise ServeError(f"{self._command[0]} cannot be run: {error.strerror}.") from error
        self._reader = threading.Thread(target=self._read, name="server-log", daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def wait_until_ready(
        self, model: str, *, said: Callable[[float, str], None], every: float = 0.25
    ) -> int | None:
        """Wait until the server is healthy and serves `model`; the tokens a call may hold, if it says.

        A model may take an hour to download, so there is no limit; `said(seconds, line)` is told every
        `every` seconds how long it has been and what the server said last. Raises `ServeError` with the
        server's last lines when it ends before it is ready.
        """
        # No proxy of the environment stands between this machine and itself.
        with httpx.Client(base_url=self._url, timeout=5.0, trust_env=False) as client:
            while not _healthy(client):
                if self._process.poll() is not None:
                    raise ServeError(self._death("before it was ready"))
                said(time.monotonic() - self._started, self._log.latest)
                time.sleep(every)
            return self._served(client, model)

    def join(self) -> NoReturn:
        """Wait until the server ends. Then raises `ServeError`, as nobody asked it to."""
        self._process.wait()
        raise ServeError(self._death("by itself"))

    def _served(self, client: httpx.Client, model: str) -> int | None:
        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        try:
            answer = client.get("/v1/models", headers=headers)
            answer.raise_for_status()
            served = {entry["id"]: entry.get("max_model_len") for entry in answer.json()["data"]}
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise ServeError(f"{self._url} is healthy, but lists no models: {error!r}.") from error
        if model not in served:
            names = ", ".join(map(str, served)) or "nothing"
            raise ServeError(f"{self._url} serves {names} instead of {model}; check the flags after the --.")
        context = served[model]
        return context if isinstance(context, int) else None

    def _read(self) -> None:
        assert self._process.stdout is not None, "the process was started with a pipe"
        for raw in self._process.stdout:
            line = self._log.hear(raw)
            if self._listen is not None and line:
                self._listen(line)

    def _death(self, when: str) -> str:
        # Its children may hold the pipe open; what they have to say no longer matters.
        self._reader.join(timeout=2)
        code = self._process.returncode
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        lines = self._log.last_lines or "(nothing)"
        return f"The vLLM server {how} {when}. Its last lines:\n{lines}"

    def _end(self) -> None:
        """Interrupt the server and its children, as Ctrl+C in a terminal would, then end what is left.

        Not SIGTERM: vLLM does not hear it while its engine starts. A second Ctrl+C skips the waiting.
        """
        group = self._process.pid
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            _signal(group, signal.SIGINT)
            self._process.wait(timeout=self._grace)
            _wait_for_end(group)
        _signal(group, signal.SIGKILL)
        self._process.wait()
        self._reader.join(timeout=2)
        if not self._reader.is_alive() and self._process.stdout is not None:
            self._process.stdout.close()


def _healthy(client: httpx.Client) -> bool:
    try:
        return client.get("/health").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _signal(group: int, number: int) -> bool:
    """Send a signal to a process group; whether somebody was there to get it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        # macOS says "permission" of a group in which only the dead are left.
        return False
    return True


def _wait_for_end(group: int) -> None:
    """Give the children that outlive the server a moment: the last of them frees shared memory."""
    until = time.monotonic() + _CHILDREN_SECONDS
    while _signal(group, 0) and time.monotonic() < until:
        time.sleep(0.05)


def _require_free(url: str) -> None:
    """Refuse an address where somebody answers: that server's health would pass for ours."""
    address = httpx.URL(url)
    try:
        with socket.create_connection((address.host, address.port or 80), timeout=2):
            pass
    except OSError:
        return
    raise ServeError(f"Port {address.port} of {address.host} is taken; choose another by --port.")
