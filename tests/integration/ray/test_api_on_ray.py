"""The API on Ray Serve, on a cluster of two nodes: its streams and replicas; one is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event as Flag
from typing import Any

import httpx
import pytest
import ray
from openai import AuthenticationError, OpenAI
from prometheus_client.parser import text_string_to_metric_families as families

from conductor.errors import ClusterError
from conductor.workers.pool.pool import configured_pool
from storage import SessionStore
from studio.cluster.application import Scaling
from studio.cluster.brief import Brief
from studio.cluster.connection import connected
from studio.cluster.serving import Deployment
from tests.integration.ray.local_cluster import COMMAND, KEY, POOL, LocalCluster, free_port
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.endpoints.fake_openai.faults import Script, Wait
from tests.support.endpoints.fake_openai.log import Entry
from tests.support.processes.api_processes import durable_outputs, owners, two_steps
from tests.support.processes.child_process import child
from tests.support.runs.waiting import until
from tests.support.stores.postgres_server import PostgresServer

SECONDS = 240
"""Longer than a cluster takes for anything on a busy machine."""
DELTA = "response.output_text.delta"
MESSAGES = [{"role": "user", "content": "Why?"}]
HOST = "127.0.0.1"
PACE = 12
"""Tokens a second; a whole answer has 33."""


class HeldOpenAI(FakeOpenAI):
    """Holds back the rest of an answer behind its first tokens while it is not `free`."""

    def __init__(self) -> None:
        super().__init__(key=KEY, tokens_per_second=PACE)
        self.free = Flag()
        self.free.set()

    def respond(self, path: str, headers: Mapping[str, str], content: bytes) -> tuple[Entry, Script]:
        """See `FakeOpenAI.respond`."""
        entry, script = super().respond(path, headers, content)
        return entry, self._held(script)

    def _held(self, script: Script) -> Script:
        for at, act in enumerate(script):
            while at == 10 and not self.free.is_set():
                yield Wait(0.1)
            yield act


@dataclass(frozen=True)
class Api:
    """The deployed API. `nodes` are the machines of its replicas, `served` and `upstream` their worker."""

    deployment: Deployment
    brief: Brief
    port: int
    token: str
    database: str
    served: Served
    upstream: HeldOpenAI
    nodes: list[Any]
    cluster: LocalCluster
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(32))

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    @property
    def client(self) -> OpenAI:
        return OpenAI(base_url=self.url, api_key=self.token, max_retries=0, timeout=SECONDS)

    def deploy(self, scaling: Scaling, brief: Brief | None = None) -> None:
        brief = brief or self.brief
        environment = {"CONDUCTOR_DATABASE_URL": self.database, "CONDUCTOR_POOL": brief.pool}
        self.deployment.deploy(brief, scaling, hosts=frozenset(), environment=environment)

    def replicas(self) -> dict[str, int]:
        """How many there are in each state."""
        states: dict[str, int] = self.deployment._status().deployments["api"].replica_states
        return {str(getattr(state, "value", state)): number for state, number in states.items() if number}

    def post(self, path: str, **body: Any) -> httpx.Response:
        return httpx.post(f"{self.url}{path}", json=body, headers=self.headers, timeout=SECONDS)

    def get(self, path: str, **query: str) -> httpx.Response:
        return httpx.get(f"{self.url}{path}", params=query, headers=self.headers, timeout=SECONDS)

    def stream(self, tokens: int = 33, *, left: list[None] | None = None) -> Future[str]:
        """What comes of an answer, until the client has `left`."""

        def read() -> str:
            body = {"model": "worker:model", "messages": MESSAGES, "stream": True}
            came: list[str] = []
            with (
                suppress(httpx.HTTPError),
                httpx.stream(
                    "POST",
                    f"{self.url}/chat/completions",
                    json=body | {"max_tokens": tokens},
                    headers=self.headers,
                    timeout=SECONDS,
                ) as stream,
            ):
                for piece in stream.iter_text():
                    came.append(piece)
                    if left:
                        break
            return "".join(came)

        return self.threads.submit(read)


def whole(text: str) -> bool:
    return text.endswith("data: [DONE]\n\n") and '"error"' not in text


@pytest.fixture(scope="module")
def api(
    cluster: LocalCluster, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Api]:
    """Two replicas on two nodes."""
    file = tmp_path_factory.mktemp("api") / "pool.toml"
    name = postgres.database()
    database, port = postgres.url(name), free_port()
    with ExitStack() as opened:
        upstream = HeldOpenAI()
        served = opened.enter_context(serving(upstream))
        file.write_text(POOL.format(url=served.base_url), encoding="utf-8")
        with SessionStore.open(database) as store:
            _, token = store.tokens.create("ray")
        nodes = opened.enter_context(cluster.nodes(2, cpus=2))
        opened.enter_context(connected(cluster.address))
        deployment = Deployment(host=HOST, port=port)
        opened.callback(deployment.take_down)
        brief = Brief.of(configured_pool(file), file)
        api = Api(deployment, brief, port, token, database, served, upstream, nodes, cluster)
        opened.callback(api.threads.shutdown)
        api.deploy(Scaling(2, 2, 50))
        yield api


def test_a_streamed_answer_comes_in_pieces_and_is_what_the_worker_wrote(api: Api) -> None:
    pieces: list[str] = []
    request: Any = {"model": "worker:model", "messages": MESSAGES}
    api.upstream.free.clear()
    with api.client as client:
        with client.chat.completions.create(**request, stream=True) as stream:
            for chunk in stream:
                if chunk.choices and (piece := chunk.choices[0].delta.content):
                    pieces.append(piece)
                    # Has come although the rest has not been written.
                    api.upstream.free.set()
        answer = client.chat.completions.create(**request)
    assert "".join(pieces) == answer.choices[0].message.content
    assert len(pieces) > 9
    # The id of the request is that of its session, not one of Serve's.
    assert answer._request_id is not None
    assert answer.id.endswith(answer._request_id)


def test_a_wrong_token_is_refused_as_by_any_server(api: Api) -> None:
    with api.client.with_options(api_key="sk-wrong") as client, pytest.raises(AuthenticationError) as raised:
        client.models.list()
    assert raised.value.status_code == 401
    assert raised.value.code == "invalid_api_key"
    foreign = httpx.get(f"{api.url}/models", headers=api.headers | {"host": "elsewhere.example"})
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (403, "host_not_allowed")


def test_a_client_that_leaves_stops_its_run(api: Api) -> None:
    api.upstream.log.clear()
    api.upstream.free.clear()
    left: list[None] = []
    leaving = api.stream(left=left)
    request = json.dumps({"model": "worker:model", "messages": MESSAGES}).encode()
    head = {**api.headers, "Host": f"{HOST}:{api.port}", "Content-Length": str(len(request))}
    lines = ["POST /v1/chat/completions HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    with socket.create_connection((HOST, api.port)) as plain:
        plain.sendall("\r\n".join([*lines, "Content-Type: application/json", "", ""]).encode() + request)
        until(lambda: len(api.upstream.log.entries) == 2, SECONDS)
    api.upstream.free.set()
    left.append(None)
    leaving.result()
    until(lambda: len(owners(api.database, status="cancelled")) == 2, SECONDS)
    assert [api.served.settled(at).outcome for at in (0, 1)] == ["disconnected"] * 2


def test_a_response_in_the_background_is_read_followed_and_cancelled_through_any_replica(api: Api) -> None:
    api.upstream.free.clear()
    request = {"model": "worker:model", "input": "Why?", "background": True, "stream": True}
    address = f"{api.url}/responses"
    with httpx.stream("POST", address, json=request, headers=api.headers, timeout=SECONDS) as stream:
        id = f"resp_{stream.headers['x-request-id']}"
        assert any(DELTA in piece for piece in stream.iter_text())
    came: list[list[str]] = [[] for _ in range(6)]

    def follow(pieces: list[str]) -> None:
        query = {"stream": "true"}
        followed = f"{address}/{id}"
        with httpx.stream("GET", followed, params=query, headers=api.headers, timeout=SECONDS) as stream:
            pieces.extend(stream.iter_text())

    following = [api.threads.submit(follow, pieces) for pieces in came]
    until(lambda: all(DELTA in "".join(pieces) for pieces in came), SECONDS)
    until(lambda: _read(api, id) == "in_progress" and len(_answering(api)) == 2, SECONDS)
    assert api.post(f"/responses/{id}/cancel").json()["status"] == "cancelled"
    for each in following:
        each.result()
    (end,) = {_events("".join(pieces))[-1] for pieces in came}
    assert "run_stopped" in end
    assert _read(api, id) == "cancelled"
    api.upstream.free.set()


def _read(api: Api, id: str) -> str:
    status: str = api.get(f"/responses/{id}").json()["status"]
    return status


def _events(text: str) -> list[str]:
    """The events of a stream, byte by byte; comments, and what was cut off within, are left out."""
    return [event for event in text.split("\n\n")[:-1] if not event.startswith(":")]


def _answering(api: Api) -> set[str]:
    """The replicas that answer, or have answered, requests about responses, by the metrics of all of them."""
    text = httpx.get(f"http://{HOST}:{api.port}/metrics", headers=api.headers, timeout=SECONDS).text
    return {
        sample.labels["replica"]
        for family in families(text)
        for sample in family.samples
        if (sample.name == "conductor_api_requests_in_progress" and sample.value > 0)
        or (sample.name == "conductor_api_requests_total" and sample.labels["route"].startswith("/v1/resp"))
    }


def test_a_node_that_is_killed_breaks_the_streams_of_its_replica_alone_whose_runs_are_resumed(
    api: Api,
) -> None:
    api.upstream.log.clear()
    count = 10
    ids: dict[int, str] = {}

    def begin(number: int) -> str:
        """A response's stream as far as it came; its id is in `ids` as soon as it is known."""
        request = {"model": "conductor", "input": f"Question {number}", "stream": True, "background": True}
        request["conductor"] = {"workflow": two_steps(number, worker="model")}
        came: list[str] = []
        with (
            suppress(httpx.HTTPError),
            httpx.stream(
                "POST", f"{api.url}/responses", json=request, headers=api.headers, timeout=SECONDS
            ) as stream,
        ):
            ids[number] = f"resp_{stream.headers['x-request-id']}"
            came.extend(stream.iter_text())
        return "".join(came)

    def calls(step: str) -> Counter[int]:
        """How often the endpoint was sent that step of each question."""
        bodies = [str(entry.body) for entry in api.upstream.log.entries]
        return Counter(
            number for number in range(count) for body in bodies if f"subtask: {step} {number}." in body
        )

    api.upstream.free.clear()
    answers = [api.threads.submit(begin, number) for number in range(count)]
    until(lambda: sum(calls("Second").values()) == len(ids) == count, SECONDS)
    until(lambda: durable_outputs(api.database) == count, SECONDS)
    runners = owners(api.database)
    api.cluster.kill(api.nodes[1])
    interrupted = until(lambda: owners(api.database, status="interrupted"), SECONDS)
    api.upstream.free.set()
    streams = [answer.result() for answer in answers]
    lost = [ids[number] for number, text in enumerate(streams) if "response.completed" not in text]
    gone = set(interrupted.values())
    assert len(gone) == 1
    assert {f"resp_{session}" for session, process in runners.items() if process in gone} == set(lost)
    assert 0 < len(lost) < count
    for id in lost:
        assert api.get(f"/responses/{id}").json()["error"]["code"] == "run_interrupted"
        resumed = api.post(f"/responses/{id}/resume")
        assert (resumed.status_code, resumed.json()["status"]) == (200, "in_progress")
    until(lambda: all(_read(api, id) == "completed" for id in lost), SECONDS)
    assert set(calls("First").values()) == {1}
    assert Counter(calls("Second").values()) == {1: count - len(lost), 2: len(lost)}


