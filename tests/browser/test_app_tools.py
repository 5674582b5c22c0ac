"""A person chooses which tools a step may call, in the inspector and in the grid, and the plan has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from conductor.workflow.model import Step
from tests.browser.app_server import AppServer
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

POOL = """
[[tools]]
name = "sums"
built_in = "calculator"

[[tools]]
name = "web"
url = "http://127.0.0.1:9/mcp"

[[worker]]
name = "reader"
base_url = "http://127.0.0.1:9/v1"
model = "small"
tools = ["sums", "web:search"]

[[worker]]
name = "thinker"
base_url = "http://127.0.0.1:9/v1"
model = "small"
"""


@pytest.fixture
def app(chromium: str, tmp_path: Path) -> Iterator[AppServer]:
    (tmp_path / "pool.toml").write_text(POOL, encoding="utf-8")
    with AppServer(tmp_path, settings={"CONDUCTOR_POOL": str(tmp_path / "pool.toml")}) as server:
        yield server


def tools_of(app: AppServer, session: str) -> list[tuple[str, ...] | None]:
    with app.store() as store:
        head = store.revisions.head(session)
        assert head is not None
        return [step.tools for step in head.workflow.steps]


def cell(desk: WorkbenchPage, step: int) -> Locator:
    return desk.page.get_by_role("checkbox", name=f"Step {step} may call its worker’s tools", exact=True)


def test_the_tools_of_a_step_are_chosen_in_the_inspector_and_in_the_grid(app, visit):
    session = app.plant(
        Step(instruction="Search the web for it.", worker="reader"),
        Step(instruction="Think about it.", worker="thinker", access=(0,)),
    )
    page = visit(app, f"/?session={session}")
    desk = WorkbenchPage(page)
    desk.graph.click(0)
    page.get_by_role("tab", name="Instruction").click()
    page.get_by_role("button", name="Remove web:search").click()
    expect(desk.graph.cards.nth(0)).to_contain_text("fewer tools")
    desk.settled()
    assert tools_of(app, session) == [("sums",), None]

    # Check names what is missing, and the grid gives all of them again, or none.
    desk.drawer("Check")
    expect(
        page.get_by_text("Step 1 has no tool that can search, as its instruction demands.")
    ).to_be_visible()
    box = cell(desk, 1)
    expect(box).to_have_attribute("aria-checked", "mixed")
    expect(box).to_have_attribute("title", "Step 1 may call its worker’s tools: sums")
    box.click()
    expect(box).to_be_checked()
    expect(desk.graph.cards.nth(0)).not_to_contain_text("fewer tools")
    desk.settled()
    assert tools_of(app, session) == [None, None]
    box.click()
    expect(desk.graph.cards.nth(0)).to_contain_text("no tools")
    desk.settled()
    assert tools_of(app, session) == [(), None]
    expect(page.get_by_placeholder("No tools: the step only thinks")).to_be_visible()
    expect(cell(desk, 2)).to_be_disabled()

    # A worker without tools has no such field.
    desk.graph.click(1)
    expect(desk.inspector.get_by_role("heading", name="2. Think about it")).to_be_visible()
    expect(page.get_by_label("Can see")).to_be_visible()
    expect(page.get_by_label("Tools", exact=True)).to_have_count(0)
