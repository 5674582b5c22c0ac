"""What accuracy costs: what is known is drawn, the front is marked, labels stay apart."""

from __future__ import annotations

import re
from base64 import b64decode
from itertools import combinations
from xml.etree import ElementTree

import pytest

from conductor.drawing.marks import MARKS, marks
from conductor.evaluation.evaluation_table import ROUTER, EvaluationTable, PlannerRow
from conductor.evaluation.mean import Mean
from conductor.evaluation.report import report_page
from conductor.evaluation.report.chart import chart_image, chart_svg
from conductor.evaluation.report.figure import Scales, axes, figure_of, left_out
from conductor.evaluation.report.labels import label_box, shared_area
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.statistics import rate

SPEC = EvaluationSpec(data="", digest="", planners=("conductor",))
HOSTILE = "</title><script>alert(1)</script>\"'&"
SVG = "{http://www.w3.org/2000/svg}"


def row(planner, right, tokens, *, cost=None, size=100, **more):
    means = {"tokens": tokens, "cost": cost}
    return PlannerRow(
        planner=planner, rate=rate({at: (at < right,) for at in range(100)}), difference=None, verdicts={},
        **{name: None if mean is None else Mean(mean, size, 100) for name, mean in means.items()}, **more,
    )  # fmt: skip


UNANSWERED = PlannerRow("baseline:rules", None, None, {})

ROWS = (
    row("conductor", 80, 900.0, cost=0.01),
    row("worker:small", 40, 100.0, cost=0.001),
    row("worker:other", 39, 105.0, cost=0.0),
    row("worker:third", 41, 102.0),
    row("baseline:moa", 60, 5000.0),
    row("baseline:vote", 50, None),
    UNANSWERED,
    row(ROUTER, 85, None, computed=True),
)


def test_what_is_unknown_is_left_out_and_distinguished_from_what_took_nothing():
    table = EvaluationTable(ROWS, {})
    assert axes(table) == ("tokens", "cost")
    assert left_out(table, "tokens", SPEC) == (
        "Not drawn: Vote, whose tokens are unknown; Rules, without an answer that was scored."
    )
    assert left_out(table, "cost", SPEC) == (
        "Not drawn: other, whose cost is 0, which a log scale does not have; third, Mixture-of-Agents, "
        "Vote, whose cost is unknown; Rules, without an answer that was scored."
    )
    assert left_out(EvaluationTable(ROWS[:2], {}), "cost", SPEC) == ""
    assert axes(EvaluationTable((row("conductor", 5, 0.0),) * 3, {})) == ()


def test_points_have_intervals_and_the_front_is_in_order():
    figure = figure_of(EvaluationTable(ROWS, {}), "tokens", SPEC)
    points = {point.name: point for point in figure.points}
    assert points["Conductor"].details["Right"] == "80 of 100, 80.0%"
    assert points["Conductor"].details["Cost per question"] == "$0.0100"
    assert points["third"].details["Cost per question"] == "-"
    assert points["Conductor"].low < 0.8 < points["Conductor"].high
    assert [point.name for point in figure.front] == ["small", "third", "Conductor"]
    assert figure.router_label == "Perfect router, computed: 85.0%"


@pytest.mark.parametrize(
    ("x", "y", "amounts", "levels"),
    [
        ((70, 900), (0.0, 1.0), (100, 200, 500), (0, 0.2, 0.4, 0.6, 0.8, 1)),
        ((0.0021, 0.03), (0.9, 1.0), (0.005, 0.01, 0.02), (0.9, 0.92, 0.94, 0.96, 0.98, 1)),
        ((5, 20000), (0.3, 0.5), (10, 100, 1000, 10000), (0.3, 0.35, 0.4, 0.45, 0.5)),
        ((66, 170), (0.1, 0.8), (100,), (0.2, 0.4, 0.6, 0.8)),
    ],
)  # fmt: skip
def test_axes_have_few_round_ticks(x, y, amounts, levels):
    scales = Scales(x=x, y=y)
    assert scales.amounts == pytest.approx(amounts)
    assert scales.levels == levels


@pytest.mark.parametrize(
    "names", [("a", "b", "c", "d"), ("a-rather-long-name-of-a-worker-70b", "b", "c"), ("m" * 200, "b")]
)
def test_labels_of_points_that_are_close_do_not_meet(names):
    rows = tuple(row(f"worker:{name}", 50 + at, 100.0 + at) for at, name in enumerate(names))
    figure = figure_of(EvaluationTable(rows, {}), "tokens", SPEC)
    boxes = [
        label_box(point.label, figure.scales.at(point.x, point.accuracy), point.place)
        for point in figure.points
    ]
    assert all(shared_area(one, other) == 0 for one, other in combinations(boxes, 2))
    assert max(len(point.label) for point in figure.points) <= 40


