"""Who gets the focus when what has it goes, in whatever order the page is drawn; the file alone, no app."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pages.components import focus

pytestmark = pytest.mark.browser

PAGE = """
<div id="top_"></div>
<div class="st-key-add"><button>Add</button></div>
<div id="row"><button>Change</button></div>
<div role="dialog"><div class="st-key-save"><button>Save</button></div></div>
"""

# Each picture is drawn in a task of its own, as Streamlit draws the messages of a rerun.
STEPS = {
    "close": "document.querySelector('[role=dialog]').remove()",
    "hand back": "document.querySelector('#row button').focus()",
    "redraw": "row.innerHTML = row.innerHTML",
    "notice": "top_.innerHTML = '<div class=st-key-undo><button>Undo</button></div>'",
    "wait": "",
}


@pytest.fixture
def page(context) -> Page:
    """A page with a dialog whose Save has the focus and hands it to Undo, then to Add."""
    page = context.new_page()
    page.set_content(PAGE)
    script = base64.b64encode(Path(focus.__file__).with_suffix(".js").read_bytes()).decode()
    rules = [{"of": ".st-key-save", "to": [".st-key-undo", ".st-key-add"]}]
    page.evaluate(
        "async ([script, heirs]) => (await import(`data:text/javascript;base64,${script}`))"
        ".default({ data: { heirs } })",
        [script, rules],
    )
    page.get_by_role("button", name="Save").press("Enter")
    yield page
    page.close()


def draw(page: Page, *steps: str) -> None:
    """Carry the steps out, one after another."""
    for step in steps:
        page.evaluate(STEPS[step])
        page.wait_for_timeout(600 if step == "wait" else 30)


@pytest.mark.parametrize(
    ("steps", "heir"),
    [
        (("notice", "close"), "Undo"),
        (("close", "notice"), "Undo"),
        (("close", "hand back", "notice"), "Undo"),
        (("close", "hand back", "redraw", "notice"), "Undo"),
        (("close", "wait"), "Add"),
        (("close", "hand back", "wait"), "Change"),
        (("close", "hand back", "wait", "notice"), "Change"),
        (("close", "hand back", "wait", "notice", "redraw"), "Undo"),
    ],
)
def test_the_best_heir_gets_the_focus_in_whatever_order_the_page_is_drawn(page, steps, heir):
    draw(page, *steps)
    expect(page.get_by_role("button", name=heir)).to_be_focused()


def test_a_dialog_that_is_left_by_escape_gives_the_focus_back_to_its_opener(page):
    draw(page, "notice")
    page.keyboard.press("Escape")
    draw(page, "close", "hand back", "wait")
    expect(page.get_by_role("button", name="Change")).to_be_focused()


@pytest.mark.parametrize("how", ["Tab", "click"])
def test_who_goes_elsewhere_meanwhile_stays_there(page, how):
    draw(page, "close", "hand back")
    add = page.get_by_role("button", name="Add")
    if how == "Tab":
        page.keyboard.press("Shift+Tab")
    else:
        add.click()
    draw(page, "notice")
    expect(add).to_be_focused()
