"""Coding agents and SDKs against the API as a process of its own, with the configuration of the product: a
task with two reads at once, an edit and a command, and a question after it.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from storage import SessionStore
from studio.cli.agents import VARIABLE, configurations
from tests.integration.clients.coding_clients import CLIENTS, NODE, PROGRAMS, SETTINGS, CodingClient
from tests.integration.clients.coding_endpoint import DONE, FOLLOW_UP, REMEMBERED, TASK, CodingEndpoint
from tests.support.endpoints.fake_openai import Served, serving
from tests.support.processes.api_processes import ApiProcesses, serving_processes
from tests.support.processes.child_process import child
from tests.support.runs.waiting import until

SECONDS = 120
PYTHONS = Path(os.environ["CONDUCTOR_TEST_CLIENTS"]).parent
AIDER = Path(os.environ["CONDUCTOR_TEST_AIDER"]).parent
POOL = "\n".join(
    [
        '[conductor]\nbase_url = "{url}"\nmodel = "planner"',
        *(
            f'[[worker]]\nname = "{name}"\nbase_url = "{{url}}"\nmodel = "{model}"'
            for name, model in (
                ("plain", "plain"),
                ("agent", "coding"),
                ("limited", "fault:rate-limited=1"),
                ("failing", "fault:error-500"),
                ("cut", "fault:hang-up"),
                ("slow", "fault:slow-first-token=60"),
            )
        ),
    ]
)


@dataclass(frozen=True)
class Ground:
    """The API as a process, and the endpoint that all its workers are."""

    upstream: Served
    api: ApiProcesses
    database: str

    def calls(self) -> Counter[str]:
        """How often each model was called."""
        return Counter(entry.body["model"] for entry in self.upstream.log.entries if entry.body)

    def runs(self) -> Counter[int]:
        """How many runs each stored session has."""
        with SessionStore.open(self.database) as store:
            return Counter(len(store.runs.of_session(id)) for id in store.sessions.ids())

    def states(self) -> Counter[str]:
        """Where the stored sessions are."""
        with SessionStore.open(self.database) as store:
            return Counter(session.state for session in store.sessions.listed(limit=1000))


@dataclass(frozen=True)
class Desk:
    """A client with a home and a folder of work of its own."""

    client: CodingClient
    folder: Path
    environment: dict[str, str]
    start: str

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def contents(self) -> dict[str, str]:
        """The texts of the files of the task."""
        return {file.name: file.read_text(encoding="utf-8") for file in sorted(self.work.glob("*.txt"))}

    @contextmanager
    def turn(self, at: int) -> Iterator[subprocess.Popen[str]]:
        """The process of that turn."""
        line = self.client.turns[at].replace("{start}", self.start)
        with child(
            ["bash", "-c", line],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            yield process

    def answers(self, turns: int) -> str:
        """What the client prints in its first turns."""
        printed = ""
        for at in range(min(turns, len(self.client.turns))):
            with self.turn(at) as process:
                printed += process.communicate(timeout=SECONDS)[0]
        return printed


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("coding")
    database = f"sqlite:///{folder / 'conductor.db'}"
    with (
        serving(CodingEndpoint()) as upstream,
        serving_processes(database, folder / "api", upstream.base_url, pool=POOL) as api,
    ):
        yield Ground(upstream, api, database)


@pytest.fixture
def desk(ground: Ground, tmp_path: Path, request: pytest.FixtureRequest) -> Desk:
    """A desk for the test's `client` and `model`."""
    client, model = CLIENTS[request.node.callspec.params["client"]], request.node.callspec.params["model"]
    configuration = configurations()[client.name].filled_in(
        url=ground.api.url, model=model, small_model="worker:agent"
    )
    for folder in ("home", "work"):
        (tmp_path / folder).mkdir()
    client.configure(tmp_path, configuration.block)
    (tmp_path / "node_modules").symlink_to(NODE / "node_modules")
    for name, word in (("one", "alpha"), ("two", "beta")):
        (tmp_path / "work" / f"{name}.txt").write_text(f"{word}\n", encoding="utf-8")
    path = (NODE / "node_modules/.bin", PYTHONS, AIDER, os.environ["PATH"])
    environment = {
        **SETTINGS,
        "HOME": str(tmp_path / "home"),
        "LLM_USER_PATH": str(tmp_path / "home/llm"),
        "PATH": os.pathsep.join(map(str, path)),
        "NODE": str(NODE),
        "PYTHONPATH": os.pathsep.join((str(PROGRAMS), str(tmp_path / "work"))),
        "PROGRAMS": str(PROGRAMS),
        "TASK": TASK.format(folder=tmp_path / "work"),
        "FOLLOW_UP": FOLLOW_UP,
        VARIABLE: ground.api.token,
    }
    git = "git init -q . && git add *.txt && git -c user.name=a -c user.email=a@example.org commit -qm Begin"
    subprocess.run(["bash", "-c", git], cwd=tmp_path / "work", env=environment, check=True)
    ground.upstream.log.clear()
    return Desk(client, tmp_path, environment, configuration.start)


