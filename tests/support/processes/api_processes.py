"""`serve --api-only` on PostgreSQL, with one process or several, as its clients and its machine see it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg

from conductor.values.messages import Sampling
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from tests.support.processes.child_process import child

ROOT = Path(__file__).parents[3]
SECONDS = 180
POOL = """
[[worker]]
name = "alpha"
base_url = "{url}"
model = "simulated"
"""


@dataclass(frozen=True)
class ApiProcesses:
    """A running command; `url` ends with /v1, `log` is what it writes to stderr.

    With several processes, `urls` are those of the app and `api_url` is that of the API.
    """

    process: subprocess.Popen[str]
    url: str
    token: str
    log: Path
    urls: Sequence[str] = ()
    api_url: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def ask(self, path: str, **body: Any) -> httpx.Response:
        """Ask `worker:alpha`, over a connection of its own, and read the whole answer."""
        body = {"model": "worker:alpha", **body}
        return httpx.post(f"{self.url}/{path}", json=body, headers=self.headers, timeout=SECONDS)

    @property
    def processes(self) -> list[int]:
        """The living processes that it has started to serve, in the order of their starts."""
        started = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [
            int(pid) for pid in started.split() if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]

    def end(self) -> int:
        """Send SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


@contextmanager
def serving_processes(
    database: str, folder: Path, upstream: str, *options: str, pool: str = POOL, beside_app: bool = False
) -> Iterator[ApiProcesses]:
    """`serve --api-only`, or with `beside_app` the app, whose address is the `url`; with further options.

    Its only worker, `alpha`, is the endpoint `upstream`, or the pool has that address for `{url}`.
    """
    folder.mkdir(exist_ok=True)
    (folder / "pool.toml").write_text(pool.format(url=upstream), encoding="utf-8")
    with SessionStore.open(database) as store:
        _, token = store.tokens.create(folder.name)
    settings = {"CONDUCTOR_DATABASE_URL": database, "CONDUCTOR_POOL": str(folder / "pool.toml")}
    alone = () if beside_app else ("--api-only",)
    command = [sys.executable, "-m", "conductor", "serve", *alone, "--port", "0", "--json", *options]
    environment = {**os.environ, **settings, "PYTHONPATH": str(ROOT)}
    log = folder / "log"
    with (
        log.open("w", encoding="utf-8") as errors,
        child(
            command, stop=signal.SIGTERM, stdout=subprocess.PIPE, stderr=errors, env=environment, cwd=folder
        ) as process,
    ):
        printed = _printed(process, log)
        urls, api_url = printed.get("urls", ()), printed.get("api_url")
        yield ApiProcesses(process, printed["url"], token, log, urls, api_url)


def url_of(process: subprocess.Popen[str], log: Path) -> str:
    """Where a `serve --json` answers; where it ends instead, what it has logged."""
    return str(_printed(process, log)["url"])


def _printed(process: subprocess.Popen[str], log: Path) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, log.read_text(encoding="utf-8")
    shape: dict[str, Any] = json.loads(line)
    return shape


def owners(database: str, *, status: str = "running") -> dict[str, int]:
    """The process of each run with that status, by session."""
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT session, owner FROM runs WHERE status = %s", [status])
        return {session: int(owner.split("-")[0]) for session, owner in rows}


def durable_outputs(database: str) -> int:
    """How many outputs of runs under way the store has."""
    with psycopg.connect(database) as connection:
        query = "SELECT count(*) FROM outputs JOIN runs USING (session) WHERE status = 'running'"
        ((number,),) = connection.execute(query)
    return int(number)


def two_steps(number: int, *, worker: str) -> dict[str, Any]:
    """A workflow for a request: a first step of one word, and a second one of a whole answer."""
    steps = Workflow.of(
        [
            Step(instruction=f"First {number}.", worker=worker, sampling=Sampling(max_tokens=1)),
            Step(instruction=f"Second {number}.", worker=worker, access=(0,)),
        ]
    )
    shape: dict[str, Any] = json.loads(
        write_plan(steps, query="q", origin="import", workers=(worker,), label=None)
    )
    return shape