def test_a_replica_that_is_killed_before_its_answer_begins_is_an_error_that_clients_do_not_repeat(
    api: Api,
) -> None:
    until(lambda: api.replicas() == {"RUNNING": 2}, SECONDS)
    api.upstream.log.clear()
    api.upstream.free.clear()
    body = {"model": "worker:model", "messages": MESSAGES}
    asking = [api.threads.submit(api.post, "/chat/completions", **body) for _ in range(4)]
    until(lambda: len(api.upstream.log.entries) == 4, SECONDS)
    for name in ray.util.list_named_actors(all_namespaces=True):
        if name["name"].startswith("SERVE_REPLICA::"):
            ray.kill(ray.get_actor(**name))
    for each in asking:
        answer = each.result()
        assert (answer.status_code, answer.headers["x-should-retry"]) == (502, "false")
        assert answer.json()["error"]["code"] == "run_interrupted"
    api.upstream.free.set()
    until(lambda: api.replicas() == {"RUNNING": 2}, SECONDS)
    assert whole(api.stream(1).result())


def test_replicas_come_with_the_streams_and_go_without_breaking_one(api: Api) -> None:
    until(lambda: api.replicas() == {"RUNNING": 2}, SECONDS)
    api.deploy(Scaling(1, 2, 4, up_seconds=0, down_seconds=1, mean_seconds=3))
    until(lambda: api.replicas() == {"RUNNING": 1}, SECONDS)
    api.upstream.free.clear()
    left: list[None] = []
    crowd = [api.stream(left=left) for _ in range(8)]
    stay = [api.stream()]
    until(lambda: api.replicas() == {"RUNNING": 2}, SECONDS)

    # Once the proxy knows of it, the replica that has the fewest is given the next one.
    def both_are_asked() -> bool:
        if len(set(owners(api.database).values())) == 2:
            return True
        stay.append(api.stream())
        return False

    until(both_are_asked, SECONDS, every=1)
    left.append(None)
    for each in crowd:
        each.result()
    until(lambda: api.replicas().get("RUNNING") == 1, SECONDS)
    assert len(set(owners(api.database).values())) == 2
    api.upstream.free.set()
    assert all(whole(each.result()) for each in stay)
    until(lambda: api.replicas() == {"RUNNING": 1}, SECONDS)


