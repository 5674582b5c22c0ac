"""Titles read from instructions, and the pyvis network that carries a picture to the page."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.drawing import CardFace, draw, title_of
from conductor.layout import layout
from conductor.workflow import Step, Workflow

PLAN = Workflow.of(
    Step(instruction=text, worker=worker, access=access)
    for text, worker, access in [
        ("Plan.", "planner", ()),
        ("Do it.", "coder", (0,)),
        ("Check.", "critic", (0, 1)),
    ]
)
FACES = [CardFace(*title_of(step.instruction), step.worker) for step in PLAN.steps]


@pytest.mark.parametrize(
    ("instruction", "title", "rest"),
    [
        ("Plan.", "Plan", ""),
        ("Solve it. Then check", "Solve it", "Then check"),
        (
            "Break the question into parts and say what is needed.",
            "Break the question into parts",
            "and say what is needed.",
        ),
        (
            "Estimate cost per kWh for each route, show it.",
            "Estimate cost per kWh",
            "for each route, show it.",
        ),
        ("Check every number; list conflicts.", "Check every number", "list conflicts."),
        ("Plan: find the three routes", "Plan: find the three routes", ""),
        ("First, solve the equation, then verify", "First, solve the equation", "then verify"),
        ("Use numpy 1.26 here", "Use numpy 1.26 here", ""),
        ("  Write\n\n a\tscript  ", "Write a script", ""),
        ("写一个程序。检查它", "写一个程序", "检查它"),
        ("<b>bold</b> & co", "<b>bold</b> & co", ""),
        ("", "", ""),
    ],
)
def test_a_title_is_the_instructions_first_clause(instruction, title, rest):
    assert title_of(instruction) == (title, rest)


@given(st.text(max_size=300))
def test_a_title_is_short_on_one_line_and_begins_the_instruction(instruction):
    title, rest = title_of(instruction)
    text = " ".join(instruction.split())
    assert len(title.split()) <= 6
    assert len(title) <= 30
    assert text.startswith(title)
    assert rest in text
    assert "\n" not in title + rest


def test_a_word_of_any_length_is_cut_and_goes_on_below():
    title, rest = title_of("x" * 100_000)
    assert (title, rest) == ("x" * 30, "x" * 160)


@pytest.mark.parametrize("direction", ["down", "right"])
def test_a_network_carries_cards_faces_and_routes(direction):
    picture = layout(PLAN, direction=direction)
    network = draw(PLAN, FACES, picture)
    assert [node["id"] for node in network.nodes] == [0, 1, 2]
    assert [(node["x"], node["y"]) for node in network.nodes] == [(card.x, card.y) for card in picture.cards]
    assert {node["shape"] for node in network.nodes} == {"custom"}
    assert [node["label"] for node in network.nodes] == ["1. Plan", "2. Do it", "3. Check"]
    assert {edge["id"]: edge["route"] for edge in network.edges} == {
        f"{read}-{reader}": [list(point) for point in route]
        for (read, reader), route in picture.routes.items()
    }
    assert network.options["physics"] == {"enabled": False}
    json.dumps([network.nodes, network.edges], allow_nan=False)


def test_texts_are_short_and_on_one_line_when_they_leave_for_the_page():
    face = CardFace("t\n" * 9000, "b" * 9000, "w" * 9000, "failed", "n" * 9000, ("g\r\n" * 9000,))
    (node,) = draw(one := Workflow.of([Step(instruction="a", worker="w")]), [face], layout(one)).nodes
    assert len(json.dumps(node)) < 1000
    assert "\\n" not in json.dumps(node)


def test_a_picture_of_another_workflow_is_refused():
    with pytest.raises(ValueError, match="3 steps cannot be drawn with 2 faces and 3 cards"):
        draw(PLAN, FACES[:2], layout(PLAN))
