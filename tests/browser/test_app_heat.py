"""Figures on the graph as heat: off at first, chosen in its corner, remembered by the tab, read aloud."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import Graph, WorkbenchPage

pytestmark = pytest.mark.browser


def test_the_time_of_each_step_is_drawn_once_it_is_chosen_and_stays_chosen(visit, built_in_app):
    session = built_in_app.plant(
        Step(instruction="Find a number.", worker="calculator"),
        Step(instruction="Add 9 to the previous result", worker="calculator", access=(0,)),
        query="What is 17 * 23 + 9?",
    )
    desk = WorkbenchPage(visit(built_in_app, f"/?session={session}"))
    switch = desk.page.get_by_label("Heat", exact=True)
    expect(switch).to_have_count(1)
    expect(switch).to_be_hidden()
    desk.run()
    expect(desk.answer).to_be_visible()
    expect(switch).to_have_value("")
    graph = Graph(desk.page).wait("graph.cards.every(card => card.content.heat === undefined)")
    switch.focus()
    desk.page.keyboard.type("Time")
    expect(switch).to_have_value("time")
    graph.wait("graph.cards.every(({ content }) => content.heat.share >= 0 && content.heat.share <= 1)")
    assert max(graph.ask("cards.map(card => card.content.heat.share)")) == 1
    expect(desk.page.get_by_role("option", name="Step 1 of 2").first).to_contain_text(
        graph.ask("cards[0].content.note")
    )
    desk.page.reload()
    expect(switch).to_have_value("time")
    Graph(desk.page).wait("graph.cards.every(card => card.content.heat)")
    switch.select_option("No heat")
    Graph(desk.page).wait("graph.cards.every(card => card.content.heat === undefined)")
