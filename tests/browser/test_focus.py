"""Who gets the focus when what has it goes, in whatever order the page is drawn; the file alone, no app."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pages.components.keyboard import focus
from pages.components.streamlit_patches.modules import joined

pytestmark = pytest.mark.browser

PAGE = """
<div data-testid="stApp"></div>
<div id="top_"></div>
<div class="st-key-add"><button>Add</button></div>
<div id="row"><button>Change</button></div>
<div class="st-key-list">
  <div class="st-key-up-1"><button>Up 1</button></div>
  <div class="st-key-down-1"><button>Down 1</button></div>
  <div class="st-key-up-2"><button>Up 2</button></div>
  <div class="st-key-down-2"><button>Down 2</button></div>
</div>
<div role="dialog"><div class="st-key-save"><button>Save</button></div></div>
"""

STATE = "state => { document.querySelector('[data-testid=stApp]').dataset.testScriptState = state }"

# Each picture is drawn in a task of its own, as Streamlit draws the messages of a rerun. The script runs
# until "wait"; "stall" and "wait" take longer than an idle page is waited for.
STEPS = {
    "close": "document.querySelector('[role=dialog]').remove()",
    "hand back": "document.querySelector('#row button').focus()",
    "redraw": "row.innerHTML = row.innerHTML",
    "notice": "top_.innerHTML = '<div class=st-key-undo><button>Undo</button></div>'",
    "stall": "",
    "wait": "",
}


@pytest.fixture
def page(context) -> Page:
    """A page with a dialog whose Save has the focus and hands it to Undo, then to Add."""
    page = context.new_page()
    page.set_content(PAGE)
    module = joined(Path(focus.__file__).with_name("focus.js"))
    script = base64.b64encode(module.encode()).decode()
    rules = [
        {"of": "save", "to": ["undo", "add"]},
        {"of": "list", "to": ["add"]},
        {"of": "up-*", "to": ["down-*"]},
    ]
    page.evaluate(
        "async ([script, fallbacks]) => (await import(`data:text/javascript;base64,${script}`))"
        ".default({ data: { fallbacks } })",
        [script, rules],
    )
    page.get_by_role("button", name="Save").press("Enter")
    yield page
    page.close()


def draw(page: Page, *steps: str) -> None:
    """Carry the steps out, one after another, in one run of the script; "wait" ends it first."""
    page.evaluate(STATE, "running")
    for step in steps:
        if step == "wait":
            page.evaluate(STATE, "notRunning")
        page.evaluate(STEPS[step])
        page.wait_for_timeout(600 if step in ("stall", "wait") else 30)
    page.evaluate(STATE, "notRunning")


@pytest.mark.parametrize(
    ("steps", "fallback"),
    [
        (("notice", "close"), "Undo"),
        (("close", "notice"), "Undo"),
        (("close", "hand back", "notice"), "Undo"),
        (("close", "hand back", "redraw", "notice"), "Undo"),
        (("close", "wait"), "Add"),
        (("close", "hand back", "wait"), "Change"),
        (("close", "hand back", "wait", "notice"), "Change"),
        (("close", "hand back", "wait", "notice", "redraw"), "Undo"),
        (("close", "stall", "notice"), "Undo"),
        (("close", "stall", "hand back", "stall", "redraw", "stall", "notice"), "Undo"),
        (("close", "stall", "hand back", "stall"), "Change"),
    ],
)
def test_the_best_fallback_gets_the_focus_in_whatever_order_the_page_is_drawn(page, steps, fallback):
    draw(page, *steps)
    expect(page.get_by_role("button", name=fallback)).to_be_focused()


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


def test_what_is_written_into_a_field_that_got_the_focus_is_sent_at_once(page):
    page.evaluate("document.querySelector('.st-key-add').innerHTML = '<textarea></textarea>'")
    draw(page, "close")
    page.wait_for_function("document.activeElement.tagName === 'TEXTAREA'")  # quicker than `expect`
    page.keyboard.insert_text("Why?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox")).to_have_value("Why?\n")


@pytest.mark.parametrize(
    ("pressed", "fallback"), [("Up 2", "Down 2"), ("Up 1", "Down 1"), ("Down 2", "Up 1")]
)
def test_the_rule_of_the_inner_box_counts_and_a_star_is_the_rest_of_the_key(page, pressed, fallback):
    button = page.get_by_role("button", name=pressed)
    button.press("Enter")
    button.evaluate("button => button.remove()")
    expect(page.get_by_role("button", name=fallback)).to_be_focused()
