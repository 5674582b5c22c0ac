"""The benchmark measures what it names; how fast anything is, is no test's business."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest

from benchmarks.contenders import CONTENDERS, Load
from benchmarks.engine import Effort, measure
from benchmarks.measure import alone, crowd, temporary_store
from benchmarks.report import Report, as_text
from benchmarks.shapes import SHAPES, critical_seconds
from storage import SessionStore

pytestmark = pytest.mark.thorough  # it measures a program that measures, at length

TINY = Effort(
    latencies=((0.0, 1), (0.002, 1)),
    rounds=1,
    crowds=(),
)


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _numbers(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers(inner)
    elif isinstance(value, int | float):
        yield value


@pytest.fixture(scope="module", autouse=True)
def settled() -> Iterator[list[str]]:
    """One entry for each time a measurement settles the collector, which is spared here.

    In this process each time would go through all that the tests have imported; a crowd in a process of
    its own settles for real.
    """
    times: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.measure.settle", lambda: times.append("settled"))
        yield times


@pytest.fixture(scope="module")
def report(settled: list[str]) -> Report:
    """What a tiny run measures."""
    return measure(TINY)


def test_a_tiny_run_reports_every_shape_latency_and_contender_with_positive_numbers(report: Report) -> None:
    assert [(single.shape, single.latency) for single in report.singles] == [
        (shape, latency) for latency, _ in TINY.latencies for shape in SHAPES
    ]
    assert all(set(single.seconds) == set(CONTENDERS) for single in report.singles)
    assert all(number > 0 for single in report.singles for number in _numbers(asdict(single)["seconds"]))
    assert all(number > 0 for number in _numbers(asdict(report)["phases"]))
    assert report.starting.minimum > 0
    assert json.loads(json.dumps(asdict(report)))["singles"][0]["shape"] == "chain-5"


def test_the_text_has_a_ratio_to_the_critical_path_only_where_something_waits(report: Report) -> None:
    rows = [line.split("|") for line in as_text(report).splitlines() if line.startswith("| chain-5")]

    ratios = [row[3].strip() for row in rows]
    assert ratios[: len(CONTENDERS)] == ["-"] * len(CONTENDERS)
    assert all(float(ratio.split()[0]) >= 1 for ratio in ratios[len(CONTENDERS) :])


@pytest.mark.parametrize("rounds", [1, 2])
def test_the_collector_is_settled_before_each_sample(
    settled: list[str], monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    async def ran() -> None:
        settled.append("ran")

    def prepared(_load: Load, _store: SessionStore) -> list[Coroutine[Any, Any, None]]:
        return [ran(), ran()]

    settled.clear()
    monkeypatch.setattr("benchmarks.measure.CONTENDERS", {"one": prepared, "other": prepared})
    with temporary_store() as store:
        alone(Load(SHAPES["diamond"], latency=0.0, runs=2), store, rounds=rounds)
    assert settled == ["settled", "ran", "ran"] * 2 * rounds


def test_crowds_are_measured_in_processes_of_their_own_and_reported() -> None:
    effort = replace(
        TINY, latencies=((0.0, 1),), crowds=((2, 0.0),), crowd_rounds=1, crowd_contenders=("engine",)
    )
    report = measure(effort)

    assert report.crowds["2 workflows at once, 0 ms a step"]["engine"].per_second > 0
    assert "| engine |" in as_text(report).split("at once")[-1]


@pytest.mark.parametrize("contender", CONTENDERS)
def test_every_contender_runs_a_crowd_of_all_shapes(contender: str) -> None:
    figures = crowd(contender, size=5, latency=0.0)

    assert figures.per_second > 0
    assert figures.peak > 0
    assert figures.growth >= 0


@pytest.mark.parametrize(("shape", "steps"), [("chain-5", 5), ("fan-out-4 + aggregator", 2), ("diamond", 3)])
def test_no_one_is_faster_than_the_critical_path(shape: str, steps: int) -> None:
    latency = 0.005
    workflow = SHAPES[shape]

    assert critical_seconds(workflow, latency) == pytest.approx(steps * latency)
    with temporary_store() as store:
        seconds = alone(Load(workflow, latency, runs=1), store, rounds=1)
    assert all(spread.minimum >= steps * latency for spread in seconds.values())
