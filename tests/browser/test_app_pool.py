"""The pool page in a real browser: workers are added, tested and fixed, and the running app uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from conductor.workflow.model import Step
from tests.browser.app_server import AppServer
from tests.browser.contrast import assert_readable
from tests.browser.test_app_looks import assert_fits
from tests.browser.workbench_page import WorkbenchPage
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving

pytestmark = pytest.mark.browser

HOSTILE = '<img src="/name.png" onerror="alert(1)"> **b** [l](/name) $x$ :red[r]'


@pytest.fixture(scope="module")
def fake() -> Iterator[Served]:
    with serving(FakeOpenAI(models=("m-1", "m-2"), tokens_per_second=200)) as served:
        yield served


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the app's pool file is, `pool.toml`."""
    return tmp_path_factory.mktemp("pool")


@pytest.fixture(scope="module")
def running(chromium: str, folder: Path) -> Iterator[AppServer]:
    with AppServer(folder) as server:
        yield server


@pytest.fixture
def app(running: AppServer, folder: Path) -> AppServer:
    """An app without a pool file."""
    (folder / "pool.toml").unlink(missing_ok=True)
    return running


def table(name: str, base_url: str, **keys: str) -> str:
    lines = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return f'\n[[worker]]\nname = "{name}"\nbase_url = "{base_url}"\nmodel = "m-1"\n{lines}'


def opened(page: Page) -> Page:
    expect(page.get_by_role("heading", name="Pool")).to_be_visible()
    WorkbenchPage(page).settled()
    return page


def row(page: Page, name: str) -> Locator:
    return page.locator('[class*="st-key-pool-row-"]').filter(has=page.get_by_text(name, exact=True))


def typed(page: Page, label: str, text: str) -> None:
    page.get_by_role("dialog").get_by_label(label, exact=True).fill(text)


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()


@pytest.mark.journey
def test_a_model_is_added_to_the_built_in_pool_tested_and_used_without_a_restart(app, visit, fake, folder):
    page = opened(visit(app, "/pool"))
    expect(page.get_by_role("status")).to_contain_text(
        "Without a model of your own: tiny, on this machine, often wrong."
    )
    page.get_by_role("button", name="Add a worker").click()
    typed(page, "Name", "alpha")
    typed(page, "Model", "m-1")
    typed(page, "Base URL", "nowhere")
    save(page)
    expect(page.get_by_role("dialog")).to_contain_text("Write a whole URL, like")
    assert not (folder / "pool.toml").exists()
    typed(page, "Base URL", fake.base_url)
    save(page)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("alpha was added.")).to_be_visible()
    expect(page.get_by_role("status")).to_have_count(0)
    assert 'name = "alpha"' in (folder / "pool.toml").read_text(encoding="utf-8")
    page.get_by_role("button", name="Test alpha").click()
    expect(row(page, "alpha")).to_contain_text("answers")
    expect(row(page, "alpha")).to_contain_text("to the first token")
    expect(page.get_by_role("button", name="Test all")).to_be_visible()
    session = app.plant(Step(instruction="Say it.", worker="alpha"))
    page.get_by_role("link", name="Workbench").click()
    desk = WorkbenchPage(page)
    desk.keyed(f"recent-{session}").get_by_role("button").click()
    desk.run()
    desk.finished()
    expect(desk.answer).to_contain_text("Simulated answer")


def test_an_endpoint_is_connected_once_its_models_become_workers_and_one_plans(app, visit, fake, folder):
    page = opened(visit(app, "/pool"))
    page.get_by_role("button", name="Connect an endpoint").click()
    dialog = page.get_by_role("dialog")
    typed(page, "URL", fake.base_url)
    page.get_by_role("button", name="List models").click()
    expect(dialog.get_by_text(re.compile("^Workers, of [0-9]+ models of 127"))).to_be_visible()
    dialog.locator('[class*="connect-1-strengths"] input').first.fill("puzzles")
    page.get_by_role("button", name="Add and test").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("m-1 writes the workflows.")).to_be_visible()
    expect(row(page, "m-1").last).to_contain_text("to the first token")
    text = (folder / "pool.toml").read_text(encoding="utf-8")
    assert ('strengths = "puzzles"' in text, "[conductor]" in text) == (True, True)
    page.get_by_role("link", name="Ask now").click()
    expect(WorkbenchPage(page).query).to_be_visible()


def test_tests_are_shown_while_they_go_on_and_can_be_stopped(app, visit, fake, folder):
    stalled = table("stalled", fake.base_url).replace("m-1", "fault:stall")
    (folder / "pool.toml").write_text(table("quick", fake.base_url) + stalled, encoding="utf-8")
    page = opened(visit(app, "/pool"))
    page.get_by_role("button", name="Test all").click()
    expect(row(page, "quick")).to_contain_text("to the first token")
    expect(row(page, "stalled")).to_contain_text("waiting for the first token")
    expect(page.get_by_role("button", name="Test stalled")).to_be_disabled()
    page.get_by_role("button", name="Stop testing").click()
    expect(page.get_by_role("button", name="Test all")).to_be_visible()
    expect(row(page, "stalled")).to_contain_text("not tested")
    expect(row(page, "quick")).to_contain_text("to the first token")


