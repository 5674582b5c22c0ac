"""A server's numbers for Prometheus: requests, runs, steps, tokens, dollars, queues, latency by worker.

Labels are bounded: workers' names, routes' templates and words of fixed lists; never a text, a key or an id.
What is unknown is counted as unknown and adds to no sum. Knows spans and prometheus_client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from conductor.values.charge import Charge
from studio.telemetry.spans import Skipped, Span, SpanWatch

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""The media type of `Metrics.text`."""

_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that names the folder in which processes of one server share their counts;
prometheus_client reads it when it is first imported.
"""


class Metrics:
    """The metrics of one process, counted from its start, or of all that share a folder. Safe in several
    threads.

    The processor time and memory of a process, and its queues, are there only where it shares nothing.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._shared = SHARED in os.environ
        if self._shared:
            _forget_the_dead(Path(os.environ[SHARED]))
        else:
            ProcessCollector(registry=self.registry)
        self._requests = self._counter("api_requests", "Answers by status.", "route", "method", "status")
        self._request_seconds = self._histogram(
            "api_request_seconds", "From a request to the end of its answer, streams included.", "route"
        )
        self._requests_now = self._gauge("api_requests_in_progress", "Requests without the end of an answer.")
        self._runs = self._counter("runs", "Runs of workflows that ended.", "outcome")
        self._run_seconds = self._histogram("run_seconds", "Wall time of a run.")
        self._now = self._gauge("in_progress", "What is under way: plans, runs, steps.", "kind")
        self._plans = self._counter("plans", "Calls of a planner that ended.", "planner", "outcome")
        self._steps = self._counter("steps", "Steps that ended, by who answered.", "worker", "outcome")
        self._call_seconds = self._histogram(
            "call_seconds", "A call of a worker or planner, its retries included.", "kind", "worker"
        )
        self._calls = self._counter("calls", "Requests to workers that ended.", "purpose", "worker")
        self._tools = self._counter("tool_calls", "Calls of tools that ended.", "worker", "outcome")
        self._tokens = self._counter("tokens", "Tokens, where known.", "kind", "worker", "direction")
        self._dollars = self._counter("cost_dollars", "US dollars, where known.", "kind", "worker")
        self._unknown = self._counter(
            "calls_with_unknown",
            "Requests whose tokens or cost are unknown, or whose cost is an upper bound.",
            "kind",
            "worker",
            "what",
        )
        self._retries = self._counter("retries", "Calls that were made again.", "kind", "worker")
        self._writes_waiting = self._gauge("store_waiting_writes", "Writes that wait for the store's writer.")
        self._calls_waiting = self._gauge(
            "waiting_calls", "Calls that wait for the limits of their endpoint."
        )
        self._fallbacks = self._counter("fallbacks", "Steps that another worker answered.", "worker")
        self._webhooks = self._counter("webhooks", "Events to the operator's address, by outcome.", "outcome")

    def text(self) -> bytes:
        """All of them in Prometheus's text format."""
        if not self._shared:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    async def scrape(self) -> bytes:
        """As `text`, for who asks several processes in the same way."""
        return self.text()

    def show_queues(self, *, writes: Callable[[], int], calls: Callable[[], int]) -> None:
        """Show how many writes wait for the store's writer, how many calls for their endpoint's limits.

        Both are read when the metrics are.
        """
        if not self._shared:
            self._writes_waiting.set_function(writes)
            self._calls_waiting.set_function(calls)

    def __call__(self, session: str) -> SpanWatch:  # noqa: ARG002 - an id is no label
        """See `Observer`."""
        return SpanWatch(self.count)

    # -- requests ------------------------------------------------------------------------------------

    def request_begins(self) -> None:
        """A request came; `request_ends` follows."""
        self._requests_now.inc()

    def request_ends(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """It was answered to the end, or its client left."""
        self._requests_now.dec()
        self._requests.labels(route, method, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def count_webhook(self, outcome: str) -> None:
        """An event was delivered, given up or not sent."""
        self._webhooks.labels(outcome).inc()

    # -- runs ----------------------------------------------------------------------------------------

    def count(self, change: Span | Skipped) -> None:
        """Count what began, ended or was skipped."""
        if isinstance(change, Skipped):
            self._steps.labels(change.worker, change.outcome).inc()
        elif change.charge is not None:
            self._count_charge(change.charge, "plan" if change.step is None else "step")
        elif change.tool is not None:
            self._tools.labels(change.worker or "", change.outcome or "").inc()
        elif change.outcome is None:
            self._now.labels(change.kind).inc()
        else:
            self._now.labels(change.kind).dec()
            self._count_ended(change, change.outcome, change.seconds or 0.0)

    def _count_ended(self, span: Span, outcome: str, seconds: float) -> None:
        worker = span.worker
        if worker is None:
            self._runs.labels(outcome).inc()
            self._run_seconds.observe(seconds)
            return
        (self._plans if span.kind == "plan" else self._steps).labels(worker, outcome).inc()
        self._call_seconds.labels(span.kind, worker).observe(seconds)
        if span.retries:
            self._retries.labels(span.kind, worker).inc(span.retries)
        if span.instead_of is not None:
            self._fallbacks.labels(span.instead_of).inc()

    def count_apart(self, charges: Iterable[Charge]) -> None:
        """Count requests that belong to no run and to no plan; their purpose is the label `kind`."""
        for charge in charges:
            self._count_charge(charge, charge.purpose)

    def _count_charge(self, charge: Charge, kind: str) -> None:
        worker, total = charge.worker, charge.total
        self._calls.labels(charge.purpose, worker).inc()
        for direction, tokens in (("input", total.prompt), ("output", total.completion)):
            if tokens.most is not None:
                self._tokens.labels(kind, worker, direction).inc(tokens.most)
        if total.dollars.most is not None:
            self._dollars.labels(kind, worker).inc(total.dollars.most)
        unknown = {
            "tokens": total.token_sum.most is None,
            "cost": total.dollars.most is None,
            "cost_at_most": total.cost_at_most,
        }
        for what in (name for name, holds in unknown.items() if holds):
            self._unknown.labels(kind, worker, what).inc()

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(f"conductor_{name}", help, labels, registry=self.registry)

    def _gauge(self, name: str, help: str, *labels: str) -> Gauge:
        return Gauge(f"conductor_{name}", help, labels, registry=self.registry, multiprocess_mode="livesum")

    def _histogram(self, name: str, help: str, *labels: str) -> Histogram:
        return Histogram(f"conductor_{name}", help, labels, registry=self.registry, buckets=_SECONDS)


def side_by_side(texts: Mapping[str, bytes]) -> bytes:
    """The metrics of several processes as one text; the label `replica` has the process's name.

    They are not summed: counters of a process that ended would be missing from one reading to the next.
    """
    families: dict[str, Metric] = {}
    for name, text in texts.items():
        for family in text_string_to_metric_families(text.decode()):
            together = families.setdefault(
                family.name, Metric(family.name, family.documentation, family.type)
            )
            together.samples += [
                sample._replace(labels={**sample.labels, "replica": name}) for sample in family.samples
            ]
    registry = CollectorRegistry()
    registry.register(_Collected(families.values()))
    return generate_latest(registry)


class _Collected(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _forget_the_dead(folder: Path) -> None:
    """Remove what processes had under way that are no more; what they counted stays."""
    for file in folder.glob("gauge_live*.db"):
        if not _lives(int(file.stem.rpartition("_")[2])):
            file.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # Another user's.
        return True
    return True
