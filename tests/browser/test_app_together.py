"""Two people, each in a browser of their own, on one session: what one does the other sees, and neither
overwrites the other.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from conductor.workflow.model import Step
from tests.browser.scripted_endpoint import held
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

FIND = Step(instruction="Find what is asked for here.", worker="writer-8b")
TELL = Step(instruction="Tell it in one sentence.", worker="critic-7b", access=(0,))
SCRIPTED = Step(instruction="Write at length about it.", worker="scripted-13b", access=(0,))


@pytest.fixture
def elsewhere(browser: Browser) -> Iterator[BrowserContext]:
    """A second browser, which shares nothing with the first."""
    other = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    yield other
    other.close()


def test_a_tab_that_no_one_touches_follows_a_run_and_an_edit_of_another_browser(
    visit, paced_app, endpoint, elsewhere
):
    endpoint.say(answer := held("It is written at length."))
    session = paced_app.plant(FIND, SCRIPTED)
    first = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    idle = WorkbenchPage(visit(paced_app, f"/?session={session}", inside=elsewhere))
    idle.query.click()
    idle.query.press_sequentially(" and more")
    first.run()
    expect(idle.streams).to_be_visible()
    expect(idle.graph.cards.nth(1)).to_contain_text("running")
    expect(idle.keyed("stop")).to_be_visible()
    answer.released.set()
    first.finished()
    idle.finished()
    first.select(1)
    first.choose("Worker", "critic-7b")
    expect(idle.graph.cards.nth(1)).to_contain_text("critic-7b")
    expect(idle.page.get_by_text("Step 2: scripted-13b to critic-7b (revision 2)")).to_be_visible()
    # Nothing of this took what was typed, or the focus.
    expect(idle.query).to_be_focused()
    assert idle.query.input_value().endswith(" and more")
    with paced_app.store() as store:
        store.sessions.rename(session, "Another name")
    expect(idle.page.get_by_role("heading", name="Another name")).to_be_visible()
    expect(idle.page.get_by_role("button", name="Another name")).to_be_visible()


def test_of_two_edits_of_one_revision_the_second_is_kept_until_its_author_decides(
    visit, paced_app, elsewhere
):
    session = paced_app.plant(FIND, TELL)
    theirs = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    mine = WorkbenchPage(visit(paced_app, f"/?session={session}", inside=elsewhere))
    mine.select(1)
    mine.field("Instruction").fill("Tell it in two sentences.")
    theirs.select(0)
    theirs.choose("Worker", "steady-13b")
    # A person who types is informed, and not disturbed.
    expect(mine.page.get_by_text("This session has changed")).to_be_visible()
    expect(mine.field("Instruction")).to_have_value("Tell it in two sentences.")
    mine.leave_fields()
    conflict = mine.keyed("conflict")
    expect(conflict.get_by_text("the workflow was changed in the meantime")).to_be_visible()
    expect(conflict.get_by_text("Step 1: writer-8b to steady-13b")).to_be_visible()
    mine.page.reload()
    expect(conflict.get_by_text("Step 2: instruction")).to_be_visible()
    mine.button("Apply on top").click()
    expect(conflict).to_have_count(0)
    expect(theirs.graph.cards.nth(1)).to_contain_text("Tell it in two")
    expect(mine.graph.cards.nth(0)).to_contain_text("steady-13b")
    # Both see the history; a branch is seen in it, and what is restored is the workflow again.
    with paced_app.store() as store:
        planted, edited, merged = store.revisions.of_session(session)
        assert merged.parent == edited.id
        store.revisions.add(
            session, planted.workflow.with_worker(0, "critic-7b"), origin="human", note="Beside",
            parent=planted.id, moves_head=False,
        )  # fmt: skip
    theirs.drawer("History")
    tree = theirs.page.get_by_role("listbox", name="History")
    expect(tree.get_by_role("option")).to_have_count(4)
    expect(tree.get_by_role("option").nth(0)).to_contain_text("Beside")
    expect(tree.get_by_role("option").nth(0)).to_contain_text("branch")
    expect(tree.get_by_role("option").nth(1)).to_contain_text("current")
    tree.focus()
    tree.press("End")
    expect(theirs.button("Restore")).to_be_enabled()
    theirs.button("Restore").click()
    expect(tree.get_by_role("option").nth(0)).to_contain_text("Revision 1 restored")
    expect(mine.graph.cards.nth(0)).to_contain_text("writer-8b")
    theirs.keyed("history").get_by_role("link", name="Compare").click()
    expect(theirs.page.get_by_text("Revision 1").first).to_be_visible()
