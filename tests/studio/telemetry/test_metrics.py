"""What is counted of runs: the same tokens as the fold of a request counts, by names and fixed words."""

from __future__ import annotations

from functools import reduce

import nested_run
import pytest
from prometheus_client.parser import text_string_to_metric_families as families
from timed_run import timed_events, timed_workflow

from conductor.runs.events import (
    Event,
    PlanningFailed,
    PlanningStarted,
    StepFellBack,
    StepFinished,
    StepRetried,
    StepStarted,
)
from conductor.runs.request import RequestState
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from studio.telemetry.metrics import Metrics, side_by_side
from studio.telemetry.observer import Watches

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(metrics: Metrics) -> Samples:
    return {
        (one.name.removeprefix("conductor_"), tuple(sorted(one.labels.items()))): one.value
        for family in families(metrics.text().decode())
        for one in family.samples
    }


def metrics_of(*events: Event) -> Metrics:
    metrics = Metrics()
    watches = Watches([metrics], "session")
    for event in events:
        watches.see(event)
    watches.end()
    return metrics


def total(figures: Samples, name: str, **labels: str) -> float:
    return sum(
        value for (of, has), value in figures.items() if of == name and labels.items() <= dict(has).items()
    )


def test_tokens_and_dollars_are_those_of_the_fold_with_each_inner_call_counted_once() -> None:
    events = nested_run.events()
    figures, state = samples(metrics_of(*events)), reduce(RequestState.advance, events, RequestState())
    usage = state.used.known
    assert total(figures, "tokens_total", direction="input") == usage.prompt_tokens
    assert total(figures, "tokens_total", direction="output") == usage.completion_tokens
    assert total(figures, "cost_dollars_total") == pytest.approx(usage.cost)
    assert total(figures, "in_progress") == 0


def test_a_run_its_steps_and_their_seconds_are_counted_by_worker() -> None:
    events = timed_events(timed_workflow([], [0], [0]), [1.0, 2.0, 4.0], fail=[2])
    figures = samples(metrics_of(*events))
    assert total(figures, "runs_total", outcome="failed") == 1
    assert total(figures, "run_seconds_sum") == 5
    assert total(figures, "steps_total", worker="w1", outcome="finished") == 1
    assert total(figures, "steps_total", worker="w3", outcome="failed") == 1
    assert [total(figures, "call_seconds_sum", worker=name) for name in ("w1", "w2", "w3")] == [1, 2, 4]


def test_steps_that_make_no_call_are_counted_apart_and_take_no_time() -> None:
    figures = samples(metrics_of(*timed_events(timed_workflow([], [0]), [1.0, 1.0], fail=[0])))
    assert total(figures, "steps_total", worker="w2", outcome="blocked") == 1
    assert total(figures, "call_seconds_count", worker="w2") == 0


def test_each_request_of_a_step_counts_with_what_it_took_for_the_worker_that_it_was_made_to() -> None:
    def charge(worker: str, prompt: int | None) -> Charge:
        usage = Usage(prompt_tokens=prompt, completion_tokens=prompt, cost=prompt)
        return Charge(worker=worker, kind="model", purpose="step", usage=usage)

    started, finished = (
        one for one in timed_events(timed_workflow([]), [1.0]) if isinstance(one, StepStarted | StepFinished)
    )
    teller, lost = nested_run.Teller(started.run), charge("w1", None)
    figures = samples(
        metrics_of(
            started,
            teller.tell(StepRetried, step=0, attempt=1, message="", seconds=0, charge=charge("w1", 100)),
            teller.tell(StepFellBack, step=0, worker="w2", worker_kind="model", message="", charge=lost),
            finished.model_copy(update={"charge": charge("w2", 3)}),
        )
    )
    assert total(figures, "tokens_total", worker="w1") == 200
    assert total(figures, "tokens_total", worker="w2") == 6
    assert total(figures, "cost_dollars_total") == 103
    assert total(figures, "calls_with_unknown_total", worker="w1", what="tokens") == 1
    assert total(figures, "calls_with_unknown_total", worker="w2") == 0


