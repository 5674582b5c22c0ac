"""Traces of sessions, as an exporter gets them: one tree a session, and no text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from conductor.orchestration.runtime import Runtime
from conductor.runs.events import (
    Event,
    RunFinished,
    StepCancelled,
    StepFellBack,
    StepInner,
    StepRetried,
    StepToolsCalled,
)
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.pool import Pool
from studio.composition import TRACES, ConfiguredRuntime, served_workbench
from studio.telemetry.metrics import Metrics
from studio.telemetry.observer import Watches
from studio.telemetry.traces import Traces
from tests.support.runs import nested_run
from tests.support.runs.conductor_cases import ScriptedConductor
from tests.support.runs.timed_run import timed_events, timed_workflow
from tests.support.runs.tool_cases import tool_events


def model(name: str, base_url: str) -> OpenAIWorker:
    return OpenAIWorker(Endpoint(base_url=base_url, model=f"{name}-large"), name=name)


RUNTIME = Runtime(
    workers=Pool(workers=(model("a", "https://models.example/v1"), model("b", "http://127.0.0.1:8000/v1"))),
    conductor=ScriptedConductor([]),
)


def traced(events: Sequence[Event], *, session: str = "s1") -> list[ReadableSpan]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    watches = Watches([Traces(provider.get_tracer("test"), lambda: RUNTIME)], session)
    for event in events:
        watches.see(event)
    watches.end()
    return list(exporter.get_finished_spans())


def tree(spans: Sequence[ReadableSpan], parent: int | None = None, depth: int = 0) -> list[str]:
    inside = [span for span in spans if (span.parent.span_id if span.parent else None) == parent]
    inside.sort(key=lambda span: span.start_time)
    return [
        line
        for span in inside
        for line in ("  " * depth + span.name, *tree(spans, span.context.span_id, depth + 1))
    ]


def named(spans: Sequence[ReadableSpan], name: str) -> ReadableSpan:
    (span,) = [span for span in spans if span.name == name]
    return span


def test_a_run_is_a_tree_with_what_its_steps_did_inside() -> None:
    spans = traced(nested_run.events())
    assert len({span.context.trace_id for span in spans}) == 1
    lines = tree(spans)
    assert lines[:3] == ["invoke_agent conductor", "  invoke_workflow conductor", "    invoke_agent gpt-5"]
    assert "      plan conductor" in lines
    assert "        invoke_agent writer-8b" in lines
    assert "            invoke_agent critic-7b" in lines
    assert len(lines) == len(spans)
    calls = [span for span in spans if span.name.startswith("chat")]
    assert {span.kind for span in spans if span not in calls} == {SpanKind.INTERNAL}
    assert {span.kind for span in calls} == {SpanKind.CLIENT, SpanKind.INTERNAL}
    assert lines[3] == "      chat"


def test_a_step_has_its_times_its_usage_and_its_place() -> None:
    spans = traced(timed_events(timed_workflow([], [0]), [1.0, 2.0]))
    step = named(spans, "invoke_agent w2")
    assert (step.end_time - step.start_time) / 1e9 == pytest.approx(2.0)
    attributes = dict(step.attributes)
    assert attributes["gen_ai.operation.name"] == "invoke_agent"
    assert attributes["gen_ai.conversation.id"] == "s1"
    assert (attributes["conductor.run.id"], attributes["conductor.step"]) == ("r", 1)
    assert attributes["conductor.outcome"] == "finished"
    assert step.status.status_code is StatusCode.UNSET


def test_a_failed_step_is_an_error_and_a_blocked_one_has_no_span() -> None:
    spans = traced(timed_events(timed_workflow([], [0]), [1.0, 1.0], fail=[0]))
    failed = named(spans, "invoke_agent w1")
    assert (failed.status.status_code, failed.attributes["error.type"]) == (StatusCode.ERROR, "failed")
    assert failed.status.description is None
    assert not [span for span in spans if "w2" in span.name]
    assert named(spans, "invoke_workflow conductor").status.status_code is StatusCode.ERROR


def test_what_is_unknown_has_no_attribute() -> None:
    teller = nested_run.Teller("r")
    usage = Usage(prompt_tokens=5)
    spans = traced([teller.started(0, "a"), teller.finished(0, "a", "text", usage=usage)])
    for span in spans:
        assert span.attributes["gen_ai.usage.input_tokens"] == 5
        assert not {"gen_ai.usage.output_tokens", "conductor.usage.dollars"} & span.attributes.keys()
    assert len(spans) == 3


def failed_then_fell_back() -> list[Event]:
    teller, used = nested_run.Teller("r"), Usage(prompt_tokens=90, completion_tokens=0, cost=0.5)
    retried = {"step": 0, "attempt": 1, "message": nested_run.HOSTILE, "seconds": 0.05}
    first = Charge(worker="a", kind="model", purpose="step", usage=used)
    second = Charge(worker="a", kind="model", purpose="retry", wrote=False)
    usage = Usage(prompt_tokens=7, completion_tokens=2, cost=0.25, cached_tokens=4)
    return [
        teller.started(0, "a"),
        teller.tell(StepRetried, charge=first, **retried),
        teller.tell(StepFellBack, step=0, worker="b", worker_kind="model", message="503", charge=second),
        teller.finished(0, "b", "text", usage=usage),
    ]


def test_each_request_is_a_span_of_its_own_inside_of_its_step() -> None:
    spans = traced(failed_then_fell_back())
    assert tree(spans) == [
        "invoke_agent conductor",
        "  invoke_agent a",
        "    chat a-large",
        "    chat a-large",
        "    chat b-large",
    ]
    first, second, third = sorted(
        (span for span in spans if "chat" in span.name), key=lambda span: span.end_time
    )
    assert {span.kind for span in (first, second, third)} == {SpanKind.CLIENT}
    # The pause before the second one is none of its own.
    assert second.start_time - first.end_time == pytest.approx(5e7, abs=1e3)
    assert dict(first.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "a-large",
        "gen_ai.conversation.id": "s1",
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.output_tokens": 0,
        "server.address": "models.example",
        "server.port": 443,
        "error.type": "failed",
        "conductor.run.id": "r",
        "conductor.round": 1,
        "conductor.step": 0,
        "conductor.worker": "a",
        "conductor.purpose": "step",
        "conductor.outcome": "failed",
        "conductor.usage.dollars": 0.5,
    }
    assert [span.status.status_code for span in (first, second, third)] == [
        StatusCode.ERROR,
        StatusCode.ERROR,
        StatusCode.UNSET,
    ]
    assert third.attributes["gen_ai.usage.cache_read.input_tokens"] == 4
    assert (third.attributes["server.address"], third.attributes["server.port"]) == ("127.0.0.1", 8000)


def test_a_step_and_the_session_have_the_sums_of_their_requests() -> None:
    spans = traced(failed_then_fell_back())
    for span in (named(spans, "invoke_agent a"), named(spans, "invoke_agent conductor")):
        sums = {name: value for name, value in span.attributes.items() if "usage" in name}
        assert sums == {
            "gen_ai.usage.input_tokens": 97,
            "gen_ai.usage.output_tokens": 2,
            "conductor.usage.dollars": 0.75,
        }


def test_after_a_fallback_the_span_names_who_answered() -> None:
    teller = nested_run.Teller("r")
    started = teller.started(0, "a")
    fell = teller.tell(StepFellBack, step=0, worker="b", worker_kind="model", message=nested_run.HOSTILE)
    step = named(traced([started, fell, teller.finished(0, "b", "text")]), "invoke_agent a")
    assert (step.attributes["gen_ai.agent.name"], step.attributes["conductor.instead_of"]) == ("b", "a")


def test_what_was_cut_off_ends_all_the_same() -> None:
    teller = nested_run.Teller("r")
    spans = traced([teller.started(0, "a")])
    assert named(spans, "invoke_agent a").attributes["conductor.outcome"] == "cancelled"
    assert tree(spans) == ["invoke_agent conductor", "  invoke_agent a"]
    assert not [name for span in spans for name in span.attributes if "usage" in name]


@pytest.mark.parametrize("outcome", ["cancelled", "interrupted"])
def test_what_goes_on_inside_a_step_is_cut_off_as_its_run_is(outcome: str) -> None:
    teller, inside = nested_run.Teller("r"), nested_run.Teller("inside").started(0, "a")
    events = [teller.started(0, "conductor"), teller.tell(StepInner, step=0, event=inside)]
    end = teller.tell(RunFinished, outcome=outcome, answer=None, answer_step=None)
    spans = traced([*events, teller.tell(StepCancelled, step=0, usage=Usage(), seconds=1.0), end])
    assert named(spans, "invoke_agent a").attributes["conductor.outcome"] == outcome
    code = StatusCode.UNSET if outcome == "cancelled" else StatusCode.ERROR
    assert named(spans, "invoke_agent a").status.status_code is code


def test_no_span_holds_a_text() -> None:
    spans = "\n".join(span.to_json() for span in traced(nested_run.events()))
    for text in ("Hard", "Collect the facts", "said", nested_run.HOSTILE, "Which one", "Do it"):
        assert text not in spans


@pytest.mark.slow
def test_a_server_whose_traces_cannot_be_made_warns_and_serves(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("traces"))
    monkeypatch.setenv(TRACES, "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with closing(served_workbench(ConfiguredRuntime(), Metrics())) as bench:
        assert bench.store.sessions.count() == 0
    (warning,) = caplog.messages
    assert warning.startswith(f"{TRACES} names where traces of runs go, and none are sent: ")
    assert "pip install 'opentelemetry-sdk" in warning


@pytest.mark.parametrize(
    ("end", "names", "outcomes"),
    [
        ("finished", ["files:read", "files:{}"], ["finished", "failed"]),
        ("cancelled", ["files:read", "files:{}", "files:read"], ["finished", "failed", "cancelled"]),
    ],
)
def test_each_call_of_a_tool_is_a_span_in_its_step_without_its_texts(
    end: str, names: list[str], outcomes: list[str]
) -> None:
    spans = traced(tool_events("secret words", end=end))
    step = named(spans, "invoke_agent alpha")
    calls = [span for span in spans if span.attributes["gen_ai.operation.name"] == "execute_tool"]
    assert [span.name for span in calls] == [f"execute_tool {name.format('secret words')}" for name in names]
    assert {span.parent.span_id for span in calls} == {step.context.span_id}
    assert [span.attributes["conductor.outcome"] for span in calls] == outcomes
    assert [(span.start_time / 1e9, span.end_time / 1e9) for span in calls][:2] == [
        (1_001, 1_001.5),
        (1_001, 1_002.5),
    ]
    first = dict(calls[0].attributes)
    assert (first["gen_ai.tool.name"], first["gen_ai.tool.call.id"]) == ("files:read", "c1")
    assert calls[1].status.status_code is StatusCode.ERROR
    assert not any("secret" in str(value) for value in first.values())
    chats = [span for span in spans if span.attributes["gen_ai.operation.name"] == "chat"]
    if end == "finished":
        assert [span.start_time / 1e9 for span in chats] == [1_000, 1_004]


def test_a_tool_that_a_model_made_up_has_no_name_in_a_trace() -> None:
    before, called, *rest = tool_events("secret words")[1:]
    assert isinstance(called, StepToolsCalled)
    unknown_calls = tuple(call.model_copy(update={"server": ""}) for call in called.calls)
    spans = traced([before, called.model_copy(update={"calls": unknown_calls}), *rest])
    assert [span.name for span in spans].count("execute_tool") == 2
    assert not any("secret" in f"{span.name} {dict(span.attributes)}" for span in spans)
