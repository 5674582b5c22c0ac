"""The curves of a training, as specifications of Vega-Lite. Pure.

Knows a run's gauges; knows no page. A thin line is the batch itself, a thick one its mean with those before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from conductor.learning.demonstration.contenders import CONDUCTOR, Results
from conductor.learning.gauges import Gauges
from studio.learning.training_run import TrainingRun

Points = Sequence[tuple[float, float]]
Chart = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Colours:
    """Of one theme."""

    accent: str
    text: str
    quiet: str
    grid: str
    ground: str


LIGHT = Colours(accent="#4f46e5", text="#1f2430", quiet="#6b7285", grid="#e3e6ef", ground="#ffffff")
DARK = Colours(accent="#8b93ff", text="#e7e9f1", quiet="#9aa1b5", grid="#2c3242", ground="#12141c")

_HEIGHT = 290
_SECOND = "#d55e00"
"""Beside the accent: Okabe and Ito's vermilion, which differs from it for every eye, in both themes."""


def curves(run: TrainingRun, colours: Colours) -> Iterator[tuple[str, Chart]]:
    """Charts with a key each: of the warm start until GRPO has begun, then those of GRPO."""
    if run.losses and not run.steps:
        points = [(float(step), loss) for step, loss in run.losses]
        series = {"Loss per token": (points, ())}
        yield "loss", _chart("Warm start: loss", series, colours, along="step of the warm start", top=None)
    if not run.steps:
        return
    right = {
        "Sampled plans": _smooth(run, lambda gauges: gauges.right),
        "Likeliest plans, fixed questions": ([(step, gauges.right) for step, gauges in run.fixed], ()),
    }
    yield "right", _chart("Right answers", right, colours, share=True)
    shape = {
        "One-step plans where more are needed": _smooth(run, lambda gauges: gauges.one_step),
        "Valid plans": _smooth(run, lambda gauges: gauges.valid),
    }
    yield "plans", _chart("Plans: a collapse shows here first", shape, colours, share=True)
    routing = {
        "Steps per plan": _smooth(run, lambda gauges: gauges.steps),
        "Entropy of routing, bits": _smooth(run, lambda gauges: gauges.entropy),
    }
    yield "routing", _chart("Steps and routing", routing, colours, top=None)
    live = {"Groups whose rewards differ": _smooth(run, lambda gauges: gauges.live)}
    yield "live", _chart("Learning signal", live, colours, share=True)


def accuracies(results: Results, colours: Colours) -> Chart:
    """A bar for each planner, with its interval; the trained one stands out."""
    rows = [
        {"planner": row.planner, "right": row.accuracy, "from": row.interval[0], "to": row.interval[1]}
        for row in results.rows
    ]
    axis = {"labelColor": colours.text, "titleColor": colours.text, "title": None, "labelLimit": 260}
    names = {**axis, "ticks": False, "labelOverlap": False}
    y = {"field": "planner", "type": "nominal", "sort": None, "axis": names}
    x = {
        "field": "right", "type": "quantitative", "scale": {"domain": [0, 1]},
        "axis": {**axis, "format": ".0%", "tickCount": 5, "gridColor": colours.grid},
    }  # fmt: skip
    own = {"test": f"datum.planner === {CONDUCTOR!r}", "value": colours.accent}
    tooltip = [
        {"field": "planner", "type": "nominal", "title": " "},
        {"field": "right", "type": "quantitative", "format": ".1%", "title": "right"},
    ]
    return {
        "title": {
            "text": "Right answers to held-out questions, with 95% intervals", "anchor": "start",
            "color": colours.text, "fontSize": 14, "offset": 10,
        },
        "data": {"values": rows},
        "width": "container",
        "height": 26 * len(rows),
        "encoding": {"y": y, "tooltip": tooltip},
        "layer": [
            {
                "mark": {"type": "bar", "height": 12, "cornerRadius": 3},
                "encoding": {"x": x, "color": {"condition": own, "value": colours.quiet}},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 1.5, "color": colours.text},
                "encoding": {"x": {**x, "field": "from"}, "x2": {"field": "to"}},
            },
        ],
    }  # fmt: skip


def _smooth(run: TrainingRun, value: Callable[[Gauges], float | None]) -> tuple[Points, Points]:
    """The moving mean of what is known, and the values themselves."""
    points = [(float(step), reading) for step, gauges in run.steps if (reading := value(gauges)) is not None]
    return _moving_mean(points), points


def _moving_mean(points: Points, over: int = 10) -> Points:
    """Each point's mean with those before it, at most `over` in all."""
    windows = [points[max(0, at - over + 1) : at + 1] for at in range(len(points))]
    return [(window[-1][0], fmean(y for _, y in window)) for window in windows]


def _chart(
    title: str,
    series: Mapping[str, tuple[Points, Points]],
    colours: Colours,
    *,
    along: str = "step of GRPO",
    share: bool = False,
    top: float | None = 1.0,
) -> Chart:
    words = {"labelColor": colours.text, "titleColor": colours.text}
    scale = {"domain": [0, top]} if top is not None else {"zero": True}
    names = list(series)
    encoding = {
        "x": {
            "field": "step",
            "type": "quantitative",
            "title": along,
            "axis": {**words, "grid": False, "tickMinStep": 1, "domainColor": colours.quiet},
            "scale": {"nice": False, "zero": True},
        },
        "y": {
            "field": "value",
            "type": "quantitative",
            "title": None,
            "scale": scale,
            "axis": {
                **words, "gridColor": colours.grid, "tickCount": 5, **({"format": ".0%"} if share else {}),
            },
        },
        "color": {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": names, "range": [colours.accent, _SECOND][: len(names)]},
            "legend": {
                "title": None, "orient": "top", "direction": "horizontal", "labelColor": colours.text,
                "labelLimit": 320, "symbolType": "stroke", "symbolOpacity": 1, "symbolStrokeWidth": 3,
            },
        },
    }  # fmt: skip
    tooltip = [
        {"field": "series", "type": "nominal", "title": " "},
        {"field": "step", "type": "quantitative", "title": along},
        {"field": "value", "type": "quantitative", "format": ".1%" if share else ".2f"},
    ]
    thin = {"type": "line", "strokeWidth": 1, "opacity": 0.25}
    thick = {"type": "line", "strokeWidth": 2, "point": {"size": 12}}
    layers = [
        {"data": {"values": values}, "mark": mark, "encoding": {**encoding, **more}}
        for values, mark, more in (
            (_values(series, at=1), thin, {}),
            (_values(series, at=0), thick, {"tooltip": tooltip}),
        )
        if values
    ]
    return {
        "title": {"text": title, "anchor": "start", "color": colours.text, "fontSize": 14, "offset": 10},
        "height": _HEIGHT,
        "width": "container",
        "layer": layers,
    }


def _values(series: Mapping[str, tuple[Points, Points]], *, at: int) -> list[Mapping[str, float | str]]:
    return [
        {"series": name, "step": step, "value": round(value, 4)}
        for name, lines in series.items()
        for step, value in lines[at]
    ]
