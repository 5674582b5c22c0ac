"""Traces of sessions for OpenTelemetry: a span for each planning, each run and each step's call.

Names are of version 0.1.0 of its conventions for generative AI, still in development. Spans hold names, ids
and numbers, never a text. OpenTelemetry is imported here alone, and comes with the extra `otel`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

from conductor.runs.events import Event
from studio.telemetry.spans import Place, Skipped, Span, SpanReader

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_GOOD = frozenset({"planned", "answer_kept", "finished", "empty", "refused", "cancelled"})
"""Outcomes that are no errors: a person may stop what runs."""

_OPERATIONS = {"plan": "plan", "run": "invoke_workflow", "step": "invoke_agent"}
_WORKFLOW = "conductor"


class Traces:
    """An `Observer`. Everything that begins in a session at once is one trace."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def __call__(self, session: str) -> SessionTrace:
        """See `Observer`."""
        return SessionTrace(self._tracer, session)


class SessionTrace:
    """The watch of one session; its root span lasts from the first event to the end."""

    def __init__(self, tracer: Tracer, session: str) -> None:
        self._tracer = tracer
        self._session = session
        self._reader = SpanReader()
        self._root: trace.Span | None = None
        self._open: dict[Place, trace.Span] = {}

    def see(self, event: Event) -> None:
        """See `Watch.see`."""
        for change in self._reader.read(event):
            self._note(change)

    def end(self) -> None:
        """See `Watch.end`."""
        now = time.time()
        for span in self._reader.end(now):
            self._note(span)
        if self._root is not None:
            self._root.end(_nanoseconds(now))

    def _note(self, change: Span | Skipped) -> None:
        if isinstance(change, Skipped):
            return
        if change.outcome is None:
            self._open[change.place] = self._start_span(change)
        else:
            _end(self._open.pop(change.place), change, change.outcome)

    def _start_span(self, span: Span) -> trace.Span:
        if self._root is None:
            self._root = self._tracer.start_span(
                f"invoke_agent {_WORKFLOW}",
                kind=SpanKind.INTERNAL,
                start_time=_nanoseconds(span.started_at),
                attributes=self._attributes("invoke_agent", _WORKFLOW),
            )
        parent = self._root if span.parent is None else self._open.get(span.parent, self._root)
        operation, name = _OPERATIONS[span.kind], span.worker or _WORKFLOW
        where: dict[str, str | int | None] = {
            "conductor.run.id": span.run,
            "conductor.round": span.round,
            "conductor.step": span.step,
        }
        return self._tracer.start_span(
            f"{operation} {name}",
            context=trace.set_span_in_context(parent),
            kind=SpanKind.INTERNAL,
            start_time=_nanoseconds(span.started_at),
            attributes=_without_unknown({**self._attributes(operation, name), **where}),
        )

    def _attributes(self, operation: str, agent: str) -> dict[str, str]:
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.agent.name": agent,
            "gen_ai.conversation.id": self._session,
        }


def _end(traced: trace.Span, span: Span, outcome: str) -> None:
    """End the span; what is unknown has no attribute."""
    usage = span.usage
    traced.set_attributes(
        _without_unknown(
            {
                "gen_ai.agent.name": span.worker,
                "gen_ai.usage.input_tokens": None if usage is None else usage.prompt_tokens,
                "gen_ai.usage.output_tokens": None if usage is None else usage.completion_tokens,
                "conductor.usage.dollars": None if usage is None else usage.cost,
                "conductor.outcome": outcome,
                "conductor.retries": span.retries or None,
                "conductor.instead_of": span.instead_of,
            }
        )
    )
    if outcome not in _GOOD:
        traced.set_attribute("error.type", outcome)
        traced.set_status(Status(StatusCode.ERROR))
    traced.end(_nanoseconds(span.ended_at or span.started_at))


def _without_unknown(attributes: Mapping[str, str | int | float | None]) -> dict[str, str | int | float]:
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


def configured_traces() -> Traces:
    """Traces that are sent by `tracer_provider`. Raises as that."""
    return Traces(tracer_provider().get_tracer("conductor"))
