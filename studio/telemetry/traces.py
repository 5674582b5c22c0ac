"""Traces of sessions for OpenTelemetry: a span for each planning, run, step, request, and call of a tool.

Names are of version 0.1.0 of its conventions for generative AI, still in development
(https://github.com/open-telemetry/semantic-conventions-genai). Spans hold names, ids, addresses and numbers,
never a text. OpenTelemetry is imported here alone, and comes with the extra `otel`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

from conductor.orchestration.runtime import Runtime, Runtimes
from conductor.values.charge import Charge
from conductor.values.total import NOTHING, Total
from conductor.workers.protocol import WorkerCard
from studio.telemetry.spans import Place, Skipped, Span, SpanWatch

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_GOOD = frozenset({"planned", "answer_kept", "finished", "empty", "refused", "cancelled"})
"""Outcomes that are no errors: a person may stop what runs."""

_OPERATIONS = {
    "plan": "plan",
    "run": "invoke_workflow",
    "step": "invoke_agent",
    "call": "chat",
    "tool": "execute_tool",
}
_WORKFLOW = "conductor"

Attributes = Mapping[str, str | int | float | None]
"""What is unknown is None, and is left out of a span."""


class Traces:
    """An `Observer`. Everything that begins in a session at once is one trace; the models of its workers are
    those of the runtime of then.
    """

    def __init__(self, tracer: Tracer, runtimes: Runtimes) -> None:
        self._tracer = tracer
        self._runtimes = runtimes

    def __call__(self, session: str) -> SessionTrace:
        """See `Observer`. Raises `PoolError` while there is no runtime."""
        return SessionTrace(self._tracer, session, self._runtimes())


class SessionTrace(SpanWatch):
    """The watch of one session; its root span lasts from the first event to the end."""

    def __init__(self, tracer: Tracer, session: str, runtime: Runtime) -> None:
        self._tracer = tracer
        self._session = session
        self._runtime = runtime
        self._used = NOTHING
        super().__init__(self._trace)
        self._root: trace.Span | None = None
        self._open: dict[Place, trace.Span] = {}

    def end(self) -> None:
        """See `Watch.end`."""
        super().end()
        if self._root is not None:
            self._root.set_attributes(_without_unknown(_usage(self._used)))
            self._root.end(_nanoseconds(time.time()))

    def _trace(self, change: Span | Skipped) -> None:
        if isinstance(change, Skipped):
            return
        if change.charge is not None:
            self._used += change.used
            _end(self._start_call(change, change.charge), change)
        elif change.tool is not None:
            _end(self._start_tool(change, change.tool), change)
        elif change.outcome is None:
            name = change.worker or _WORKFLOW
            self._open[change.place] = self._start(change, name, {"gen_ai.agent.name": name})
        else:
            traced = self._open.pop(change.place)
            traced.set_attributes(_without_unknown({"gen_ai.agent.name": change.worker}))
            _end(traced, change)

    def _start_call(self, call: Span, charge: Charge) -> trace.Span:
        card = self._runtime.card_of(charge.worker)
        own: Attributes = {
            "conductor.worker": charge.worker,
            "conductor.purpose": charge.purpose,
            "gen_ai.usage.cache_read.input_tokens": charge.usage.cached_tokens or None,
            **({} if card is None else _model_of(card)),
        }
        kind = SpanKind.CLIENT if charge.kind == "model" else SpanKind.INTERNAL
        return self._start(call, "" if card is None else card.model, own, kind)

    def _start_tool(self, call: Span, tool: str) -> trace.Span:
        """The arguments and the result are texts, which no span holds, and so is a name without a server."""
        own: Attributes = {
            "gen_ai.tool.name": tool or None,
            "gen_ai.tool.call.id": call.tool_call,
            "conductor.worker": call.worker,
        }
        return self._start(call, tool, own)

    def _start(
        self, span: Span, name: str, own: Attributes, kind: SpanKind = SpanKind.INTERNAL
    ) -> trace.Span:
        about: Attributes = {"gen_ai.conversation.id": self._session}
        start, operation = _nanoseconds(span.started_at), _OPERATIONS[span.kind]
        if self._root is None:
            root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": _WORKFLOW, **about}
            self._root = self._tracer.start_span(
                f"invoke_agent {_WORKFLOW}", start_time=start, attributes=_without_unknown(root)
            )
        parent = self._root if span.parent is None else self._open.get(span.parent, self._root)
        where: Attributes = {
            "gen_ai.operation.name": operation,
            "conductor.run.id": span.run,
            "conductor.round": span.round,
            "conductor.step": span.step,
        }
        return self._tracer.start_span(
            f"{operation} {name}".strip(),
            context=trace.set_span_in_context(parent),
            kind=kind,
            start_time=start,
            attributes=_without_unknown({**about, **where, **own}),
        )


def _model_of(card: WorkerCard) -> Attributes:
    """The model of a request, and where it is served: in OpenAI's API, by whichever provider."""
    if card.endpoint is None:
        return {"gen_ai.request.model": card.model}
    url = urlsplit(card.endpoint)
    return {
        "gen_ai.request.model": card.model,
        "gen_ai.provider.name": "openai",
        "server.address": url.hostname,
        "server.port": url.port or {"http": 80, "https": 443}.get(url.scheme),
    }


def _usage(used: Total) -> Attributes:
    """What is known exactly; nothing without a request."""
    if not used.calls:
        return {}
    return {
        "gen_ai.usage.input_tokens": used.prompt.exact,
        "gen_ai.usage.output_tokens": used.completion.exact,
        "conductor.usage.dollars": used.dollars.exact,
        "conductor.usage.dollars_at_most": used.dollars.best if used.cost_at_most else None,
    }


def _end(traced: trace.Span, span: Span) -> None:
    traced.set_attributes(
        _without_unknown(
            {
                **_usage(span.used),
                "conductor.outcome": span.outcome,
                "conductor.retries": span.retries or None,
                "conductor.instead_of": span.instead_of,
            }
        )
    )
    if span.outcome is not None and span.outcome not in _GOOD:
        traced.set_attribute("error.type", span.outcome)
        traced.set_status(Status(StatusCode.ERROR))
    traced.end(_nanoseconds(span.ended_at or span.started_at))


def _without_unknown(attributes: Attributes) -> dict[str, str | int | float]:
    return {name: value for name, value in attributes.items() if value is not None}


def _nanoseconds(at: float) -> int:
    return int(at * 1e9)


def tracer_provider() -> TracerProvider:
    """Sends spans where OpenTelemetry's variables point. Raises `ImportError` without the extra."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    provider = TracerProvider(resource=Resource.create({"service.name": "conductor-studio"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def configured_traces(runtimes: Runtimes) -> Traces:
    """Traces that are sent by `tracer_provider`. Raises as that."""
    return Traces(tracer_provider().get_tracer("conductor"), runtimes)
