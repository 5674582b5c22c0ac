"""An evaluation's scores as spans with an event for each metric; what is not installed is named."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from conductor.errors import DataError
from conductor.evaluation.spec import EvaluationSpec
from storage import SessionStore
from studio.evaluation.trackers import RESULT, to_mlflow, to_otel, to_wandb
from studio.telemetry import traces
from tests.support.stores.scored_evaluation import ITEMS, scored

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def test_a_planner_is_a_span_and_a_metric_an_event(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(traces, "tracer_provider", lambda: provider)
    record = store.evaluations.find(scored(store))
    names = to_otel(store, record)
    assert names == ["evaluate worker:one", "evaluate worker:none", "evaluate perfect router"]
    spans = {span.name: span for span in exporter.get_finished_spans()}
    span = spans["evaluate worker:one"]
    assert span.attributes is not None
    attributes = {name: span.attributes[f"conductor.evaluation.{name}"] for name in ("data", "questions")}
    assert attributes == {"data": "words", "questions": 3}
    assert {event.name for event in span.events} == {RESULT}
    scores = [event.attributes for event in span.events if event.attributes is not None]
    metrics = {each["gen_ai.evaluation.name"]: each["gen_ai.evaluation.score.value"] for each in scores}
    assert metrics["accuracy"] == pytest.approx(1 / 3)
    assert (metrics["accuracy/odd/one"], metrics["accuracy/even"]) == (0.5, 0)
    assert "cost" not in metrics, "it is unknown"


def test_nothing_is_sent_of_what_was_not_scored(store: SessionStore) -> None:
    spec = EvaluationSpec(data="words", digest="", planners=("worker:one",))
    with pytest.raises(DataError, match="was scored yet"):
        to_otel(store, store.evaluations.add(spec, ITEMS))


@pytest.mark.parametrize(("send", "library"), [(to_mlflow, "mlflow"), (to_wandb, "wandb")])
def test_an_export_names_the_extra_that_is_missing(store: SessionStore, send: object, library: str) -> None:
    if importlib.util.find_spec(library) is not None:
        pytest.skip("the library is installed here")
    record = store.evaluations.add(EvaluationSpec(data="w", digest="", planners=("worker:one",)), ITEMS)
    assert callable(send)
    with pytest.raises(DataError, match=rf"the extra `{library}` \(`pip install '"):
        send(store, record)