@pytest.mark.parametrize("model", ["worker:agent", "conductor"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_does_a_task_and_goes_on(ground: Ground, desk: Desk, client: str, model: str) -> None:
    before = ground.runs()
    printed = desk.answers(2)
    assert DONE in printed, printed
    assert REMEMBERED in printed, printed
    assert desk.contents() == {"one.txt": "gamma\n", "two.txt": "beta\n", "three.txt": "gamma\nbeta\n"}
    requests, small = desk.client.requests, desk.client.small_requests
    plans = {"planner": 2, "plain": 2} if model == "conductor" else {}
    assert ground.calls() == {**plans, "coding": requests + small}
    # With a worker a conversation is a session, with plans each question is; beside them, each small request.
    runs = [requests - 1, 1] if plans or desk.client.rewrites else [requests]
    stored = [*runs, *[1] * small] if desk.client.stores else []
    assert sorted((ground.runs() - before).elements()) == sorted(stored)


@pytest.mark.parametrize("model", ["worker:limited"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_sees_nothing_of_a_limited_worker(
    ground: Ground, desk: Desk, client: str, model: str
) -> None:
    printed = desk.answers(2)
    assert REMEMBERED in printed, printed
    assert desk.contents()["three.txt"] == "gamma\nbeta\n"
    small = {"coding": desk.client.small_requests} if desk.client.small_requests else {}
    assert ground.calls() == {"fault:rate-limited=1": 2 * desk.client.requests, **small}


@pytest.mark.parametrize("model", ["worker:failing", "worker:cut"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_names_what_a_worker_failed_by(ground: Ground, desk: Desk, client: str, model: str) -> None:
    fault, words = {
        "worker:failing": ("fault:error-500", "500 Internal Server Error"),
        "worker:cut": ("fault:hang-up", "broke the connection"),
    }[model]
    calls = desk.client.calls[fault]
    with desk.turn(0) as process:
        if calls is None:
            assert ground.upstream.log.wait_for(lambda _: ground.calls()[fault] > 4, seconds=SECONDS)
            return
        printed, _ = process.communicate(timeout=SECONDS)
    assert words in printed, printed
    assert DONE not in printed
    assert ground.calls()[fault] == calls


@pytest.mark.parametrize("model", ["worker:slow"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_is_interrupted_ends_the_call(
    ground: Ground, desk: Desk, client: str, model: str
) -> None:
    log, fault = ground.upstream.log, "fault:slow-first-token=60"
    before = ground.states()
    with desk.turn(0) as process:
        assert log.wait_for(lambda _: ground.calls()[fault] > 0, seconds=SECONDS)
        os.killpg(process.pid, signal.SIGINT)
        assert log.wait_for(lambda entries: all(entry.outcome for entry in entries), seconds=10)
    outcomes = [entry.outcome for entry in log.entries if entry.body and entry.body["model"] == fault]
    assert outcomes == ["disconnected"]
    if desk.client.stores:
        until(lambda: (ground.states() - before)["cancelled"] == 1, 10, what="the session is cancelled")