@pytest.mark.slow
def test_a_chart_has_a_mark_an_interval_and_a_label_for_each_point_and_states_them_in_words():
    figure = figure_of(EvaluationTable(ROWS, {}), "cost", SPEC)
    svg = ElementTree.fromstring(chart_svg(figure))
    assert svg.get("role") == "img"
    ids = {element.get("id") for element in svg}
    assert set(svg.get("aria-labelledby").split()) <= ids
    words = svg.findtext(f"{SVG}desc")
    assert "Planner: Conductor, Right: 80 of 100, 80.0%" in words
    assert "Perfect router, computed: 85.0%." in words
    points = [element for element in svg if element.get("class", "").startswith("point")]
    assert [point.findtext(f"{SVG}title").splitlines()[0] for point in points] == [
        "Planner: Conductor", "Planner: small",
    ]  # fmt: skip
    assert [element.text for element in svg if element.get("class", "").startswith("label")] == [
        "Conductor", "small",
    ]  # fmt: skip
    (front,) = (element.get("d") for element in svg if element.get("class") == "front")
    # From the cheaper and worse to the dearer and better: to the right, then up.
    x, y, right, high = map(float, re.fullmatch(r"M(\S+) (\S+) H(\S+) V(\S+)", front).groups())
    assert x < right
    assert y > high


@pytest.mark.parametrize(
    ("rows", "charts", "sentence"),
    [
        (ROWS, ["tokens", "cost"], "whose cost is unknown"),
        ([row("conductor", 8, 10.0), row("worker:a", 5, 4.0)], ["tokens"],
         "No chart against cost: fewer than two planners can be drawn. "
         "Not drawn: Conductor, a, whose cost is unknown."),
        ([row("conductor", 8, 10.0, cost=1.0)], [], None),
        ([UNANSWERED, UNANSWERED], [], "No chart against tokens"),
    ],
)  # fmt: skip
def test_a_page_has_a_chart_for_what_is_known_and_states_what_is_not(rows, charts, sentence):
    page = report_page(EvaluationTable(tuple(rows), {}), SPEC, begun_at=0, questions=9)
    assert re.findall(r'aria-labelledby="chart-(\w+)-title', page) == charts
    assert ("What accuracy costs" in page) == (sentence is not None)
    assert sentence is None or sentence in page


def test_a_name_of_a_planner_is_text_in_a_chart():
    rows = (row(f"worker:{HOSTILE}", 5, 4.0), row("worker:b", 50, 8.0))
    svg = chart_svg(figure_of(EvaluationTable(rows, {}), "tokens", SPEC))
    assert "<script" not in svg
    labels = [
        element.text
        for element in ElementTree.fromstring(svg)
        if element.get("class", "").startswith("label")
    ]
    assert labels == [HOSTILE, "b"]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, marks({"a": None, "b": None})),
        ({"worker:b": MARKS["teal"]}, {**marks({"a": None}), "b": MARKS["teal"]}),
    ],
    ids=["by name", "as the pool has it"],
)
def test_a_worker_has_its_own_mark_in_a_chart_and_a_baseline_has_none(chosen, expected):
    rows = (row("worker:a", 5, 4.0), row("worker:b", 50, 8.0), row("baseline:rules", 20, 2.0))
    svg = ElementTree.fromstring(chart_svg(figure_of(EvaluationTable(rows, {}), "tokens", SPEC), chosen))
    shapes = {(shape.get("points"), shape.get("fill")) for shape in svg.iter(f"{SVG}polygon")}
    assert shapes == {(mark.points, mark.hue) for mark in expected.values()}


@pytest.mark.parametrize(("dark", "accent"), [(False, "#4f46e5"), (True, "#8b93ff")])
def test_an_image_of_the_chart_has_its_own_styles_and_its_points_in_words(dark, accent):
    rows = (row(HOSTILE, 80, 900.0), row("worker:small", 40, 100.0))
    image = chart_image(figure_of(EvaluationTable(rows, {}), "tokens", SPEC), dark=dark)
    (element,) = re.findall("<[^>]*>", image)
    assert element == image, "what a planner is called ends no element"
    assert "small 40.0%" in image
    svg = ElementTree.fromstring(b64decode(re.search('base64,([^"]*)', image)[1]))
    assert f"--st-primary-color: {accent}" in svg.find(f"{SVG}style").text
    assert len(svg.findall(f"{SVG}g[@class='point']") + svg.findall(f"{SVG}g[@class='point lead']")) == 2
