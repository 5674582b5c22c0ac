"""Ray's own commands: a job that outlives the shell that submitted it, and the API by a file for Serve."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from openai import OpenAI
from ray.job_submission import JobSubmissionClient

from storage import SessionStore
from tests.integration.ray.local_cluster import COMMAND, free_port
from tests.support.processes.child_process import child
from tests.support.runs.waiting import until
from tests.support.stores.postgres_server import PostgresServer

SECONDS = 240
"""Longer than a cluster takes for anything on a busy machine."""
COMMANDS = Path(sys.executable).parent
CONFIG = Path(__file__).parents[3] / "deploy" / "serve.yaml"


@dataclass(frozen=True)
class Head:
    """A cluster of one machine, which `ray start` began, with the dashboard that takes jobs and files."""

    address: str
    dashboard: str
    database: str


@pytest.fixture(scope="module")
def head(
    machines: None, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Head]:
    port, dashboard = free_port(), free_port()
    database = postgres.url(postgres.database())
    ports = {
        "port": port,
        "dashboard-port": dashboard,
        "dashboard-agent-listen-port": free_port(),
        "ray-client-server-port": free_port(),
        "object-store-memory": 80_000_000,
        "num-cpus": 1,
    }
    folder = tmp_path_factory.mktemp("head")
    environment = {
        **os.environ,
        **COMMAND,
        "CONDUCTOR_DATABASE_URL": database,
        "CONDUCTOR_POOL": "orchard",
        "RAY_AUTH_MODE": "disabled",
    }
    options = [f"--{name}={value}" for name, value in ports.items()]
    command = [str(COMMANDS / "ray"), "start", "--head", "--block", "--disable-usage-stats", *options]
    address = f"http://127.0.0.1:{dashboard}"
    with child(command, cwd=folder, env=environment) as process:

        def answers() -> bool:
            with suppress(httpx.HTTPError):
                return httpx.get(f"{address}/api/version").is_success
            return False

        until(answers, SECONDS)
        yield Head(f"127.0.0.1:{port}", address, database)
        process.terminate()
        process.wait(SECONDS)


def test_an_evaluation_that_is_submitted_as_a_job_outlives_the_shell(head: Head) -> None:
    python = [sys.executable, "-m", "conductor", "evaluate", "run", "arithmetic", "--limit", "40"]
    options = ["-p", "worker:solver", "--ray", head.address]
    job = ["job", "submit", "--address", head.dashboard, "--submission-id", "evaluation"]
    jobs = JobSubmissionClient(head.dashboard)

    def status() -> str:
        with suppress(RuntimeError):
            return jobs.get_job_status("evaluation").value
        return "not there yet"

    with child([COMMANDS / "ray", *job, "--", *python, *options]) as shell:
        until(lambda: status() == "RUNNING", SECONDS)
        shell.kill()
        shell.wait(SECONDS)
    until(lambda: status() != "RUNNING", SECONDS)
    assert status() == "SUCCEEDED", jobs.get_job_logs("evaluation")
    with SessionStore.open(head.database) as store:
        (record,) = store.evaluations.listed()
        assert record.reason is None
        cells = store.evaluations.cells(record.id)
    assert [cell.result is not None for cell in cells] == [True] * 40


def test_the_api_is_deployed_by_the_file_for_serve(head: Head, tmp_path: Path) -> None:
    port = free_port()
    file = tmp_path / "serve.yaml"
    text = CONFIG.read_text(encoding="utf-8")
    assert "port: 8600" in text
    file.write_text(text.replace("port: 8600", f"port: {port}"), encoding="utf-8")
    with SessionStore.open(head.database) as store:
        _, token = store.tokens.create("ray")
    url = f"http://127.0.0.1:{port}/v1"

    def answers() -> bool:
        with suppress(httpx.HTTPError):
            return httpx.get(f"{url}/models", headers={"authorization": f"Bearer {token}"}).is_success
        return False

    command = [COMMANDS / "serve", "deploy", file, "--address", head.dashboard]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    until(answers, SECONDS)
    with OpenAI(base_url=url, api_key=token, max_retries=0) as client:
        answer = client.chat.completions.create(
            model="worker:solver", messages=[{"role": "user", "content": "What is 17 * 23?"}]
        )
    assert "391" in (answer.choices[0].message.content or "")
