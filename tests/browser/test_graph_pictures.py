"""Which picture of a workflow a browser shows: it can be read at any width, and no tool lies over it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.test_graph import assert_inside
from tests.browser.workbench_page import Graph

pytestmark = pytest.mark.browser

NARROW, WIDE = 712, 1600
"""Windows in which the demo's graph has as much room as the workbench's at 1280 and at 2560 pixels."""

NOTE = "Laid out top to bottom; left to right needs a wider window."


@pytest.fixture
def open_graph(visit, graph_demo):
    """Opens the demo with a query in a window of a width."""

    def opened(query: str, width: int = NARROW) -> Graph:
        page = visit(graph_demo, f"/?{query}")
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("document.fonts.ready")
        return Graph(page)

    return opened


def resize(graph: Graph, width: int) -> None:
    graph.page.set_viewport_size({"width": width, "height": 900})
    graph.settle()


SHAPES = (("review", 6), ("chain", 2), ("chain", 14), ("fan-out", 14), ("mixed", 14), ("mixed", 9))
LONG = (("chain", 30), ("fan-out", 30), ("mixed", 30), ("dense", 30))


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize(
    ("shapes", "labels"), [(SHAPES, ["title", "worker"]), (LONG, ["title"])], ids=["to 14", "30"]
)
def test_steps_show_who_does_what_in_letters_that_can_be_read(open_graph, shapes, labels, direction):
    query = "&".join(f"shape={shape}&n={n}" for shape, n in shapes)
    page = open_graph(f"{query}&direction={direction}").page
    for at, (shape, n) in enumerate(shapes):
        graph = Graph(page, at)
        contents = graph.ask("cards.map(card => card.content)")
        assert len(contents) == n
        assert_inside(graph)
        for content, written in zip(contents, graph.written(), strict=True):
            assert [content[part] for part in labels if content[part] not in written] == [], f"{shape} of {n}"
        assert graph.smallest_letters() >= 9.9, f"{shape} of {n}"


def test_what_is_too_long_to_the_right_is_drawn_downwards_and_states_it_until_there_is_room(open_graph):
    graph = open_graph("shape=chain&n=7&direction=right")
    note = graph.root.get_by_text(NOTE)
    expect(note).to_be_visible()
    assert graph.ask("down") is True
    resize(graph, WIDE)
    expect(note).to_be_hidden()
    assert graph.ask("down") is False
    assert_inside(graph)


def test_the_height_follows_the_width_there_is(open_graph):
    graph = open_graph("shape=fan-out&n=10&direction=down")
    narrow = graph.root.bounding_box()["height"]
    resize(graph, WIDE)
    wide = graph.root.bounding_box()["height"]
    assert wide < narrow
    assert_inside(graph)
    cards = graph.ask("positions()")
    stage = graph.stage.bounding_box()
    assert stage["y"] + stage["height"] - max(card["bottom"] for card in cards) < 40, (
        "the picture fills the graph"
    )


def test_a_scroll_bar_that_comes_and_goes_leaves_the_picture_alone(open_graph):
    graph = open_graph("shape=fan-out&n=10&direction=down")
    before = graph.root.bounding_box()["height"]
    for width in (NARROW - 15, NARROW, NARROW - 15):
        resize(graph, width)
        assert graph.root.bounding_box()["height"] == before
        assert_inside(graph)


@pytest.mark.parametrize(
    "query", ["shape=review&selected=5", "shape=chain&n=14&selected=13", "direction=right&selected=0"]
)
def test_no_tool_lies_over_a_card_at_any_zoom(open_graph, query):
    graph = open_graph(query)
    expect(graph.root.get_by_role("button", name="Remove step")).to_be_visible()
    for zooms in (0, 6):
        for _ in range(zooms):
            graph.root.get_by_role("listbox").first.press("+")
        canvas = graph.settle().root.locator(".canvas").bounding_box()
        for tool in graph.root.locator(".tools button:visible").all():
            box = tool.bounding_box()
            assert box["y"] + box["height"] <= canvas["y"], tool.inner_text()
