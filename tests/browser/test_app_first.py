"""The first minute without a key: what is found comes into the pool, a key is pasted, a workflow is opened
and run, and the recorded run of the start page plays, is edited in its graph, or is opened whole.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from conductor.workers.discovery.local_servers import PORTS
from conductor.workers.discovery.offers import BASE_URL
from tests.browser.app_server import AppServer
from tests.browser.workbench_page import WorkbenchPage
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving

pytestmark = pytest.mark.browser

KEY = "sk-proj-marked-0123456789"


@pytest.fixture(scope="module")
def ollama() -> Iterator[Served]:
    models = ("gemma3:4b", "qwen3:8b")
    with serving(FakeOpenAI(models=models, owned_by="library", lists_faults=False)) as served:
        yield served


@pytest.fixture(scope="module")
def openai() -> Iterator[Served]:
    with serving(FakeOpenAI(models=("gpt-5", "gpt-5-mini"), key=KEY, lists_faults=False)) as served:
        yield served


@pytest.fixture(scope="module")
def app(
    chromium: str, tmp_path_factory: pytest.TempPathFactory, ollama: Served, openai: Served
) -> Iterator[AppServer]:
    """An app without a pool file, on a machine with a server of models."""
    port = ollama.base_url.removeprefix("http://127.0.0.1:").removesuffix("/v1")
    folder = tmp_path_factory.mktemp("first")
    with AppServer(folder, settings={PORTS: port, BASE_URL: openai.base_url}) as server:
        yield server


def test_from_nothing_to_an_answer_of_several_models(app, visit, ollama, openai):
    page = visit(app)
    page.get_by_text(re.compile("found: Ollama")).click()
    expect(page.get_by_text("on this machine, served by Ollama")).to_be_visible()
    assert [entry.path for entry in ollama.log.entries] == ["/v1/models"]
    use_them = page.get_by_role("button", name="Use them")
    pressed = page.get_by_role("button", name="Use the orchard").bounding_box()
    page.get_by_role("button", name="Use the orchard").click()
    expect(page.get_by_text("The orchard and its Conductor are the pool now")).to_be_visible()
    expect(page.get_by_text("How many letters are in the capital of Peru?")).to_be_visible()
    place = use_them.bounding_box()
    assert place["y"] + place["height"] < pressed["y"] + pressed["height"] / 2, "it is not under the pointer"
    (app.folder / "pool.toml").unlink()
    page.reload()
    # Folded, as on a first visit.
    page.get_by_text(re.compile("found: Ollama")).click()
    expect(page.get_by_role("button", name="Use the orchard")).to_be_visible()
    use_them.click()
    expect(page.get_by_text("Added gemma3, qwen3 (Ollama); qwen3:8b writes the workflows.")).to_be_visible()

    assert not openai.log.entries
    page.get_by_role("button", name="Paste a key").click()
    page.get_by_label("Key", exact=True).fill(KEY)
    page.get_by_role("button", name="Use the key").click()
    expect(page.get_by_text("Added gpt-5, gpt-5-mini (OpenAI).")).to_be_visible()
    expect(page.get_by_label("Key", exact=True)).to_have_count(0)
    pool = tomllib.loads((app.folder / "pool.toml").read_text(encoding="utf-8"))
    assert [worker["name"] for worker in pool["worker"]] == ["gemma3", "qwen3", "gpt-5", "gpt-5-mini"]
    written = [file for file in app.folder.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert [file.name for file in written] == ["secrets.toml"]

    page.get_by_role("button", name="Research report").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("4 steps, by gemma3, qwen3, gpt-5, gpt-5-mini.")
    dialog.get_by_role("textbox").fill("Should the buses be free?")
    dialog.get_by_role("button", name="Open and run").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    session = WorkbenchPage(page)
    session.settled()
    with app.store() as store:
        [summary] = store.sessions.listed()
        assert (summary.query, summary.steps, summary.state) == ("Should the buses be free?", 4, "finished")
    assert page.url.endswith(f"?session={summary.id}")


def test_the_recording_stands_still_where_less_motion_is_wanted_and_is_edited_in_its_graph(
    app, visit, browser
):
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    desk = WorkbenchPage(visit(app, inside=context))
    stage = desk.keyed("stage")
    expect(stage.get_by_role("table")).to_be_visible()
    expect(stage.get_by_role("button", name="Play", exact=True)).to_be_visible()
    for card in desk.graph.cards.all():
        expect(card).to_contain_text("finished")
    desk.graph.click(1)
    expect(desk.region("2. List the positions that people")).to_be_visible()
    desk.graph.click_edge("0-3")
    desk.page.keyboard.press("Delete")
    expect(desk.page.get_by_text(re.compile("2 of 5 steps will run, 3 pinned"))).to_be_visible()
    context.close()


def test_the_recording_is_opened_whole_and_plays_in_the_workbench(app, visit):
    page = visit(app)
    page.get_by_role("button", name="Open", exact=True).click()
    desk = WorkbenchPage(page)
    expect(desk.keyed("welcome")).to_have_count(0)
    desk.drawer("Timeline")
    page.get_by_role("slider", name="Moment of the run").press("Home")
    expect(page.get_by_text("Replay, 0.0 of")).to_be_visible()
    expect(page.get_by_text("simulated, no model is called").first).to_be_visible()
    desk.keyed("replay-end").get_by_role("button").click()
    expect(page.get_by_text("Free buses for a town of 20,000?").first).to_be_visible()
