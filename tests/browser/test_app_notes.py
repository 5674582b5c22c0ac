"""Notes in a real browser: on selected words or all of a text, marked there, and counted on the card."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

HOSTILE = "Is <img src=x onerror=alert(1)> *right*?"

MARKED = "name => [...(CSS.highlights.get(name) ?? [])].map(String)"
"""The words that the page marks so."""

SELECT = """(body, words) => {
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && !walker.currentNode.data.includes(words));
  const at = walker.currentNode.data.indexOf(words);
  getSelection().setBaseAndExtent(walker.currentNode, at, walker.currentNode, at + words.length);
}"""


def test_a_note_is_written_on_selected_words_counted_on_the_card_and_deleted(visit, paced_app):
    steps = [
        Step(instruction="Find it.", worker="writer-8b"),
        Step(instruction="Say it.", worker="critic-7b"),
    ]
    desk = WorkbenchPage(visit(paced_app, f"/?session={paced_app.plant(*steps)}")).settled()
    desk.run()
    expect(desk.graph.cards.nth(1)).to_contain_text("finished")
    expect(desk.keyed("stop")).to_have_count(0)
    page, step = desk.page, desk.select(0)
    output = desk.region("Output")
    words = output.inner_text().split()[1]
    output.evaluate(SELECT, words)
    page.locator(".note-offer:popover-open").click()
    form = page.get_by_role("dialog", name="Write a note")
    expect(form.locator("blockquote")).to_have_text(words)
    save = form.get_by_role("button", name="Save")
    expect(save).to_be_disabled()
    form.get_by_label("Note", exact=True).fill(HOSTILE)
    form.get_by_label("Your name").fill("Ada")
    save.click()
    expect(form).to_be_hidden()
    expect(step.get_by_text(HOSTILE)).to_be_visible()
    expect(step.get_by_text("Ada · ")).to_be_visible()
    expect(desk.graph.cards.nth(0)).to_contain_text("1 note")
    assert words in page.evaluate(MARKED, "conductor-note")

    # By keyboard, on all of the text; the name is known by now.
    output.focus()
    page.evaluate("getSelection().empty()")
    page.keyboard.press("n")
    expect(form.get_by_label("Note", exact=True)).to_be_focused()
    expect(form.get_by_label("Your name")).to_have_value("Ada")
    page.keyboard.type("All of it is rude.")
    page.keyboard.press("Control+Enter")
    expect(desk.graph.cards.nth(0)).to_contain_text("2 notes")
    expect(step.get_by_text("All of it is rude.")).to_be_visible()

    step.get_by_role("button", name="Delete", exact=True).first.click()
    expect(desk.graph.cards.nth(0)).to_contain_text("1 note")
    step.get_by_role("button", name="Restore the deleted note").click()
    expect(desk.graph.cards.nth(0)).to_contain_text("2 notes")

    # A note becomes a wish for the Conductor, which a person still sends.
    step.get_by_role("button", name="Ask for it").last.click()
    expect(desk.query).to_have_value("About step 1: All of it is rude.")
    expect(page.get_by_role("radio", name="Change this plan")).to_be_checked()

    # Watchers read notes and write none.
    watched = WorkbenchPage(visit(paced_app, f"/?session={desk.session}&view=1")).settled()
    seen = watched.select(0)
    expect(seen.get_by_text("All of it is rude.")).to_be_visible()
    expect(seen.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
    watched.region("Output").press("n")
    expect(watched.page.get_by_role("dialog", name="Write a note")).to_be_hidden()
    watched.page.close()

    step.get_by_role("button", name="Delete", exact=True).first.click()
    expect(desk.graph.cards.nth(0)).to_contain_text("1 note")
    step.get_by_role("button", name="Delete", exact=True).first.click()
    expect(step.get_by_text("Ada · ")).to_have_count(0)
    expect(desk.graph.cards.nth(0)).not_to_contain_text("note")