def test_a_file_that_goes_wrong_under_the_running_app_is_stated_and_fixed(app, visit, fake, folder):
    file = folder / "pool.toml"
    right = "# ours" + table("alpha", fake.base_url)
    file.write_text(right, encoding="utf-8")
    page = visit(app)
    desk = WorkbenchPage(page)
    expect(desk.query).to_be_visible()
    file.write_text(right + 'speed = 3\napi_key = "sk-marked-0123456789"\n', encoding="utf-8")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("line 6: worker 1, speed: unknown key.")
    expect(page.get_by_role("alert")).to_contain_text("the previous pool stays in use")
    expect(desk.query).to_be_visible()
    page.get_by_role("link", name="Fix it on the pool page").click()
    opened(page)
    expect(page.get_by_text("> 6 | speed = 3")).to_be_visible()
    assert "sk-marked" not in page.content()
    box = page.get_by_label("Pool file", exact=True)
    box.fill(box.input_value().replace("speed = 3\n", "").replace('api_key = "***"\n', ""))
    page.get_by_role("button", name="Save file").click()
    expect(row(page, "alpha")).to_be_visible()
    assert file.read_text(encoding="utf-8") == right
    page.get_by_role("link", name="Workbench").click()
    expect(desk.query).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_an_app_that_starts_with_a_wrong_file_leads_to_where_it_is_fixed(app, visit, folder):
    (folder / "pool.toml").write_text("[[worker]\n", encoding="utf-8")
    page = visit(app)
    expect(page.get_by_role("alert")).to_contain_text("pool.toml is not valid TOML")
    page.get_by_role("link", name="Fix it on the pool page").click()
    page.get_by_label("Pool file", exact=True).fill("[[worker]]\nkind = 'simulated'\nname = 'a'\n")
    page.get_by_role("button", name="Save file").click()
    expect(row(page, "a")).to_be_visible()
    page.get_by_role("link", name="Workbench").click()
    expect(WorkbenchPage(page).query).to_be_visible()


def test_a_worker_is_changed_and_removed_by_keyboard_and_brought_back(app, visit, fake, folder):
    file = folder / "pool.toml"
    text = table("alpha", fake.base_url, context="8192") + table("beta", fake.base_url)
    file.write_text(text, encoding="utf-8")
    page = opened(visit(app, "/pool"))
    page.get_by_role("button", name="Change alpha").press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Change alpha")
    typed(page, "Model", "")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Not saved. Check: Model.")
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Change alpha")).to_be_focused()
    page.get_by_role("button", name="Change alpha").press("Enter")
    page.get_by_role("dialog").get_by_text("Limits, prices and timing · 1 set").click()
    field = page.get_by_role("dialog").get_by_label("Context", exact=True)
    expect(field).to_have_value("8192")
    field.fill("")
    field.press("Tab")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    expect(page.get_by_text("alpha was changed.")).to_be_visible()
    undo = page.get_by_role("button", name="Undo", exact=True)
    expect(undo).to_be_focused()
    assert file.read_text(encoding="utf-8") == text.replace("context = 8192\n", "")
    page.get_by_role("button", name="Remove beta").press("Enter")
    expect(row(page, "beta")).to_have_count(0)
    expect(undo).to_be_focused()
    undo.click()
    expect(row(page, "beta")).to_be_visible()
    assert file.read_text(encoding="utf-8") == text.replace("context = 8192\n", "")


@pytest.fixture(params=["light", "dark"])
def themed(request, browser):
    """A browser that prefers light or dark."""
    return browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=request.param)


def test_every_text_fits_and_can_be_read(app, visit, fake, themed, folder):
    long = "We" * 200
    tables = (
        '[conductor]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\napi_key_env = "NO_SUCH_API_KEY"\n',
        table(long, f"{fake.base_url}?{long}", price_prompt="0.15", price_completion="0.6", concurrency="2"),
        f"\n[[worker]]\nkind = 'simulated'\nname = '''{HOSTILE}'''\nstrengths = '''{HOSTILE}'''\n",
    )
    (folder / "pool.toml").write_text("".join(tables), encoding="utf-8")
    page = opened(visit(app, "/pool", inside=themed))
    page.get_by_role("button", name="Test all").click()
    expect(row(page, HOSTILE)).to_contain_text("answers")
    expect(page.get_by_role("button", name="Test all")).to_be_visible()
    WorkbenchPage(page).settled()
    assert page.locator('img[src*="name"], main a[href*="name"], .katex').count() == 0
    assert_readable(page)
    assert_fits(page)
    page.get_by_role("button", name=f"Change {HOSTILE}").click()
    typed(page, "Name", "")
    save(page)
    expect(page.get_by_role("dialog")).to_contain_text("Not saved. Check: Name.")
    assert_readable(page, "[role=dialog]")
    page.keyboard.press("Escape")
