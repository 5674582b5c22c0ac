"""A server as its operators see it, over HTTP: it lives, it is ready, its metrics."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from conductor.errors import PoolError, StorageError
from conductor.orchestration.runtime import Runtime
from conductor.workers.pool.pool import Pool
from storage import SessionStore
from storage.api_token import TokenLimits
from studio.access.auth import TokenAuthenticator
from studio.api import operating
from studio.api.app import api
from studio.api.operating import operating_routes
from studio.api.serving.server import ApiServer
from studio.telemetry.metrics import Metrics
from studio.workbench import Workbench
from tests.support.runs.conductor_cases import ScriptedConductor
from tests.support.runs.waiting import until

KEY = "conductor-machine-key"
REQUEST = {"model": "worker:alpha", "messages": [{"role": "user", "content": "A secret question?"}]}


class Operated:
    """A server with its metrics; `fault` is what the pool raises from now on."""

    def __init__(self, store: SessionStore, pool: Pool) -> None:
        self.fault: PoolError | None = None
        self._runtime = Runtime(workers=pool, conductor=ScriptedConductor(["no plan"]))
        metrics = Metrics()
        self.bench = Workbench(store, self._play, observers=[metrics])
        metrics.show_queues(writes=lambda: store.waiting_writes, calls=lambda: 0)
        auth = TokenAuthenticator(lambda: store.tokens, machine=lambda: KEY)
        served = api(lambda: self.bench, auth, metrics=metrics)
        routes = operating_routes(lambda: self.bench, auth, metrics.scrape)
        self.server = ApiServer(served, beside=routes)
        self.http = httpx.Client(base_url=self.server.base_url.removesuffix("/v1"), timeout=60)

    def _play(self) -> Runtime:
        if self.fault is not None:
            raise self.fault
        return self._runtime

    def get(self, path: str, key: str | None = KEY) -> httpx.Response:
        return self.http.get(path, headers={} if key is None else {"authorization": f"Bearer {key}"})

    def samples(self) -> list[Any]:
        text = self.get("/metrics").raise_for_status().text
        return [sample for family in families(text) for sample in family.samples]


@pytest.fixture
def operated(
    empty_store: Path, tmp_path: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Operated]:
    monkeypatch.setattr(operating, "FRESH_SECONDS", 0.0)
    shutil.copyfile(empty_store, tmp_path / "conductor.db")
    operated = Operated(SessionStore.open(f"sqlite:///{tmp_path / 'conductor.db'}"), pool)
    thread = Thread(target=operated.server.run, daemon=True)
    thread.start()
    assert operated.server.ready.wait(60)
    yield operated
    operated.http.close()
    operated.server.should_exit = True
    thread.join(60)
    operated.bench.close()


@pytest.mark.slow
def test_a_server_lives_and_is_ready_without_a_token(operated: Operated) -> None:
    assert operated.get("/healthz", None).json() == {"status": "ok"}
    ready = operated.get("/readyz", None)
    assert (ready.status_code, ready.json()) == (200, {"status": "ok", "store": "ok", "pool": "ok"})


@pytest.mark.slow
def test_a_server_without_a_pool_lives_but_is_not_ready_until_it_has_one(operated: Operated) -> None:
    operated.fault = PoolError("/home/ann/pool.toml, line 3: unknown key")
    ready = operated.get("/readyz", None)
    assert (ready.status_code, ready.json()["pool"], ready.json()["store"]) == (503, "unusable", "ok")
    assert "ann" not in ready.text
    assert operated.get("/healthz", None).status_code == 200
    operated.fault = None
    assert operated.get("/readyz", None).status_code == 200


@pytest.mark.slow
def test_a_server_whose_store_cannot_be_written_is_not_ready(
    operated: Operated, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise StorageError("The disk of /home/ann is full.")

    monkeypatch.setattr(operated.bench.store._transactions, "write", full)
    ready = operated.get("/readyz", None)
    assert (ready.status_code, ready.json()["store"], ready.json()["pool"]) == (503, "unusable", "ok")
    assert "ann" not in ready.text
    assert "disk of /home/ann is full" in caplog.text


@pytest.mark.slow
def test_a_store_that_was_removed_is_not_ready(
    operated: Operated, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "conductor.db").unlink()
    ready = operated.get("/readyz", None)
    assert (ready.status_code, ready.json()["store"]) == (503, "unusable")
    assert "was removed, moved or replaced" in caplog.text


@pytest.mark.slow
def test_a_closed_store_is_not_ready(operated: Operated) -> None:
    operated.bench.store.close()
    assert operated.get("/readyz", None).json()["store"] == "unusable"


@pytest.mark.slow
def test_metrics_are_for_callers_who_may_use_the_whole_api(operated: Operated) -> None:
    tokens = operated.bench.store.tokens
    _, whole = tokens.create("grafana")
    _, some = tokens.create("ann", limits=TokenLimits(workers=("alpha",)))
    assert operated.get("/metrics", None).status_code == 401
    assert operated.get("/metrics", "none").status_code == 401
    refused = operated.get("/metrics", some)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "metrics_not_allowed")
    for key in (KEY, whole):
        answer = operated.get("/metrics", key)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain; version=")


@pytest.mark.slow
def test_requests_are_counted_by_template_and_not_by_what_was_asked(operated: Operated) -> None:
    key = {"authorization": f"Bearer {KEY}"}
    answer = operated.http.post("/v1/chat/completions", json=REQUEST, headers=key)
    session = answer.raise_for_status().json()["conductor"]["session"]
    operated.get("/v1/responses/resp_of_ann")
    operated.get("/v1/made/up")
    operated.http.request("FROB", "/v1/models", headers=key)
    operated.get("/v1/models", None)
    samples = operated.samples()
    requests = {
        (one.labels["method"], one.labels["route"], one.labels["status"]): one.value
        for one in samples
        if one.name == "conductor_api_requests_total"
    }
    assert requests[("POST", "/v1/chat/completions", "200")] == 1
    assert requests[("GET", "/v1/responses/{id}", "404")] == 1
    assert requests[("GET", "other", "404")] == 1
    assert requests[("GET", "/v1/models", "401")] == 1
    assert not [labels for labels in requests if "FROB" in labels]
    by_name = {one.name: one.value for one in samples}
    assert by_name["conductor_api_requests_in_progress"] == 0
    assert by_name["conductor_store_waiting_writes"] >= 0
    text = operated.get("/metrics").text
    for hidden in (session, "resp_of_ann", "made/up", "secret", KEY):
        assert hidden not in text
    (steps,) = [one for one in samples if one.name == "conductor_steps_total"]
    assert (steps.labels, steps.value) == ({"worker": "alpha", "outcome": "finished"}, 1)


@pytest.mark.slow
def test_a_stream_counts_until_its_last_piece(operated: Operated) -> None:
    headers = {"authorization": f"Bearer {KEY}"}
    request = {**REQUEST, "stream": True}
    with operated.http.stream("POST", "/v1/chat/completions", json=request, headers=headers) as stream:
        assert list(stream.iter_lines())[-2] == "data: [DONE]"
    # Its last piece is read before the server has left it.
    assert until(lambda: _ended(operated), what="the stream is counted") == [1]


def _ended(operated: Operated) -> list[float]:
    return [
        one.value
        for one in operated.samples()
        if one.name == "conductor_api_requests_total" and one.labels["route"] == "/v1/chat/completions"
    ]
