"""What is counted of runs: what the ledger has of their requests, by names and fixed words."""

from __future__ import annotations

from functools import reduce

import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from conductor.runs.events import Event, PlanningFailed, PlanningStarted, StepFellBack
from conductor.runs.request import RequestState
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from studio.telemetry.metrics import Metrics, side_by_side
from studio.telemetry.observer import Watches
from tests.support.runs import nested_run
from tests.support.runs.timed_run import timed_events, timed_workflow

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
    used = state.used
    assert total(figures, "calls_total") == used.calls
    assert total(figures, "tokens_total", direction="input") == used.prompt.least
    assert total(figures, "tokens_total", direction="output") == used.completion.least
    assert total(figures, "cost_dollars_total") == pytest.approx(used.dollars.least)
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


def test_what_is_unknown_adds_to_no_sum_and_is_counted_as_unknown() -> None:
    teller = nested_run.Teller("r")
    events = [teller.started(0, "w1"), teller.finished(0, "w1", "text", usage=Usage())]
    figures = samples(metrics_of(*events))
    assert not [name for name, _ in figures if name.startswith(("tokens_total", "cost_dollars_total"))]
    assert total(figures, "calls_with_unknown_total", worker="w1", what="tokens") == 1
    assert total(figures, "calls_with_unknown_total", worker="w1", what="cost") == 1


def test_what_a_failed_attempt_took_counts_for_the_worker_that_was_called() -> None:
    teller, usage = nested_run.Teller("r"), Usage(prompt_tokens=90, completion_tokens=0, cost=0.5)
    failed = Charge(worker="a", kind="model", purpose="step", usage=usage)
    fell = teller.tell(StepFellBack, step=0, worker="b", worker_kind="model", message="503", charge=failed)
    figures = samples(metrics_of(teller.started(0, "a"), fell, teller.finished(0, "b", "text")))
    read = [total(figures, "tokens_total", worker=name, direction="input") for name in ("a", "b")]
    assert read == [90, 1_000]
    assert [total(figures, "calls_total", worker=name) for name in ("a", "b")] == [1, 1]


def test_dollars_that_are_an_upper_bound_are_counted_as_such() -> None:
    teller, bounded = (
        nested_run.Teller("r"),
        Usage(prompt_tokens=9, completion_tokens=1, cost=0.5, least_cost=0.25),
    )
    figures = samples(metrics_of(teller.started(0, "a"), teller.finished(0, "a", "text", usage=bounded)))
    assert total(figures, "cost_dollars_total", worker="a") == 0.5
    assert total(figures, "calls_with_unknown_total", worker="a", what="cost_at_most") == 1
    assert total(figures, "calls_with_unknown_total", worker="a", what="cost") == 0


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
    words |= {"nested"}
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
