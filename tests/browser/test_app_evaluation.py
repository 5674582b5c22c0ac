"""The evaluation page in a real browser: from a file of questions to a comparison, and over a restart."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_server import AppServer
from tests.browser.axe import assert_accessible_if_installed
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

POOL = "\n".join(
    f"[[worker]]\nname = '{name}'\nkind = 'simulated'\nlatency = 0.5\nanswer = 'Answer: {answer}'\n"
    for name, answer in (("right-8b", 42), ("wrong-8b", 7))
)

HOSTILE = '<img src="/evaluated.png" onerror="alert(1)"> **b**'


@pytest.fixture
def app(chromium: str, tmp_path: Path) -> Iterator[AppServer]:
    (tmp_path / "pool.toml").write_text(POOL, encoding="utf-8")
    with AppServer(tmp_path, settings={"CONDUCTOR_POOL": str(tmp_path / "pool.toml")}) as server:
        yield server


def started(page: Page, count: int) -> WorkbenchPage:
    """An evaluation of both workers on `count` questions; one worker answers all of them right."""
    desk = WorkbenchPage(page)
    desk.button("New evaluation").click()
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(("Question", "Gold"))
    rows.writerows((f"What is {n} + {42 - n}? {HOSTILE}", 42) for n in range(count))
    content = text.getvalue()
    page.locator("input[type=file]").set_input_files(
        {"name": "sums.csv", "mimeType": "text/csv", "buffer": content.encode()}
    )
    expect(page.get_by_text(f"sums: {count} questions, compared by exact.")).to_be_visible()
    page.get_by_text(re.compile("^Conductor")).click()
    expect(desk.keyed("evaluation-forecast")).to_contain_text(re.compile(rf"Answers\s*{2 * count}\s*Calls"))
    desk.button("Start").click()
    expect(page.get_by_role("heading", name="sums", level=1)).to_be_visible()
    return desk


@pytest.mark.journey
def test_a_file_of_questions_becomes_a_table_whose_disagreements_open_on_compare(app, visit, subtests):
    page = visit(app, "/evaluation")
    expect(page.get_by_text("No evaluation yet.")).to_be_visible()
    desk = started(page, 3)
    row = page.get_by_role("row", name=re.compile("^right-8b"))
    expect(row).to_contain_text("100.0%")
    expect(page.get_by_role("row", name=re.compile("^Perfect router"))).to_contain_text("100.0%")
    expect(desk.keyed("evaluation-progress")).to_have_count(0)
    expect(desk.keyed("accuracy-chart").get_by_role("img", name="Right answers against")).to_be_visible()
    expect(page.get_by_text("right-8b alone is right on 3 questions, wrong-8b alone on 0.")).to_be_visible()
    assert_accessible_if_installed(page, subtests)
    desk.keyed("questions").get_by_role("link", name="Compare").first.click()
    page.wait_for_url(re.compile(r"/compare\?left=run%3A.+&right=run%3A"))
    expect(page.get_by_text("The answers differ.")).to_be_visible()
    page.go_back()
    # A second tab shows the same.
    other = visit(app, f"/evaluation{page.url.partition('/evaluation')[2]}")
    expect(other.get_by_role("row", name=re.compile("^wrong-8b"))).to_contain_text("0.0%")
    desk.keyed("questions").get_by_role("link", name=re.compile("wrong-8b")).first.click()
    page.wait_for_url(re.compile(r"\?session="))
    assert page.locator('img[src*="evaluated"]').count() == 0


def test_an_evaluation_whose_server_ended_goes_on_with_resume(app, visit, complaints):
    page = visit(app, "/evaluation")
    desk = started(page, 12)
    progress = desk.keyed("evaluation-progress")
    expect(progress).to_contain_text(re.compile(r"Running · [1-9]\d* of 24 answers"))
    app.kill()
    app.start()
    page.reload()
    expect(progress).to_contain_text("Stopped: its process ended")
    with app.store() as store:
        (record,) = store.evaluations.listed()
        before = store.evaluations.sizes()[record.id]
    assert 0 < before.scored < 24
    progress.get_by_role("button", name="Resume").click()
    expect(progress).to_contain_text("Running")
    expect(progress).to_have_count(0)
    expect(page.get_by_role("row", name=re.compile("^right-8b"))).to_contain_text("100.0%")
    with app.store() as store:
        after = store.evaluations.sizes()[record.id]
    assert (after.scored, after.sessions) == (24, 24), "no question is asked in a second session"
    complaints.clear()
