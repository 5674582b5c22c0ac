"""A thumbnail has a box for each step in its worker's colour, and a line for each edge."""

from __future__ import annotations

from base64 import b64decode
from xml.etree import ElementTree

import pytest

from conductor.drawing.marks import marks
from conductor.drawing.thumbnail import thumbnail
from conductor.workflow.model import Step, Workflow

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("access", [[()], [(), (), (0, 1)], [(), (0,), (0, 1), (2,)], [()] * 30])
def test_each_step_is_a_box_and_each_edge_a_line(access):
    names = ["a", "b"]
    workflow = Workflow.of(
        Step(instruction="<b>&", worker=names[at % 2], access=reads) for at, reads in enumerate(access)
    )
    kind, _, data = thumbnail(workflow).partition(",")
    assert kind == "data:image/svg+xml;base64"
    root = ElementTree.fromstring(b64decode(data))
    hues = marks(dict.fromkeys(workflow.workers()))
    boxes = [box.get("fill") for box in root.iter(f"{_SVG}rect")]
    assert boxes == [hues[step.worker].hue for step in workflow.steps]
    assert len(list(root.iter(f"{_SVG}polyline"))) == sum(map(len, access))


@pytest.mark.parametrize("steps", [31, 100, 1_000])
def test_many_steps_are_a_silhouette_of_few_boxes_that_have_its_breadth(steps):
    workflow = Workflow.of(Step(instruction="Do.", worker="a", access=()) for _ in range(steps))
    root = ElementTree.fromstring(b64decode(thumbnail(workflow).partition(",")[2]))
    boxes = {(int(box.attrib["x"]), int(box.attrib["y"])) for box in root.iter(f"{_SVG}rect")}
    columns = {x for x, _ in boxes}
    assert columns == set(range(len(columns)))
    assert 12 < len(boxes) <= 64
