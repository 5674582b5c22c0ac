"""What a server's metrics count is what its ledger has, whatever its requests did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families as families

from conductor.values.charge import Charge, Purpose
from conductor.values.messages import Usage
from conductor.values.total import Total
from studio import composition
from studio.access.auth import TokenAuthenticator
from studio.api.app import api
from studio.api.serving.server import ApiServer
from studio.composition import ConfiguredRuntime, served_workbench
from studio.telemetry import traces
from studio.telemetry.metrics import Metrics
from tests.support.endpoints.raw_endpoint import DONE, EVENTS, chunk, head, raw_endpoint
from tests.support.endpoints.reported_failures import FAILED, answer_of
from tests.support.runs.conductor_cases import BROKEN, plan_text
from tests.support.runs.waiting import until_async

KEY = "conductor-machine-key"
POOL = """\
[conductor]
model = "planner"
base_url = "{url}"
retries = 0
as_worker = true
constrain = "none"
price_prompt = 10.0
price_completion = 10.0

[[worker]]
name = "alpha"
model = "large"
base_url = "{url}"
price_prompt = 1000.0
price_completion = 1000.0
{alpha}

[[worker]]
name = "beta"
model = "small"
base_url = "{url}"
retries = 0
price_prompt = 1.0
price_completion = 1.0
"""
CUT, _ = FAILED["cut"]
ANSWERED, PLAN, INVALID = answer_of(), answer_of(plan_text((0, "do it", "[]"))), answer_of(BROKEN)
UNCOUNTED = chunk(content="Yes.") + chunk("stop") + DONE
REFUSED = b'{"error": {"message": "No such key."}}'
JSON = "application/json"
VECTORS = json.dumps({"data": [{"index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 7}}).encode()


def chat_about(model: str = "worker:alpha", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "why?"}], **more}


def ruled(worker: str = "alpha", **rule: Any) -> dict[str, Any]:
    step = {"instruction": "do it", "worker": worker, **({"on_failure": rule} if rule else {})}
    workflow = {"format": "conductor-workflow", "version": 1, "steps": [step]}
    return chat_about("conductor", conductor={"workflow": workflow})


AFTER_FAILURE: dict[str, tuple[str, dict[str, Any]]] = {
    "a rule's tries": ("retries = 0", ruled(retries=1, pause=0)),
    "a rule's fallback": ("retries = 0", ruled(fallback="beta")),
    "the pool": ('retries = 0\nfallback = "beta"', chat_about()),
    "its endpoint": ("retries = 1", chat_about()),
    "its endpoint, not stored": ("retries = 1", chat_about(store=False)),
    "a fallback inside": ('retries = 0\nfallback = "beta"', ruled("conductor")),
}
CHAT = "/chat/completions"
Case = tuple[list[bytes], str, str, dict[str, Any], int]
AFTER: dict[str, Case] = {
    f"{how}, {by}": (
        [*([PLAN] if by == "a fallback inside" else []), failed],
        alpha,
        CHAT,
        body,
        3 if by == "a fallback inside" else 2,
    )
    for (how, (failed, _)), (by, (alpha, body)) in product(FAILED.items(), AFTER_FAILURE.items())
    # An endpoint that filters an answer is not called again.
    if not (how == "filtered" and by.startswith("its endpoint"))
}
CASES: dict[str, Case] = AFTER | {
    "no answer": ([CUT] * 2, "retries = 1", CHAT, chat_about(), 2),
    "planned": ([INVALID, PLAN], "retries = 0", CHAT, chat_about("conductor"), 3),
    "no plan": ([CUT], "retries = 0", CHAT, chat_about("conductor"), 1),
    "planned inside": ([INVALID, PLAN], "retries = 0", CHAT, ruled("conductor"), 3),
    "three answers": ([CUT], "retries = 1", CHAT, chat_about(n=3), 4),
    "a response": ([CUT], "retries = 1", "/responses", {"model": "worker:alpha", "input": "?"}, 2),
    "over budget": ([CUT], "retries = 1", CHAT, chat_about(conductor={"budget": {"calls": 1}}), 1),
    "cached": (
        [answer_of(prompt_tokens_details={"cached_tokens": 60})],
        "retries = 0",
        CHAT,
        chat_about(),
        1,
    ),
    "no usage": ([UNCOUNTED], "retries = 0", CHAT, chat_about(), 1),
    "no usage after a failure": ([CUT, UNCOUNTED], "retries = 1", CHAT, chat_about(), 2),
    "refused": ([REFUSED], "retries = 0", CHAT, chat_about(), 1),
    "vectors": ([VECTORS], "retries = 0", "/embeddings", {"model": "worker:alpha", "input": "abba"}, 1),
}
"""By name: what the endpoint sends before it answers, the settings of alpha, where what is asked, and how
many requests come of it.
"""
NO_OUTPUTS = ("no usage", "refused")
"""Cases without a known token."""


class Server:
    """A server as it is configured, on an endpoint that counts its `requests`."""

    def __init__(self, pool: str) -> None:
        Path("pool.toml").write_text(pool, encoding="utf-8")
        self.requests = 0
        self.metrics = Metrics()
        self.bench = served_workbench(ConfiguredRuntime(), self.metrics)
        auth = TokenAuthenticator(lambda: self.bench.store.tokens, machine=lambda: KEY)
        self.server = ApiServer(api(lambda: self.bench, auth, metrics=self.metrics))

    @property
    def ledger(self) -> Total:
        return self.bench.store.sessions.used_since(0)

    def figure(self, name: str, **labels: str) -> float:
        return sum(
            sample.value
            for family in families(self.metrics.text().decode())
            for sample in family.samples
            if sample.name == f"conductor_{name}_total" and labels.items() <= sample.labels.items()
        )


@asynccontextmanager
async def serving(bodies: list[bytes], alpha: str) -> AsyncIterator[Server]:
    """A server whose models send these bodies and then answer."""
    left = iter(bodies)
    server: Server | None = None

    async def answer(writer: asyncio.StreamWriter) -> None:
        assert server is not None
        server.requests += 1
        body = next(left, ANSWERED)
        if body == REFUSED:
            writer.write(head(status="401 Unauthorized", content_type="application/json") + body)
        else:
            writer.write(head(content_type=JSON if body == VECTORS else EVENTS) + body)
        await writer.drain()

    async with raw_endpoint(answer) as url:
        server = Server(POOL.format(url=url, alpha=alpha))
        thread = Thread(target=server.server.run, daemon=True)
        thread.start()
        try:
            assert await asyncio.to_thread(server.server.ready.wait, 60)
            yield server
        finally:
            server.server.should_exit = True
            await asyncio.to_thread(thread.join, 60)
            await asyncio.to_thread(server.bench.close)


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> InMemorySpanExporter:
    """What a server that is started in an empty folder traces."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(composition.TRACES, "http://127.0.0.1:9")
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(traces, "tracer_provider", lambda: provider)
    return exporter


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
async def test_the_metrics_and_the_traces_of_a_server_sum_up_to_its_ledger(
    case: str, exporter: InMemorySpanExporter
) -> None:
    bodies, alpha, path, body, requests = CASES[case]
    async with serving(bodies, alpha) as server:
        headers = {"authorization": f"Bearer {KEY}"}
        async with httpx.AsyncClient(base_url=server.server.base_url, timeout=60, headers=headers) as http:
            await http.post(path, json=body)
        await until_async(lambda: server.ledger.calls == server.figure("calls") == requests, 60)
        ledger = server.ledger
        assert server.requests == requests
        assert ledger.prompt.least == server.figure("tokens", direction="input")
        assert ledger.completion.least == server.figure("tokens", direction="output")
        assert (ledger.dollars.most or ledger.dollars.least) == pytest.approx(server.figure("cost_dollars"))
        assert ledger.cost_at_most == bool(server.figure("calls_with_unknown", what="cost_at_most"))
        for what, sum_of in (("tokens", ledger.token_sum), ("cost", ledger.dollars)):
            assert (sum_of.most is None) == bool(server.figure("calls_with_unknown", what=what))
        assert ledger.token_sum.least or case in NO_OUTPUTS
    calls = [
        dict(span.attributes or {}) for span in exporter.get_finished_spans() if span.name[:5] == "chat "
    ]
    if case != "vectors":
        assert len(calls) == server.requests
        for direction, tokens in (("input", ledger.prompt), ("output", ledger.completion)):
            assert sum(each.get(f"gen_ai.usage.{direction}_tokens", 0) for each in calls) == tokens.least
        name = "conductor.usage.dollars" + ("_at_most" if ledger.cost_at_most else "")
        dollars = sum(each.get(name, 0) for each in calls)
        assert dollars == pytest.approx(ledger.dollars.most or ledger.dollars.least)


@pytest.mark.slow
@pytest.mark.parametrize("purpose", ["judge", "reflect", "doctor", "embedding"])
async def test_requests_that_belong_to_no_run_are_in_the_metrics_by_their_purpose(
    purpose: Purpose, exporter: InMemorySpanExporter
) -> None:
    usage = Usage(prompt_tokens=5, completion_tokens=2, cost=0.25)
    async with serving([], "retries = 0") as server:
        charge = Charge(worker="alpha", kind="model", purpose=purpose, usage=usage)
        server.bench.store.ledger.add([charge])
        assert server.ledger.calls == server.figure("calls", purpose=purpose, worker="alpha") == 1
        assert server.figure("tokens", kind=purpose, direction="input") == server.ledger.prompt.exact == 5
        assert server.figure("cost_dollars", kind=purpose) == server.ledger.dollars.exact == 0.25
    assert exporter.get_finished_spans() == ()