def test_a_replica_that_cannot_be_used_is_refused_and_those_that_answer_stay(
    api: Api, tmp_path: Path
) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(POOL.format(url=api.served.base_url).replace("CONDUCTOR_KEY", "ABSENT_API_KEY"), "utf-8")
    with pytest.raises(ClusterError, match=r"On the machine .*model: .*ABSENT_API_KEY"):
        api.deploy(Scaling(1, 1, 50), replace(api.brief, pool=str(file)))
    assert api.deployment.take_down() is False
    assert whole(api.stream(1).result())


def test_another_address_than_that_of_serve_on_the_cluster_is_refused(api: Api) -> None:
    with pytest.raises(ClusterError, match=rf"listens at {HOST}, port {api.port}: .*--port"):
        Deployment(host=HOST, port=free_port())


def test_the_command_takes_the_place_of_a_deployment_and_ends_its_own(api: Api, tmp_path: Path) -> None:
    api.upstream.free.clear()
    # No request is under way, only what goes on behind it.
    behind = api.post("/responses", model="worker:model", input="Why?", background=True).json()["id"]
    place = ["--ray", api.cluster.address, "--port", str(api.port), "--replicas", "1"]
    options = ["--pool", api.brief.pool, "--database", api.database, "--json"]
    command = [sys.executable, "-m", "conductor", "serve", *place, *options]
    with child(command, stdout=subprocess.PIPE, cwd=tmp_path, env=os.environ | COMMAND) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["url"] == api.url
            until(lambda: api.replicas().get("STOPPING"), SECONDS)
            time.sleep(2)
            api.upstream.free.set()
            until(lambda: _read(api, behind) == "completed", SECONDS)
            assert api.deployment.take_down() is False
            api.upstream.free.clear()
            cut = api.stream()
            until(lambda: owners(api.database), SECONDS)
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0
            assert "server_stopping" in cut.result()
            assert api.deployment._status() is None
        finally:
            api.upstream.free.set()
