"""The benchmark over HTTP measures what it names; how fast anything is, is no test's business."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import pytest

from benchmarks.seen_tokens import ALL_SHAPES, mixture_of, seen_tokens
from benchmarks.served import Effort, Report, as_text, measured
from benchmarks.upstream import upstream
from conductor.workflow.model import Workflow


@pytest.mark.slow
@pytest.mark.thorough
def test_a_tiny_run_reports_every_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.served.settle", lambda: None)
    with upstream() as base_url:
        report: Report = asyncio.run(measured(base_url, Effort(rounds=1, crowd=2, crowd_rounds=1)))
    for name in ("one", "fan", "runs", "bare", "parsing"):
        assert asdict(report)[name]["minimum"] > 0, name
    assert 0 < report.lag_median <= report.lag_p95
    text = as_text(report)
    assert "the same calls as 2 runs" in text
    assert all(f"| {shape} |" in text for shape in ALL_SHAPES)


@pytest.mark.parametrize("shape", ALL_SHAPES)
def test_who_sees_more_pays_more(shape: str) -> None:
    seen = seen_tokens()[shape]
    assert seen.calls == len(ALL_SHAPES[shape])
    assert 0 < seen.access <= seen.everything


@pytest.mark.parametrize(
    ("steps", "access"),
    [
        (1, [()]),
        (2, [(), (0,)]),
        (3, [(), (), (0, 1)]),
        (5, [(), (), (0, 1), (0, 1), (2, 3)]),
        (6, [(), (), (0, 1), (0, 1), (2, 3), (4,)]),
    ],
)
def test_a_mixture_sees_the_layer_before(steps: int, access: list[tuple[int, ...]]) -> None:
    step = next(iter(ALL_SHAPES.values())).steps[0]
    mixed = mixture_of(Workflow.of([step] * steps))
    assert [step.access for step in mixed.steps] == access
