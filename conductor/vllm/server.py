"""A vLLM server as a process: started, waited for, and ended with everything it started.

Knows processes and the two addresses that show whether a server is ready; knows no flag of vLLM.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NoReturn

import httpx

from conductor.errors import ServeError

_CHILDREN_SECONDS = 3.0
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass
class Server:
    """A server that runs as long as the `with` block.

    It has a separate process group, so that Ctrl+C reaches only us and the server is interrupted once, in
    order. `key` is the API key, None for a server without one. `show` gets every line of its log, without
    control characters and with the key as stars. `grace` is how many seconds it has to end after an
    interrupt: it stops its engine and frees the device's memory.
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    url: str
    show: Callable[[str], None]
    key: str | None = field(default=None, repr=False)
    grace: float = 20.0

    def __enter__(self) -> Server:
        """Start the process. Raises `ServeError` when its address is taken or it cannot be run."""
        _require_free(self.url)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the interpreter the user named, our arguments
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise ServeError(f"{self.command[0]} cannot be run: {error.strerror}.") from error
        self._reader = threading.Thread(target=self._read, name="server-log", daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Interrupt the server and its children, as Ctrl+C in a terminal would, then end what is left.

        Not SIGTERM: vLLM ignores it while its engine starts. A second Ctrl+C skips the waiting.
        """
        group = self._process.pid
        try:
            with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                _signal(group, signal.SIGINT)
                self._process.wait(timeout=self.grace)
                # Children may outlive the server a moment: the last of them frees shared memory.
                until = time.monotonic() + _CHILDREN_SECONDS
                while _signal(group, 0) and time.monotonic() < until:
                    time.sleep(0.05)
        finally:
            _signal(group, signal.SIGKILL)
            self._process.wait()
            self._reader.join(timeout=2)
            if not self._reader.is_alive() and self._process.stdout is not None:
                self._process.stdout.close()

    def wait_until_ready(self, model: str, *, every: float = 0.25) -> int | None:
        """Wait until the server is healthy and serves `model`.

        Returns how many tokens a call may hold, None if the server does not report it. A model may take
        an hour to download, so there is no limit. Raises `ServeError` when the server ends before it is
        ready, or serves something else.
        """
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        # No proxy of the environment is used between this machine and itself.
        with httpx.Client(base_url=self.url, timeout=5.0, trust_env=False, headers=headers) as client:
            while not _healthy(client):
                if self._process.poll() is not None:
                    raise ServeError(self._end("before it was ready"))
                time.sleep(every)
            return _context(client, model)

    def join(self) -> NoReturn:
        """Wait until the server ends. Then raises `ServeError`, as it was not ended from here."""
        self._process.wait()
        raise ServeError(self._end("by itself"))

    def _read(self) -> None:
        assert self._process.stdout is not None, "the process was started with a pipe"
        for raw in self._process.stdout:
            line = _CONTROL.sub("", raw.rstrip())
            self.show(line.replace(self.key, "***") if self.key else line)

    def _end(self, when: str) -> str:
        # Its children may hold the pipe open; what they write no longer matters.
        self._reader.join(timeout=2)
        code = self._process.returncode
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"The vLLM server {how} {when}; its log above gives the reason."


def _healthy(client: httpx.Client) -> bool:
    try:
        return client.get("/health").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _context(client: httpx.Client, model: str) -> int | None:
    try:
        listed = client.get("/v1/models").raise_for_status().json()["data"]
        contexts = {entry["id"]: entry.get("max_model_len") for entry in listed}
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise ServeError(f"{client.base_url} is healthy, but lists no models: {error!r}.") from error
    if model not in contexts:
        names = ", ".join(map(str, contexts)) or "nothing"
        raise ServeError(
            f"{client.base_url} serves {names} instead of {model}; check the flags after the --."
        )
    context = contexts[model]
    return context if isinstance(context, int) else None


def _signal(group: int, number: int) -> bool:
    """Send a signal to a process group; whether a process was there to get it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        # macOS answers "permission" for a group that has only ended processes left.
        return False
    return True


def _require_free(url: str) -> None:
    """Refuse an address where a server answers: its health would pass for ours."""
    address = httpx.URL(url)
    try:
        with socket.create_connection((address.host, address.port or 80), timeout=2):
            pass
    except OSError:
        return
    raise ServeError(f"Port {address.port} of {address.host} is taken; choose another by --port.")
