"""Processes of the API and of the app that are killed and started again, each at a port of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.browser.app_server import ROOT, free_port
from tests.support.processes.child_process import end, start


class Kill(NamedTuple):
    """Unix seconds before the signal and after the end of the process, and which process that was."""

    began: float
    ended: float
    server: str
    port: int
    pid: int


@dataclass
class Server:
    """One of the API, or with `app` of the app, with its log in `folder`."""

    folder: Path
    environment: dict[str, str]
    app: bool = False
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it; it answers later."""
        self.folder.mkdir(exist_ok=True)
        kind = () if self.app else ("--api-only",)
        command = [sys.executable, "-m", "conductor", "serve", *kind, "--port", str(self.port)]
        environment = {**os.environ, **self.environment, "PYTHONPATH": str(ROOT)}
        with (self.folder / "log").open("ab") as log:
            self._process = start(command, cwd=self.folder, env=environment, stdout=log, stderr=log)

    def ready(self) -> bool:
        """Whether it answers."""
        try:
            return httpx.get(f"{self.url}/readyz", trust_env=False, timeout=10).status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> Kill:
        """End it as the system ends what takes too much memory."""
        assert self._process is not None
        began = time.time()
        end(self._process)
        return Kill(began, time.time(), self.folder.name, self.port, self._process.pid)

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None:
            end(self._process, signal.SIGTERM)
