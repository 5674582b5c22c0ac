"""A session is taken along as a file, or in a run's, and comes back as another one, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

QUERY = '<img src="/title.png" onerror="alert(1)"> **What** is 2 + 2?'


@pytest.mark.parametrize("name", ["Session", pytest.param("One file", marks=pytest.mark.journey)])
def test_a_session_goes_out_and_comes_back(visit, built_in_app, tmp_path, name):
    session = built_in_app.plant(Step(instruction="Solve it.", worker="calculator"), query=QUERY)
    desk = WorkbenchPage(visit(built_in_app, f"/?session={session}"))
    desk.button("Run").click()
    expect(desk.button("Rerun")).to_be_visible()
    page = desk.page
    desk.share()
    with page.expect_download() as download:
        desk.button(name).press("Enter")
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert "Solve it." in file.read_text(encoding="utf-8")
    _import(page, built_in_app.url, file)
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