def test_what_is_unknown_adds_to_no_sum_and_is_counted_as_unknown() -> None:
    events = [
        one.model_copy(update={"output": one.output.model_copy(update={"usage": Usage()}), "charge": None})
        if isinstance(one, StepFinished)
        else one
        for one in timed_events(timed_workflow([]), [1.0])
    ]
    figures = samples(metrics_of(*events))
    assert not [name for name, _ in figures if name.startswith(("tokens_total", "cost_dollars_total"))]
    assert total(figures, "calls_with_unknown_total", worker="w1", what="tokens") == 1
    assert total(figures, "calls_with_unknown_total", worker="w1", what="cost") == 1


def test_a_call_that_fell_back_counts_for_the_worker_that_answered() -> None:
    started, *rest = timed_events(timed_workflow([]), [1.0])
    fell = StepFellBack(run="r", seq=2, at=rest[0].at, step=0, worker="b", worker_kind="model", message="503")
    figures = samples(metrics_of(started, rest[0], fell, *rest[1:]))
    assert total(figures, "steps_total", worker="b", outcome="finished") == 1
    assert total(figures, "fallbacks_total", worker="w1") == 1


def test_planning_that_failed_and_work_that_was_cut_off_are_counted_to_their_ends() -> None:
    start = PlanningStarted(run="p", seq=0, at=10, query="q", planner="model", planner_kind="model")
    failed = PlanningFailed(run="p", seq=1, at=12, message="no answer")
    figures = samples(metrics_of(start, failed, start))
    assert total(figures, "plans_total", planner="model", outcome="failed") == 1
    assert total(figures, "plans_total", planner="model", outcome="cancelled") == 1
    assert total(figures, "in_progress") == 0


def test_planning_that_was_stopped_has_not_failed() -> None:
    start = PlanningStarted(run="p", seq=0, at=10, query="q", planner="model", planner_kind="model")
    stopped = PlanningFailed(run="p", seq=1, at=12, message="Planning was stopped.", stopped=True)
    figures = samples(metrics_of(start, stopped))
    assert total(figures, "plans_total", planner="model", outcome="cancelled") == 1
    assert total(figures, "plans_total", planner="model", outcome="failed") == 0


def test_no_label_holds_a_text_or_an_id() -> None:
    allowed = {"gpt-5", "conductor", "writer-8b", "critic-7b", "input", "output", "plan", "step", "run"}
    words = {"planned", "rejected", "finished", "failed", "empty", "tokens", "cost", "+Inf", "interrupted"}
    for _, labels in samples(metrics_of(*nested_run.events("secret-run"))):
        for name, value in labels:
            if name != "le":
                assert value in allowed | words, (name, value)


def test_an_observer_that_fails_is_left_out_and_the_others_see_on(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def see(self, event: Event) -> None:
            raise KeyError(event.run)

        def end(self) -> None:
            raise AssertionError("it was to see no more")

    metrics = Metrics()
    watches = Watches([lambda _: Broken(), metrics], "session")
    for event in timed_events(timed_workflow([]), [1.0]):
        watches.see(event)
    watches.end()
    assert total(samples(metrics), "runs_total") == 1
    assert len([one for one in caplog.records if "observer" in one.message]) == 1


@pytest.mark.slow
def test_metrics_of_several_processes_stand_side_by_side_and_are_not_summed() -> None:
    one = metrics_of(*timed_events(timed_workflow([]), [1.0]))
    other = metrics_of(*nested_run.events())
    text = side_by_side({"a": one.text(), "b": other.text()}).decode()
    figures = {
        (sample.name, sample.labels.pop("replica"), tuple(sorted(sample.labels.items()))): sample.value
        for family in families(text)
        for sample in family.samples
    }
    for name, metrics in (("a", one), ("b", other)):
        own = {(key[0], key[2]): value for key, value in figures.items() if key[1] == name}
        alone = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families(metrics.text().decode())
            for sample in family.samples
        }
        assert {key for key, value in alone.items() if own[key] != value} <= _OF_THE_MOMENT
    assert text.count("# TYPE conductor_runs_total counter") == 1


_OF_THE_MOMENT = {
    (f"process_{name}", ())
    for name in ("cpu_seconds_total", "resident_memory_bytes", "open_fds", "virtual_memory_bytes")
}
