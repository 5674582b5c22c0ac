"""A change is asked for in the box, comes back as a ghost, and is taken in part or left, by keyboard too."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import assert_accessible_if_installed
from tests.browser.contrast import assert_readable
from tests.browser.scripted_endpoint import at_once, held
from tests.browser.test_app_looks import assert_fits
from tests.browser.workbench_page import WorkbenchPage
from tests.support.runs.conductor_cases import BROKEN, plan_text
from tests.support.runs.waiting import until

pytestmark = pytest.mark.browser

FIRST = plan_text((0, "Find what is asked.", "[]"), (1, "Write the answer.", "[0]"))
CHANGED = plan_text(
    (0, "Find what is asked.", "[]"), (1, "Find it <b>again</b>.", "[]"), (0, "Write the answer.", '["all"]')
)
WISH = "use two readers"


def meaning(desk: WorkbenchPage, name: str) -> Locator:
    return desk.keyed("question-meaning").get_by_role("radio", name=name)


def ask_for_change(desk: WorkbenchPage, wish: str) -> None:
    """Type it; it is taken for a change."""
    desk.query.fill(wish)
    expect(meaning(desk, "Change this plan")).to_be_checked()
    desk.settled()
    desk.query.press("Enter")


def test_what_is_typed_proposes_its_meaning_and_a_persons_choice_counts(visit, served_app, endpoint):
    endpoint.say(at_once(FIRST))
    desk = WorkbenchPage(visit(served_app))
    expect(desk.keyed("question-meaning")).to_have_count(0)
    desk.plan("Which one?")
    ask, change = meaning(desk, "Ask"), meaning(desk, "Change this plan")
    expect(ask).to_be_checked()
    desk.query.click()
    desk.query.press_sequentially("use two readers")
    expect(change).to_be_checked()
    expect(desk.query).to_have_value("use two readers")
    desk.query.fill("How many people live in Peru?")
    expect(ask).to_be_checked()
    desk.query.press("Control+/")
    expect(change).to_be_checked()
    expect(desk.query).to_be_focused()
    desk.query.fill("Who was the first?")
    desk.settled()
    expect(change).to_be_checked()
    ask.click()
    desk.query.fill("no verifier")
    desk.settled()
    expect(ask).to_be_checked()
    desk.page.reload()
    desk.settled()
    desk.query.press_sequentially(" and two readers")
    desk.settled()
    expect(ask).to_be_checked()
    expect(desk.query).to_have_value("no verifier and two readers")

    # What waits in the box is meant as it was, also without a choice.
    change.press("Space")
    expect(change).to_be_checked()
    desk.page.reload()
    expect(change).to_be_checked()
    desk.page.evaluate("sessionStorage.removeItem(`conductor-question-chosen-${location.search.slice(9)}`)")
    desk.page.reload()
    expect(desk.query).to_have_value("no verifier and two readers")
    expect(change).to_be_checked()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_ghost_can_be_read_in_either_theme(visit, served_app, endpoint, browser, theme):
    endpoint.say(at_once(FIRST), at_once(CHANGED))
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
    desk = WorkbenchPage(visit(served_app, inside=context))
    desk.plan("Which one?")
    ask_for_change(desk, WISH)
    expect(desk.graph.cards).to_have_count(3)
    assert_fits(desk.page)
    for width in (1440, 420):
        desk.page.set_viewport_size({"width": width, "height": 900})
        desk.page.get_by_role("checkbox").last.focus()
        assert_readable(desk.page)


@pytest.mark.journey
def test_a_change_is_a_ghost_in_the_graph_and_a_part_of_it_is_taken(visit, served_app, endpoint, subtests):
    endpoint.say(at_once(FIRST), at_once(CHANGED), at_once(CHANGED), at_once(BROKEN))
    desk = WorkbenchPage(visit(served_app))
    before = desk.plan("Which one?").settle().ask("cards.map(({ x, y }) => [x, y])")
    session = desk.session
    ask_for_change(desk, WISH)
    expect(desk.graph.cards).to_have_count(3)
    assert WISH in str(endpoint.bodies[1]["messages"])
    assert desk.session == session
    expect(desk.graph.cards.nth(1)).to_contain_text("Step to come: added, Find it <b>again</b>")
    expect(desk.graph.cards.nth(2)).to_contain_text("Step 2: changed")
    assert desk.graph.ask("cards.map(({ x, y }) => [x, y])")[0] == before[0], "what stays does not move"
    parts = desk.page.get_by_role("group", name="Parts of the change").get_by_role("checkbox")
    expect(parts).to_have_count(2)
    take, these = desk.button("Take"), desk.button("Take these")
    expect(take).to_be_enabled()
    expect(these).to_be_disabled()
    assert_accessible_if_installed(desk.page, subtests)

    # By keyboard: what is ticked off is given back by Escape; what needs a part goes with it.
    parts.nth(1).press(" ")
    expect(take).to_be_disabled()
    expect(desk.page.get_by_label("Part of the change")).to_contain_text("Goes together with “Find it")
    parts.nth(1).press("Escape")
    expect(take).to_be_enabled()
    parts.nth(1).press(" ")
    desk.page.reload()
    expect(desk.graph.cards).to_have_count(3)
    expect(take).to_be_enabled()
    parts.nth(1).press(" ")
    these.press("Enter")
    expect(desk.graph.cards.filter(has_text="to come")).to_have_count(0)
    expect(parts).to_have_count(0)
    with served_app.store() as store:
        (change,) = store.changes.of_session(session)
        assert (change.wish, change.decision) == (WISH, "part")
        head = store.revisions.head(session)
        assert [step.access for step in head.workflow.steps] == [(), (), (0,)]

    # Left, the graph is as it was; what gave no change is worded differently.
    ask_for_change(desk, "make all of it a chain of readers")
    expect(desk.button("Leave")).to_be_visible()
    desk.button("Leave").click()
    expect(desk.graph.cards.filter(has_text="changed")).to_have_count(0)
    ask_for_change(desk, "drop the verifier")
    expect(desk.page.get_by_role("alert")).to_contain_text("No change came of it.")
    desk.button("Word it differently").click()
    expect(desk.page.get_by_role("alert")).to_have_count(0)
    expect(desk.query).to_have_value("drop the verifier")
    until(lambda: meaning(desk, "Change this plan").is_checked(), what="it is meant as a change still")


def test_a_change_grows_in_the_graph_while_it_is_written_and_leaves_no_trace_once_it_is_taken(
    visit, served_app, endpoint
):
    # Its first half is all of the lists.
    change = held(f"{CHANGED}\n\n{'It is done. ' * 40}")
    endpoint.say(at_once(FIRST), change)
    desk = WorkbenchPage(visit(served_app))
    graph = desk.plan("Which one grows?")
    ask_for_change(desk, WISH)
    graph.wait("graph.cards.map(({ content }) => content.change).join() === ',added,edited'")
    expect(desk.button("Take")).to_have_count(0)
    change.released.set()
    desk.button("Take").click()
    graph.wait("graph.cards.length === 3 && !graph.cards.some(({ content }) => content.change)")
    expect(desk.keyed("plan-panel")).to_be_visible()
    expect(desk.keyed("plan-panel")).not_to_contain_text("alternative")
