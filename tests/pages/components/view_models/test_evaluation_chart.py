"""The chart of an evaluation on the page has the figure's points, front, level and labels."""

from __future__ import annotations

from conductor.evaluation.report.figure import figure_of
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.statistics import wilson
from conductor.evaluation.table import ROUTER, PlannerRow, Table
from pages.components.view_models.evaluation_chart import LIGHT, accuracy_chart

SPEC = EvaluationSpec(data="", digest="", planners=("conductor",))


def row(planner, right, tokens, **more):
    return PlannerRow(
        planner=planner, cells=100, right=right, interval=wilson(right, 100), difference=None, verdicts={},
        planning_tokens=0, work_tokens=tokens, **more,
    )  # fmt: skip


ROWS = (
    row("conductor", 80, 900.0, cost=0.01),
    row("worker:small", 40, 100.0, cost=0.001),
    row("worker:third", 41, 102.0),
    row(ROUTER, 85, None, computed=True),
)


def test_points_have_intervals_and_the_front_is_in_order():
    figure = figure_of(Table(ROWS, {}), "tokens", SPEC)
    chart = accuracy_chart(figure, title="Title", colours=LIGHT)
    values = {value["Planner"]: value for value in chart["data"]["values"]}
    assert values["Conductor"]["Right"] == "80 of 100, 80.0%"
    assert values["Conductor"]["low"] < 0.8 < values["Conductor"]["high"]
    front = {name: value["front"] for name, value in values.items() if value["front"] is not None}
    assert front == {"small": 0, "third": 1, "Conductor": 2}
    assert "Perfect router, computed: 85.0%" in str(chart["layer"][0])
    labels = [layer["mark"] for layer in chart["layer"] if layer["mark"]["type"] == "text"][1:]
    assert [(mark["dx"], mark["dy"], mark["align"]) for mark in labels] == [
        tuple(point.place) for point in figure.points
    ]
