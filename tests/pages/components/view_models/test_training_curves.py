"""The curves of a training: the warm start until GRPO has begun, then the gauges; the unknown is left out."""

from __future__ import annotations

from pathlib import Path

from conductor.learning.demonstration.settings import DemoSettings
from conductor.learning.gauges import Gauges
from pages.components.view_models.training_curves import LIGHT, curves
from studio.learning.training_run import TrainingRun


def gauges(right: float, one_step: float | None = None) -> Gauges:
    return Gauges(
        reward=right, valid=1.0, right=right, steps=1.5, one_step=one_step, entropy=None, live=0.5, tokens=9.0
    )


def run(**more: object) -> TrainingRun:
    return TrainingRun(Path("demo"), DemoSettings(), **more)  # type: ignore[arg-type]


def points(chart: dict, layer: int) -> list[tuple]:
    values = chart["layer"][layer]["data"]["values"]
    return [(value["series"], value["step"], value["value"]) for value in values]


def test_a_run_that_has_not_begun_has_no_curve():
    assert list(curves(run(), LIGHT)) == []


def test_the_loss_is_shown_until_grpo_has_begun():
    charts = dict(curves(run(losses=((10, 3.5), (20, 2.25))), LIGHT))
    assert list(charts) == ["loss"]
    assert points(charts["loss"], 0) == [("Loss per token", 10, 3.5), ("Loss per token", 20, 2.25)]


def test_gauges_are_drawn_with_their_moving_mean_and_without_what_is_unknown():
    steps = ((1, gauges(0.2)), (2, gauges(0.4, one_step=0.9)))
    charts = dict(curves(run(losses=((10, 3.5),), steps=steps, fixed=((0, gauges(0.3)),)), LIGHT))
    assert list(charts) == ["right", "plans", "routing", "live"]
    assert points(charts["right"], 0) == [("Sampled plans", 1, 0.2), ("Sampled plans", 2, 0.4)]
    mean = [("Sampled plans", 1, 0.2), ("Sampled plans", 2, 0.3)]
    assert points(charts["right"], 1) == [*mean, ("Likeliest plans, fixed questions", 0, 0.3)]
    assert ("One-step plans where more are needed", 2, 0.9) in points(charts["plans"], 0)
    assert not any(series.startswith("Entropy") for series, *_ in points(charts["routing"], 1))


def test_no_layer_is_without_a_value():
    for _, chart in curves(run(steps=((1, gauges(0.2)),)), LIGHT):
        assert all(layer["data"]["values"] for layer in chart["layer"])


def test_the_moving_mean_looks_back_over_ten_points_only():
    steps = tuple((step, gauges(float(step == 1))) for step in range(1, 13))
    charts = dict(curves(run(steps=steps), LIGHT))
    means = [value for _, _, value in points(charts["right"], 1)]
    assert means == [round(1 / step, 4) for step in range(1, 11)] + [0.0, 0.0]
