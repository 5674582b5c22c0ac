"""A run's report in a real browser: it opens from disk, fits any window, and asks for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from nested_run import events
from playwright.sync_api import Browser, expect

from conductor.report import run_report
from conductor.runs.state import fold

pytestmark = pytest.mark.browser

HOSTILE = "<script>document.title = 'run'</script><img src='http://127.0.0.1:9/x.png' onerror='alert(1)'>"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_from_disk_and_shows_all_of_it(browser: Browser, tmp_path: Path, scheme: str) -> None:
    recorded = events()
    file = tmp_path / "report.html"
    file.write_text(run_report(fold(recorded), recorded, title=HOSTILE, written_at=9.0), encoding="utf-8")
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    messages: list[str] = []
    page.on("request", lambda asked: messages.append(asked.url))
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
