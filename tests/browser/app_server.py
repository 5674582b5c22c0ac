"""A Streamlit server in its own process and folder, as the browser tests need it.

Knows how it is started, ended and listened to; knows no page.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Timer

from conductor.files.project_folder import STORE
from conductor.runs.events import StepStarted
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from tests.support.processes.child_process import end, start
from tests.support.runs.waiting import until

_LOCKED_SECONDS = 2.0
"""Below the seconds that the store waits for a lock."""

ROOT = Path(__file__).parents[2]
_ALARM = re.compile(r"Traceback|\b(?:ERROR|WARNING|CRITICAL)\b|\w+(?:Warning|Error): ")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))

START = 180.0
"""The seconds that a server may take until it answers: on a busy machine its imports alone take a minute."""


def free_port() -> int:
    """A port of the loopback address where no program listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class AppServer:
    """The server of `script` in `folder`, which also holds its database and its log.

    `settings` are environment variables beside the database's; `below` is the path that they name for the
    app. Used as a context manager; `start` and `kill` stand for a crash and a restart in the same place.
    """

    def __init__(
        self,
        folder: Path,
        *,
        script: str = "app.py",
        settings: Mapping[str, str] | None = None,
        below: str = "",
    ):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}{below}"
        self.database = f"sqlite:///{folder / 'conductor.db'}"
        self.folder = folder
        self._script = ROOT / script
        self._settings = {
            "CONDUCTOR_DATABASE_URL": self.database,
            "PYTHONPATH": str(ROOT),
            **(settings or {}),
        }
        self._log = folder / "server.log"
        self._read = 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> AppServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.returncode is None:
            end(self._process, signal.SIGTERM)

    def start(self) -> None:
        """Start it and wait until it answers; what does not answer is ended, and its log is the error."""
        options = {"server.port": self.port, "server.address": "127.0.0.1", "server.headless": "true"}
        flags = [item for name, value in options.items() for item in (f"--{name}", str(value))]
        # The folder is a project, whose pool file is its own; the store has a place of its own.
        (self.folder / STORE).parent.mkdir(exist_ok=True)
        (self.folder / STORE).touch()
        with self._log.open("ab") as log:
            self._process = start(
                [sys.executable, "-m", "streamlit", "run", str(self._script), *flags],
                cwd=self.folder,
                env=os.environ | self._settings,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self._wait(self._process)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        assert self._process is not None
        end(self._process)

    # -- its store, from here beside it --------------------------------------------------------------

    def store(self) -> SessionStore:
        """The server's store, opened by this process too."""
        return SessionStore.open(self.database)

    @contextmanager
    def store_locked(self) -> Iterator[None]:
        """Let no one write to the store meanwhile: a writer waits. It ends before the app gives up,
        however long a busy machine takes for what is done meanwhile.
        """
        file = self.database.removeprefix("sqlite:///")
        with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            release = Timer(_LOCKED_SECONDS, connection.rollback)
            release.start()
            try:
                yield
            finally:
                release.cancel()
                release.join(60)
                connection.rollback()

    def plant(self, *steps: Step, query: str = "What is 17 * 23?") -> str:
        """A new session with a workflow of these steps; its id."""
        with self.store() as store:
            session = store.sessions.create(query)
            store.revisions.add(session.id, Workflow.of(steps), origin="import", note="Planted")
            return session.id

    def calls(self, session: str) -> list[list[int]]:
        """Which steps (from 0) each run of a session asked a worker for, the oldest run first."""
        with self.store() as store:
            return [
                sorted(event.step for event in store.runs.events(run.id) if isinstance(event, StepStarted))
                for run in reversed(store.runs.of_session(session))
            ]

    # -- what it shows --------------------------------------------------------------------------------

    def alarms(self) -> list[str]:
        """What the log has gained since this was last asked, where that holds a warning or an error."""
        text = _COLOUR.sub("", self._logged())
        new, self._read = text[self._read :], len(text)
        return [new] if _ALARM.search(new) else []

    def _wait(self, process: subprocess.Popen[str]) -> None:
        try:
            until(lambda: self._answers() or process.poll() is not None, START, every=0.05)
        except AssertionError:
            raise AssertionError(f"no answer in {START:.0f} s\n{self._logged()}") from None
        assert process.poll() is None, self._logged()

    def _answers(self) -> bool:
        try:
            with _NO_PROXY.open(f"{self.url}/_stcore/health", timeout=10):
                return True
        except OSError:
            return False

    def _logged(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")
