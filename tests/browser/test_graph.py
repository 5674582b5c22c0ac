"""The graph in a real browser: what a click, a drag, a key and a new size do, and what never happens."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.workbench_page import Graph

pytestmark = pytest.mark.browser


@pytest.fixture
def open_page(visit, graph_demo):
    """Opens the demo with the query given."""
    return lambda query="": visit(graph_demo, f"/?{query}")


def test_a_click_selects_at_once_and_python_reads_it(open_page):
    page = open_page()
    graph = Graph(page)
    graph.click(4)
    assert graph.ask("selection") == {"step": 4, "edge": None}
    expect(page.get_by_text("graph 0 selected 4")).to_be_visible()
    frame = graph.root.bounding_box()
    page.mouse.click(frame["x"] + 20, frame["y"] + frame["height"] / 2)
    expect(page.get_by_text("graph 0 selected None")).to_be_visible()


ANOTHER_SERVER = """root => {
  const graph = root.__fg, { data } = graph.component, reports = [];
  const draw = (known) => graph.update({
    ...graph.component,
    data: { ...data, selected: 1, selection_revision: 7, knows_selection: known },
    setStateValue: (name, value) => reports.push([name, value.step]),
  }, 0);
  draw(false);
  draw(true);
  return [graph.selection.step, reports];
}"""
"""What a graph selects and reports when a server draws it that did not yet know the selection."""


def test_a_click_while_the_server_was_away_stays_and_is_reported_to_the_next_one(open_page):
    graph = Graph(open_page())
    graph.click(4)
    assert graph.root.evaluate(ANOTHER_SERVER) == [4, [["selected", 4]]]


def test_a_drag_from_a_port_to_a_later_card_adds_access(open_page):
    page = open_page()
    graph = Graph(page)
    graph.drag(3, 5)
    expect(page.get_by_text("'op': 'add_access', 'from': 3, 'to': 5")).to_be_visible()
    graph.wait("graph.edges.some(edge => edge.id === '3-5')")


@pytest.mark.parametrize(
    ("read", "reader", "reason"),
    [
        (3, 1, "Step 2 comes before step 4 and cannot read it"),
        (1, 4, "Step 5 reads step 2 already"),
    ],
)
def test_an_illegal_drag_states_why_and_asks_for_nothing(open_page, read, reader, reason):
    page = open_page()
    graph = Graph(page)
    graph.drag(read, reader)
    expect(graph.hint).to_have_text(reason)
    expect(graph.hint).to_be_visible()
    expect(graph.hint).to_be_hidden()
    assert graph.ask("stats.edits") == 0
    expect(page.get_by_text("wishes []")).to_be_visible()


def test_a_drag_survives_updates_that_arrive_in_its_middle(open_page):
    graph = Graph(page := open_page("poll=0.2&state=running"))
    before = graph.ask("stats.updates")
    graph.start_drag(0)
    page.mouse.move(*graph.center(4), steps=3)
    graph.wait("graph.stats.updates > value + 2", before)
    assert graph.ask("link.over") == 4
    page.mouse.up()
    expect(page.get_by_text("'op': 'add_access', 'from': 0, 'to': 4").first).to_be_visible()


@pytest.mark.parametrize("means", ["Delete", "Backspace", "button"])
def test_a_selected_edge_is_removed_by_key_and_by_button(open_page, means):
    page = open_page()
    graph = Graph(page)
    graph.click_edge("4-5")
    assert graph.ask("selection.edge") == "4-5"
    if means == "button":
        graph.root.get_by_role("button", name="Remove access").click()
    else:
        page.keyboard.press(means)
    expect(page.get_by_text("'op': 'remove_access', 'from': 4, 'to': 5")).to_be_visible()
    graph.wait("graph.edges.length === 8")
    assert graph.ask("selection.edge") is None


def test_steps_are_added_and_removed(open_page):
    page = open_page()
    graph = Graph(page)
    graph.click(2)
    graph.root.get_by_role("button", name="Add step").click()
    expect(graph.stage.get_by_role("option")).to_have_count(7)
    expect(page.get_by_text("'op': 'add_step', 'step': 2")).to_be_visible()
    graph.click(3)
    page.keyboard.press("Delete")
    expect(graph.stage.get_by_role("option")).to_have_count(6)


def test_the_keyboard_moves_opens_and_leaves(open_page):
    page = open_page()
    graph = Graph(page)
    graph.stage.focus()
    walked = []
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft", "ArrowDown", "End", "ArrowUp", "Home"):
        page.keyboard.press(key)
        walked.append(graph.ask("selected"))
    assert walked == [0, 2, 1, 3, 5, 4, 0]
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Worker")).to_be_focused()
    graph.stage.focus()
    page.keyboard.press("Escape")
    assert graph.ask("selected") is None
    scale = graph.ask("view.scale")
    page.keyboard.press("+")
    assert graph.ask("view.scale") > scale
    page.keyboard.press("0")
    graph.wait("Math.abs(graph.view.scale - value) < 1e-3", scale)


# Where the button is on a card of each kind, card.test.mjs shows.
@pytest.mark.parametrize("shape", ["review", "fan-out&n=30"])
def test_what_is_inside_a_card_opens_by_a_click_on_its_button(open_page, shape):
    page = open_page(f"remarks=1&locked=1&state=finished&shape={shape}")
    graph = Graph(page)
    assert [bool(opener) for opener in graph.ask("openers()")][:3] == [False, True, False]
    page.mouse.click(*graph.opener(1))
    expect(page.get_by_text("opened 1")).to_be_visible()
    assert graph.ask("selected") is None
    page.mouse.click(*graph.opener(1))
    expect(page.get_by_text("opened None")).to_be_visible()


def test_what_is_inside_is_opened_by_key_and_by_tool_only_where_there_is_something(open_page):
    page = open_page("remarks=1&locked=1")
    graph = Graph(page)
    graph.click(0)
    page.keyboard.press("o")
    expect(graph.root.get_by_role("button", name="Open inside")).to_be_hidden()
    graph.click(1)
    graph.root.get_by_role("button", name="Open inside").click()
    expect(page.get_by_text("opened 1")).to_be_visible()
    graph.stage.focus()
    page.keyboard.press("o")
    expect(page.get_by_text("opened None")).to_be_visible()


def test_a_remark_takes_the_place_of_the_instruction(open_page):
    graph = Graph(open_page("remarks=1&state=finished"))
    assert "cut off at the token limit" in graph.written()[2]
    assert "arithmetic" not in graph.written()[2]
    expect(graph.cards.nth(2)).to_contain_text("cut off at the token limit")


def test_the_cards_are_read_aloud(open_page):
    graph = Graph(open_page("state=running&selected=4"))
    option = graph.stage.get_by_role("option", selected=True)
    name = r"Step 5 of 6: Check every number, worker critic-7b, running, \d+ tok, reads steps 2, 3, 4"
    expect(option).to_have_text(re.compile(name))
    assert graph.stage.get_attribute("aria-activedescendant") == option.get_attribute("id")


def test_a_locked_graph_selects_but_does_not_edit(open_page):
    page = open_page("locked=1")
    graph = Graph(page)
    graph.click(3)
    page.keyboard.press("Delete")
    page.mouse.move(*graph.ask("ports()")[3])
    page.mouse.down()
    page.mouse.move(*graph.center(5), steps=4)
    assert graph.ask("link") is None
    page.mouse.up()
    assert graph.ask("selected") == 3
    assert graph.ask("stats.edits") == 0
    expect(graph.root.get_by_role("button", name="Add step")).to_be_hidden()
    graph.root.locator("summary").click()
    graph.root.get_by_role("button", name="Fit to the pane").click()
    expect(graph.root.get_by_role("button", name="Fit to the pane")).to_be_visible()
    graph.root.locator("summary").press("Escape")
    expect(graph.root.get_by_role("button", name="Fit to the pane")).to_be_hidden()


RAN = """root => {
  const graph = root.__fg, data = structuredClone(graph.component.data);
  data.nodes[4].content.status = "finished";
  graph.update({ ...graph.component, data }, 0);
  return [...graph.flow.values.visible.values()].map(({ ended }) => ended !== null);
}"""
"""The values on the edges when the step that read them has just ended: whether each fades."""


def test_an_edge_carries_the_beginning_of_what_is_read_while_its_reader_runs(visit, graph_demo):
    page = visit(graph_demo, "/?shape=review&state=running&room=640")
    page.set_viewport_size({"width": 760, "height": 900})
    page.emulate_media(reduced_motion="no-preference")
    graph = Graph(page)
    carried = graph.ask("flow.values.placed.boxes")
    # Step 5 reads 2, 3 and 4, which has no output.
    assert [value["id"] for value in carried] == ["1-4", "2-4"]
    assert carried[0]["text"].startswith("Route · $/kWh · Hydro")
    assert carried[1]["text"].startswith("לפי החישוב")
    cards = graph.ask("cards.map(({ x, y, width, height }) => ({ x, y, width, height }))")
    boxes = [*carried, *cards]
    for at, one in enumerate(carried):
        for other in boxes[at + 1 :]:
            apart = [abs(one[way] - other[way]) * 2 - one[size] - other[size] for way, size in SIDES]
            assert max(apart) > 0, (one, other)
    assert graph.root.evaluate(RAN) == [True, True]
    graph.wait("!graph.flow.values.visible.size")

    page.reload()
    graph = Graph(page)
    graph.ask("view.zoom(0.4)")
    assert graph.settle().ask("flow.values.placed.boxes") == [], "no room for letters that can be read"
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    still = Graph(page)
    assert len(still.ask("flow.values.placed.boxes")) == 2
    assert still.root.evaluate(RAN) == [], "gone at once"


SIDES = (("x", "width"), ("y", "height"))


def test_thirty_steps_are_wholly_visible(open_page):
    shapes = ("chain", "fan-out", "mixed", "dense")
    page = open_page("&".join(f"shape={shape}&n=30" for shape in shapes))
    for at in range(len(shapes)):
        graph = Graph(page, at)
        expect(graph.cards).to_have_count(30)
        assert_inside(graph)


def test_a_new_size_fits_again_unless_the_user_chose_a_view(open_page):
    page = open_page("shape=mixed&n=14")
    graph = Graph(page)
    assert_inside(graph)
    wide = graph.ask("view.scale")
    page.set_viewport_size({"width": 700, "height": 900})
    graph.wait("graph.view.scale < value", wide)
    assert_inside(graph)
    graph.root.get_by_role("listbox").first.press("+")
    chosen = graph.settle().ask("view.scale")
    page.set_viewport_size({"width": 1280, "height": 900})
    graph.settle()
    assert graph.ask("view.scale") == pytest.approx(chosen)


def test_the_wheel_scrolls_the_page_and_zooms_only_with_control(open_page):
    page = open_page("shape=chain&n=30")
    graph = Graph(page)
    scale = graph.ask("view.scale")
    page.mouse.move(*graph.center(15))
    page.mouse.wheel(0, 120)
    page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 0")
    assert graph.settle().ask("view.scale") == scale
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    graph.wait("graph.view.scale > value", scale)


def test_two_graphs_on_a_page_do_not_mix(open_page):
    page = open_page("graphs=2&shape=chain&n=3&width=500")
    first, second = Graph(page, 0), Graph(page, 1)
    second.root.scroll_into_view_if_needed()
    second.click(1)
    expect(page.get_by_text("graph 1 selected 1")).to_be_visible()
    expect(page.get_by_text("graph 0 selected None")).to_be_visible()
    assert first.ask("selected") is None


def test_hostile_texts_are_shown_as_text(open_page):
    page = open_page("shape=hostile&state=finished")
    graph = Graph(page)
    options = graph.stage.get_by_role("option")
    expect(options.first).to_contain_text("Step 1 of 6: <img src=x")
    assert graph.root.locator("img, b, i, script").count() == 0
    assert page.title() != "1"
    assert all(len(text) < 400 for text in options.all_text_contents())


def assert_inside(graph: Graph) -> None:
    frame = graph.root.bounding_box()
    assert frame is not None
    for card in graph.ask("positions()"):
        assert card["left"] >= frame["x"] + 8
        assert card["top"] >= frame["y"] + 8
        assert card["right"] <= frame["x"] + frame["width"] - 8
        assert card["bottom"] <= frame["y"] + frame["height"] - 8


def test_the_legend_shows_the_steps_of_one_worker_alone(open_page):
    graph = Graph(open_page("shape=mixed&n=12&state=finished"))
    dimmed = "cards.filter((card) => root.__fg.lookOf(card).dimmed).map(({ step }) => step)"
    one = graph.root.get_by_role("group", name="Legend").get_by_role("button", name="math-7b")
    expect(one).to_have_attribute("aria-pressed", "false")
    assert graph.ask(dimmed) == []
    one.focus()
    one.press("Enter")
    expect(one).to_have_attribute("aria-pressed", "true")
    assert graph.ask(dimmed) == [step for step in range(12) if step % 6 != 2]
    one.click()
    expect(one).to_have_attribute("aria-pressed", "false")
    assert graph.ask(dimmed) == []


def test_a_card_that_is_pointed_at_or_selected_by_key_marks_its_readers(open_page):
    graph = Graph(page := open_page("state=finished"))
    readers = "cards.filter((card) => root.__fg.lookOf(card).reader).map(({ step }) => step)"
    assert graph.ask(readers) == []
    page.mouse.move(*graph.center(2))
    assert graph.ask(readers) == [3, 4]
    page.mouse.move(2, 2)
    graph.stage.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    assert graph.ask("selection.step") == 4
    assert graph.ask(readers) == [5]


def test_a_branch_becomes_one_card_by_mouse_by_key_and_by_tool_and_expands_again(open_page):
    page = open_page("state=finished&room=700")
    graph = Graph(page)
    page.mouse.move(*graph.center(4))
    page.mouse.click(*graph.ask("collapsePoints()")[4])
    expect(graph.hint).to_have_text("One card in place of 3")
    assert graph.wait("graph.cards.length === 4").edges() == ["0-1", "0-2", "1-2", "1-3", "2-3"]
    expect(graph.cards.nth(2)).to_contain_text("Step 5: ")
    expect(graph.cards.nth(2)).to_contain_text("stands for 3 steps: 3, 4, 5")
    page.mouse.click(*graph.opener(2))
    graph.wait("graph.cards.length === 6")
    graph.click(4)
    expect(page.get_by_text("graph 0 selected 4")).to_be_visible()
    page.keyboard.press("c")
    graph.wait("graph.cards.length === 4")
    assert graph.ask("selection") == {"step": 2, "edge": None}
    page.keyboard.press("Delete")
    expect(graph.hint).to_have_text("Expand this card to change its steps (C)")
    graph.root.get_by_role("button", name="Expand", exact=True).click()
    graph.wait("graph.cards.length === 6")


def test_what_is_finished_of_many_steps_is_collapsed_at_once_and_stays_so_on_a_page_loaded_again(open_page):
    page = open_page("shape=chain&n=12&state=finished&room=700")
    graph = Graph(page)
    graph.root.get_by_role("button", name="Collapse finished").click()
    graph.wait("graph.cards.length === 7")
    page.reload()
    graph = Graph(page).wait("graph.cards.length === 7")
    graph.root.get_by_role("button", name="Expand all").click()
    graph.wait("graph.cards.length === 12")
