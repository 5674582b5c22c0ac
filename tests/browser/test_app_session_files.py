"""A session is taken along as a file and comes back as another session, by keyboard, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect
from workbench_page import WorkbenchPage

from conductor.workflow.model import Step

pytestmark = pytest.mark.browser

QUERY = '<img src="/title.png" onerror="alert(1)"> **What** is 2 + 2?'


@pytest.mark.thorough
def test_a_session_goes_out_and_comes_back_beside_its_report(visit, offline_app, tmp_path):
    session = offline_app.plant(Step(instruction="Solve it.", worker="mathematics"), query=QUERY)
    desk = WorkbenchPage(visit(offline_app, f"/?session={session}"))
    desk.button("Run").click()
    expect(desk.button("Rerun")).to_be_visible()
    page = desk.page
    desk.share()
    page.get_by_role("button", name="More to export").focus()
    page.keyboard.press("Enter")
    with page.expect_download() as given:
        page.get_by_text("Whole session", exact=True).click()
    file = tmp_path / "session.jsonl"
    given.value.save_as(file)
    page.get_by_role("button", name="More to export").click()
    with page.expect_download() as given:
        page.get_by_text("Report of the newest run").click()
    report = tmp_path / given.value.suggested_filename
    given.value.save_as(report)
    assert "Solve it." in report.read_text(encoding="utf-8")
    _import(page, offline_app.url, file)
    expect(desk.graph.cards).to_have_count(1)
    expect(desk.title).to_contain_text(QUERY)
    expect(page.get_by_text("1 step ran")).to_be_visible()
    assert desk.session != session


def _import(page, url: str, file: Path) -> None:
    page.goto(f"{url}/sessions")
    page.get_by_role("button", name="Import", exact=True).press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.locator("input[type=file]").set_input_files(file)
    expect(dialog.get_by_text("1 revision · 1 run")).to_be_visible()
    expect(dialog.get_by_text("will be called")).to_be_visible()
    assert dialog.locator("img").count() == 0
    dialog.get_by_role("button", name="Import and open").press("Enter")
    expect(dialog).to_have_count(0)
