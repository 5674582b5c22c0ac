"""A run's report in a real browser: it opens from disk, fits any window, and asks for nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from conductor.report import run_report
from conductor.runs.state import fold
from tests.browser.axe import assert_accessible_if_installed
from tests.browser.workbench_page import WorkbenchPage
from tests.support.runs.nested_run import events
from tests.support.stores.recorded_page import FILE

pytestmark = pytest.mark.browser

HOSTILE = "<script>document.title = 'run'</script><img src='http://127.0.0.1:9/x.png' onerror='alert(1)'>"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_from_disk_and_shows_all_of_it(browser: Browser, tmp_path: Path, scheme: str) -> None:
    recorded = events()
    file = tmp_path / "report.html"
    file.write_text(run_report(fold(recorded), recorded, title=HOSTILE, written_at=9.0), encoding="utf-8")
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    messages: list[str] = []
    page.on("request", lambda request: messages.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("dialog", lambda dialog: dialog.dismiss() or messages.append(dialog.message))
    page.goto(file.as_uri())
    expect(page).to_have_title(HOSTILE)
    grounds = set()
    for width, emulated in ((1280, "screen"), (400, "screen"), (700, "print")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media=emulated, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        pictures = page.locator(".graph > svg:visible")
        expect(pictures).to_have_count(1)
        cards = [card.bounding_box() for card in pictures.locator(".plate").all()]
        assert len(cards) == 3
        assert min(card["width"] for card in cards if card) > 90, "cards are large enough to be read"
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == (1 if scheme == "light" else 2), "paper is white"
    expect(page.locator(".lanes .bar")).to_have_count(3)
    page.emulate_media(media="screen", color_scheme=scheme)
    page.locator(".graph > svg:visible a").nth(2).click()
    assert page.url.endswith("#step-3")
    page.locator("#step-3 summary").first.click()
    expect(page.locator("#step-3 .sent")).to_contain_text("Do it.")
    assert page.pdf().startswith(b"%PDF")
    assert messages == [file.as_uri()]
    page.close()


def test_what_happened_inside_a_step_unfolds(browser: Browser, tmp_path: Path) -> None:
    recorded = events()
    file = tmp_path / "report.html"
    file.write_text(run_report(fold(recorded), recorded, title="Nested", written_at=9.0), encoding="utf-8")
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(file.as_uri())
    page.get_by_text("Inside").first.click()
    expect(page.get_by_text("Solve the core.").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.close()


def at(page: Page, share: float) -> None:
    """Bring the player to this part of the run."""
    page.get_by_label("Moment of the run").evaluate(
        "(range, share) => { range.value = range.max * share; range.dispatchEvent(new Event('input')); }",
        share,
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run_in_one_file_plays_without_a_network(
    browser: Browser, subtests: pytest.Subtests, scheme: str
) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1440, "height": 900})
    context.set_offline(True)
    page = context.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(FILE.as_uri())
    cards = page.locator(".graph > svg:visible a")
    stage, words = page.locator(".stage"), page.locator(".player output")
    expect(stage).to_be_hidden()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(cards.nth(0).locator(".mark")).to_have_class("mark running")
    expect(cards.nth(3).locator(".mark")).to_have_class("mark waiting")
    expect(stage.locator("section:visible")).to_have_count(3)
    page.get_by_role("button", name="Pause").click()
    at(page, 0.9)
    expect(words).to_have_text(re.compile(r"^14\.\d of 15\.8 s$"))
    expect(stage.locator("section:visible")).to_have_count(1)
    expect(page.locator(".graph > svg:visible .edge.flows")).to_have_count(3)
    writing = stage.locator(".writing:visible")
    expect(writing).to_contain_text("# Free buses for a town of 20,000?")
    part = writing.inner_text()
    assert_accessible_if_installed(page, subtests)
    page.get_by_label("Speed").select_option("10x")
    page.get_by_role("button", name="Replay").click()
    expect(words).to_have_text("15.8 of 15.8 s")
    expect(page.get_by_role("button", name="Replay")).to_be_visible()
    assert len(writing.inner_text()) > len(part), "the final answer"
    expect(cards.nth(3).locator(".mark")).to_have_class("mark finished")
    page.locator("body").press("ArrowLeft")
    expect(cards.nth(3).locator(".mark")).to_have_class("mark running")
    page.emulate_media(media="print")
    expect(page.locator(".player")).to_be_hidden()
    assert messages == []
    context.close()


def test_a_run_in_one_file_that_is_dropped_on_the_app_is_its_session_again(visit, built_in_app) -> None:
    desk = WorkbenchPage(visit(built_in_app))
    desk.upload(FILE)
    expect(desk.graph.cards).to_have_count(4)
    expect(desk.title).to_contain_text("Recorded: a report of three readers and an editor")
    expect(desk.answer).to_contain_text("Free buses for a town of 20,000?")
    with built_in_app.store() as store:
        [run] = store.runs.of_session(desk.session)
    assert run.status == "finished"
