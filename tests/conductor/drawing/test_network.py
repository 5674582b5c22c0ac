"""Titles read from instructions, and the pyvis network that carries a picture to the page."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.drawing.layout import layouts
from conductor.drawing.network import CardContent, draw, title_of
from conductor.workflow.model import Step, Workflow

PLAN = Workflow.of(
    Step(instruction=text, worker=worker, access=access)
    for text, worker, access in [
        ("Plan.", "planner", ()),
        ("Do it.", "coder", (0,)),
        ("Check.", "critic", (0, 1)),
    ]
)
CONTENTS = [CardContent(title_of(step.instruction)[0], "", step.worker) for step in PLAN.steps]


@pytest.mark.parametrize(
    ("instruction", "title", "mark", "rest"),
    [
        ("Plan.", "Plan", ".", ""),
        ("Solve it. Then check", "Solve it", ".", "Then check"),
        (
            "Break the question into parts and say what is needed.",
            "Break the question into parts",
            "",
            "and say what is needed.",
        ),
        (
            "Estimate cost per kWh for each route, show it.",
            "Estimate cost per kWh",
            "",
            "for each route, show it.",
        ),
        ("Gather what is known about rents and trains", "Gather what is known", "", "about rents and trains"),
        ("Find the capital of the first country named", "Find the capital", "", "of the first country named"),
        ("Check every number; list conflicts.", "Check every number", ";", "list conflicts."),
        ("Plan: find the three routes", "Plan: find the three routes", "", ""),
        ("First, solve the equation, then verify", "First, solve the equation", ",", "then verify"),
        ("Read it all – then answer", "Read it all", " –", "then answer"),
        ("Use numpy 1.26 here", "Use numpy 1.26 here", "", ""),
        ("  Write\n\n a\tscript  ", "Write a script", "", ""),
        ("写一个程序。检查它", "写一个程序", "。", "检查它"),
        ("<b>bold</b> & co", "<b>bold</b> & co", "", ""),
        ("", "", "", ""),
    ],
)
def test_a_title_is_the_instructions_first_clause(instruction, title, mark, rest):
    assert title_of(instruction) == (title, mark, rest)


@pytest.mark.slow
@given(st.text(max_size=300))
def test_a_title_is_short_on_one_line_and_begins_the_instruction(instruction):
    title, mark, rest = title_of(instruction)
    text = " ".join(instruction.split())
    assert len(title.split()) <= 6
    assert len(title) <= 30
    assert text.startswith(title + mark)
    assert text[len(title + mark) :].strip().startswith(rest)
    assert "\n" not in title + mark + rest


def test_a_word_of_any_length_is_cut_and_goes_on_below():
    assert title_of("x" * 100_000) == ("x" * 30, "", "x" * 160)


@pytest.mark.parametrize("direction", ["down", "right"])
def test_a_network_carries_contents_cards_and_routes_of_every_picture(direction):
    pictures = layouts(PLAN, direction=direction)
    network = draw(PLAN, CONTENTS, pictures)
    assert [node["id"] for node in network.nodes] == [0, 1, 2]
    assert [(node["x"], node["y"]) for node in network.nodes] == [
        (card.x, card.y) for card in pictures[0].cards
    ]
    assert [node["places"] for node in network.nodes] == [
        [[card.x, card.y, card.width, card.height] for card in places]
        for places in zip(*(picture.cards for picture in pictures), strict=True)
    ]
    assert {node["shape"] for node in network.nodes} == {"custom"}
    assert [node["label"] for node in network.nodes] == ["1. Plan", "2. Do it", "3. Check"]
    assert {edge["id"]: edge["routes"] for edge in network.edges} == {
        f"{read}-{reader}": [[list(point) for point in picture.routes[read, reader]] for picture in pictures]
        for read, reader in pictures[0].routes
    }
    assert network.options["physics"] == {"enabled": False}
    json.dumps([network.nodes, network.edges], allow_nan=False)


def test_cards_and_edges_carry_how_they_differ_from_another_workflow():
    contents = [replace(CONTENTS[0], change="edited"), *CONTENTS[1:]]
    (read, reader), *others = layouts(PLAN)[0].routes
    network = draw(PLAN, contents, layouts(PLAN), changes={(read, reader): "added"})
    assert [node["content"]["change"] for node in network.nodes] == ["edited", "", ""]
    assert {edge["id"]: edge["change"] for edge in network.edges} == {
        f"{read}-{reader}": "added",
        **{f"{read}-{reader}": "" for read, reader in others},
    }


def test_texts_are_short_and_on_one_line_when_they_leave_for_the_page():
    long = "r\n" * 9000
    content = CardContent(
        title=long,
        body="b" * 9000,
        worker="w" * 9000,
        status="failed",
        note="n" * 9000,
        figures=("f" * 9000,),
        badges=("g\r\n" * 9000,),
        excerpt="e" * 9000,
        remark=long,
        inside=long,
    )
    (node,) = draw(one := Workflow.of([Step(instruction="a", worker="w")]), [content], layouts(one)).nodes
    assert len(json.dumps(node)) < 1300
    assert "\\n" not in json.dumps(node)


@pytest.mark.parametrize(("contents", "pictures"), [(2, 1), (3, 0)])
def test_a_picture_of_another_workflow_is_refused(contents, pictures):
    with pytest.raises(ValueError, match=f"3 steps cannot be drawn with {contents} contents"):
        draw(PLAN, CONTENTS[:contents], layouts(PLAN)[:pictures])
