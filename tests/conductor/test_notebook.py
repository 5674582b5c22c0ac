"""What a notebook shows of workflows, runs and differences: short texts and pictures, in which nothing of a
model acts as HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conductor import FunctionWorker, Pool, RunState, Step, Workflow, plan, plan_diff, run
from conductor.workflow.drawable import Drawable
from tests.support.processes.notebook import cells_of

HOSTILE = '<script>alert("x")</script>]]> --> s1; `a` \x1b[31m\u202e'
WORKFLOW = Workflow.of(
    [Step(instruction=HOSTILE, worker="echo"), Step(instruction="repeat", worker="echo", access=(0,))]
)
ADDED = Step(instruction="add", worker="<b>", access=(0,))
OTHER = Workflow.of([WORKFLOW.steps[1].model_copy(update={"access": ()}), ADDED])
POOL = Pool(workers=(FunctionWorker(lambda request: request.instruction, name="echo"),))
LONG = Workflow.of(
    Step(instruction="Look at this part. " * 9, worker="w" * 90, access=tuple(range(max(0, at - 2), at)))
    for at in range(100)
)

SVG = "{http://www.w3.org/2000/svg}"


def texts(value: Drawable) -> str:
    return " ".join(element.text or "" for element in ElementTree.fromstring(value.svg()).iter(f"{SVG}text"))


def ran() -> RunState:
    return run(WORKFLOW, "Who?", pool=POOL)


def test_a_workflow_is_one_line_and_a_graph_of_mermaid() -> None:
    assert str(WORKFLOW) == repr(WORKFLOW) == "<Workflow of 2: 1 echo, 2 echo (sees 1)>"
    lines = WORKFLOW.mermaid().splitlines()
    assert (lines[0], lines[-1]) == ("flowchart TD", "  s1 --> s2")
    assert re.fullmatch(r'  s1\["[\w .,:…#;-]*"\]', lines[1])
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("value", "boxes", "edges"),
    [
        (lambda: WORKFLOW, 2, 1),
        (ran, 2, 1),
        (lambda: plan_diff(WORKFLOW, OTHER), 3, 2),
        (lambda: LONG, 100, 197),
        (lambda: plan_diff(LONG, OTHER), 102, 198),
    ],
)
def test_a_picture_has_a_box_for_each_step_and_no_markup_of_its_texts(
    value: Callable[[], Drawable], boxes: int, edges: int
) -> None:
    subject = value()
    picture = ElementTree.fromstring(subject.svg())
    assert {element.tag.removeprefix(SVG) for element in picture.iter()} <= {
        "svg", "style", "g", "path", "rect", "title", "text", "polygon"
    }  # fmt: skip
    assert (len(picture.findall(f"{SVG}svg")), len(picture.findall(f"{SVG}g"))) == (boxes, edges)
    html = subject._repr_html_()
    assert "<script" not in html
    assert not {"\x1b", "\u202e"} & {*html}


def test_a_picture_of_a_difference_names_what_comes_goes_and_changes() -> None:
    edited = WORKFLOW.with_worker(1, "other").with_pin(0, None).with_instruction(1, "Repeat it all.")
    assert "± 2 changes" in texts(plan_diff(WORKFLOW, edited))
    difference = plan_diff(WORKFLOW, OTHER)
    assert re.findall(r"[+−±] \w+", texts(difference)) == ["− removed", "± access", "+ added"]
    assert difference.svg().count("stroke-dasharray") == 2, "the step and the edge that are removed"
    assert repr(difference) == "<PlanDiff of 2 and 2 steps: 1 added, 1 removed, 1 changed>"


def test_a_run_is_its_answer_the_states_of_its_steps_and_what_it_took() -> None:
    first = ran()
    assert texts(first).count("✓") == 2
    again = run(WORKFLOW.with_instruction(1, "again <i>"), "Who?", pool=POOL, after=first)
    assert (texts(again).count("↺ reused"), texts(again).count("✓")) == (1, 1)
    assert re.search(r"again &lt;i&gt;.*finished · Time: .* Reused: 1 step", again._repr_html_(), re.DOTALL)
    assert "2 of 2 steps finished, 1 reused, " in repr(again)


def test_a_run_that_failed_shows_why() -> None:
    def broken(_: object) -> str:
        raise OSError("no room")

    state = run(WORKFLOW, "Who?", pool=Pool(workers=(FunctionWorker(broken, name="echo"),)))
    assert re.findall(r"[✗⊘] \w+", texts(state)) == ["✗ failed", "⊘ blocked"]
    assert "echo broke with OSError" in state._repr_html_()


def test_what_has_no_workflow_is_its_words_without_a_picture() -> None:
    assert RunState().svg() == ""
    assert "<svg" not in RunState(planning_failure="The server is busy.")._repr_html_()


def test_a_plan_is_drawn_as_its_workflow() -> None:
    planned: Any = plan("Who?", pool=POOL)
    assert planned._repr_html_() == planned.workflow._repr_html_()
    assert str(planned) == f"<ValidPlan: {planned.workflow!r}>"


def test_no_picture_needs_more_than_some_hundred_pixels_to_be_read() -> None:
    for workflow in (WORKFLOW, LONG):
        picture = ElementTree.fromstring(workflow.svg())
        width = float(picture.attrib["width"])
        letters = min(float(text.attrib["font-size"]) for text in picture.iter(f"{SVG}text"))
        assert letters * min(1, 800 / width) >= 9


@pytest.mark.slow
def test_calls_that_a_call_makes_are_not_drawn_and_neither_is_one_whose_events_are_read(
    tmp_path: Path,
) -> None:
    cells = [
        """
from conductor import *
inner = Workflow.of([Step(instruction="one", worker="one")])
one = Pool(workers=(FunctionWorker(lambda request: "1", name="one"),))
async def judge(response, item): return (await arun(inner, "?", pool=one)).answer == "1"
both = FunctionWorker(lambda request: run(inner, "?", pool=one).answer, name="both")
outer, pool = inner.with_worker(0, "both"), Pool(workers=(both,))
""",
        "run(outer, '?', pool=pool)",
        "await arun(outer, '?', pool=pool)",
        "run(outer, '?', pool=pool, on_event=print)",
        "batch(['?'] * 3, workflow=outer, pool=pool)",
        "evaluate([('?', '1')] * 3, {'outer': outer}, pool=pool, scorer=judge)",
    ]
    notebook = tmp_path / "calls.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}))
    displays = [cell.displays for cell in cells_of(notebook, tmp_path)]
    assert [len(each) > 2 for each in displays] == [False, True, True, False, False, False]
    assert [sum(display.startswith("finished") for display in each) for each in displays] == [
        0,
        1,
        1,
        0,
        0,
        0,
    ]
