"""Two scripts for a person to follow: a newcomer's first minute in ten steps, and a demo of three minutes.

Each step is what is done and what is seen then; no page complains and no request fails on the way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_server import AppServer
from tests.browser.browser_settings import BUILT_IN_POOL
from tests.browser.scripted_endpoint import QUICK_WORKERS, ScriptedEndpoint, at_once, held
from tests.browser.test_app_flow import forgive_one_message_for_two_widgets
from tests.browser.workbench_page import WorkbenchPage
from tests.support.runs.conductor_cases import plan_text

pytestmark = pytest.mark.browser

PLAN = plan_text((0, "Collect what the sample says.", "[]"), (2, "Write the answer.", "[0]"))
ANSWER = """## The mean and its error

| sample | mean | n |
| --- | ---: | ---: |
| first | 4.2 | 16 |
| second | 4.4 | 25 |

The error of a mean is $s / \\sqrt{n}$, so the second one is known better:

```python
error = spread / len(sample) ** 0.5
```

It is **smaller by a fifth**.
"""


@pytest.fixture(scope="module")
def fresh_app(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """The app with the built-in set and an empty store; a simulated worker stands for its model."""
    folder = tmp_path_factory.mktemp("fresh")
    pool = BUILT_IN_POOL.replace("tokens = 12", 'answer = "France is a country."')
    (folder / "built-in.toml").write_text(pool, encoding="utf-8")
    with AppServer(folder, settings={"CONDUCTOR_POOL": str(folder / "built-in.toml")}) as server:
        yield server


@pytest.fixture
def demo_app(chromium: str, endpoint: ScriptedEndpoint, tmp_path: Path) -> Iterator[AppServer]:
    """The app with a model that plans and writes, and workers that answer at once."""
    served = f'base_url = "{endpoint.base_url}"\nmodel = "conductor"\n'
    pool = f'[conductor]\n{served}constrain = "none"\n{QUICK_WORKERS}\n[[worker]]\nname = "author"\n{served}'
    (tmp_path / "pool.toml").write_text(pool, encoding="utf-8")
    with AppServer(tmp_path, settings={"CONDUCTOR_POOL": str(tmp_path / "pool.toml")}) as server:
        yield server


def failures(page: Page) -> list[str]:
    """The requests of this page that fail from now on, or are answered with an error."""
    failed: list[str] = []
    page.on("response", lambda got: got.status < 400 or failed.append(f"{got.status} {got.url}"))
    page.on("requestfailed", lambda request: failed.append(f"{request.failure} {request.url}"))
    return failed


def test_a_newcomers_first_minute_in_ten_steps(visit, fresh_app, complaints):
    desk = WorkbenchPage(visit(fresh_app))
    page, failed = desk.page, failures(desk.page)

    # 1. The start page: what this is, and what can be tried without a key.
    expect(page.get_by_role("heading", name="Conductor Studio")).to_be_visible()
    expect(page.get_by_text("Answers come from: simulated, no model is called")).to_be_visible()
    expect(page.locator('[class*="st-key-gallery-"]').get_by_role("button")).to_have_count(9)

    # 2. A question from the examples: the plan and its reasons, before anything runs.
    desk.button("Compare France, Japan and Brazil").click()
    expect(desk.graph.cards).to_have_count(4)
    expect(desk.region("Reasoning")).to_be_visible()
    expect(page.get_by_text("Nothing has run yet.")).to_be_visible()
    assert fresh_app.calls(desk.session) == []

    # 3. Run: the answer, rendered and labelled.
    desk.run()
    desk.finished()
    expect(desk.answer).to_contain_text("France")
    expect(desk.keyed("read-answer").get_by_text("simulated, no model is called").first).to_be_visible()
    for card in desk.graph.cards.all():
        expect(card).to_contain_text("finished")

    # 4. A card: who did it, and what came out.
    step = desk.select(0)
    expect(step.get_by_role("region", name="Output")).to_contain_text("France")

    # 5. What it saw: the request as it was sent.
    desk.part("Saw")
    expect(step.get_by_role("region", name="Request")).to_contain_text("Compare France, Japan and Brazil")

    # 6. Another instruction: the page shows what would run again.
    desk.part("Instruction")
    instruction = desk.field("Instruction")
    before = instruction.input_value()
    instruction.fill("Name the capital of France.")
    instruction.press("Control+Enter")
    expect(page.get_by_text(re.compile(r"2 of 4 steps will run.*2 reused"))).to_be_visible()
    expect(desk.graph.cards.nth(1)).to_contain_text("reused")

    # 7. Rerun: only what the edit touched: the step itself, and the one that reads it with its instruction.
    desk.run()
    desk.read("Answer")
    expect(page.get_by_text("2 steps ran · 2 reused")).to_be_visible()
    desk.finished()
    assert fresh_app.calls(desk.session) == [[0, 1, 2, 3], [0, 3]]

    # 8. Undo: the workflow is as it was.
    desk.leave_fields()
    page.keyboard.press("Control+z")
    desk.read("Step 1")
    expect(instruction).to_have_value(before)

    # 9. The workflow as a file.
    desk.share()
    with page.expect_download() as download:
        desk.button("Workflow").click()
    exported = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert exported["steps"][0]["instruction"] == before
    page.keyboard.press("Escape")

    # 10. Away, and back from the sidebar: all of it is still there.
    session = desk.session
    desk.button("New").click()
    expect(desk.keyed("welcome")).to_be_visible()
    desk.keyed(f"recent-{session}").get_by_role("button").click()
    expect(desk.answer).to_be_visible()
    expect(desk.graph.cards).to_have_count(4)
    assert (failed, complaints) == ([], [])


def test_a_demo_of_three_minutes(demo_app, visit, endpoint, complaints):
    desk = WorkbenchPage(visit(demo_app))
    page, failed = desk.page, failures(desk.page)

    # A recorded run plays, without a model.
    page.get_by_role("button", name="Open", exact=True).click()
    expect(desk.keyed("welcome")).to_have_count(0)
    desk.drawer("Timeline")
    page.get_by_role("slider", name="Moment of the run").press("Home")
    expect(page.get_by_text("Replay, 0.0 of")).to_be_visible()
    expect(desk.graph.cards.nth(3)).to_contain_text("not run yet")
    desk.keyed("replay-end").get_by_role("button").click()
    expect(desk.answer.get_by_role("table")).to_be_visible()

    # A question to a model: its plan, and the answer as it is written.
    writing = held(ANSWER)
    endpoint.say(at_once(f"Two steps will do.\n\n{PLAN}"), writing)
    desk.button("New").click()
    expect(desk.keyed("welcome")).to_be_visible()
    expect(desk.keyed("settings")).to_have_count(1)
    desk.ask("How well is the mean known?", run=True)
    live = desk.keyed("read-live")
    expect(live.get_by_role("heading", name="The mean and its error")).to_be_visible()
    expect(live.get_by_role("cell", name="4.2")).to_be_visible()

    # Stopped in its middle, what was finished is kept; a rerun asks the model alone.
    desk.button("Stop").click()
    expect(page.get_by_text("1 finished output kept").first).to_be_visible()
    endpoint.say(at_once(ANSWER))
    desk.run()
    desk.finished()
    expect(desk.answer.get_by_role("cell", name="second")).to_be_visible()
    expect(desk.answer.locator(".katex").first).to_be_visible()
    expect(desk.answer.get_by_text("error = spread")).to_be_visible()
    session = desk.session
    assert demo_app.calls(session) == [[0, 1], [1]]

    # Another worker for the last step, tried beside it and kept.
    desk.select(1)
    desk.drawer("Trials")
    workers = desk.keyed("new-experiment").get_by_label("Workers")
    workers.click()
    page.get_by_role("option", name="critic-7b").click()
    page.keyboard.press("Escape")
    desk.button("Try").click()
    trial = desk.keyed("drawer-body")
    expect(trial.get_by_role("region", name="Answer")).to_have_count(2)
    trial.get_by_role("button", name="Keep").click()
    expect(desk.graph.cards.nth(1)).to_contain_text("worker critic-7b")
    desk.keyed("panel").get_by_role("radio", name="Trials").click()
    expect(trial).to_have_count(0)
    desk.run()
    desk.finished()

    # Both runs side by side.
    desk.read("Answer")
    desk.keyed("read-answer").get_by_role("link", name="Compare").click()
    page.wait_for_url(re.compile(r"/compare\?left=.+&right=.+"))
    expect(page.get_by_text("1 step changed")).to_be_visible()
    page.get_by_role("link", name="Open session").first.click()

    # The run in one file, and the link in a second tab.
    desk.finished().share()
    with page.expect_download() as download:
        desk.button("One file").click()
    assert "How well is the mean known?" in download.value.path().read_text(encoding="utf-8")
    link = desk.region("Link").inner_text().strip()
    other = WorkbenchPage(visit(demo_app, link.removeprefix(demo_app.url)))
    expect(other.answer).to_be_visible()
    expect(other.graph.cards.nth(1)).to_contain_text("worker critic-7b")
    assert other.session == session
    forgive_one_message_for_two_widgets(complaints)
    assert (failed, complaints) == ([], [])
