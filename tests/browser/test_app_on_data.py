"""An edited workflow is evaluated against its plan in two clicks; a trial ends in one that is taken."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from conductor.evaluation.items import Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.workflow.model import Step
from tests.browser.app_server import AppServer
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

POOL = """
[[worker]]
name = "alpha"
kind = "simulated"
answer = "Answer: 7"

[[worker]]
name = "beta"
kind = "simulated"
answer = "Answer: 8"
"""
DRAFT, DECISION = (
    Step(instruction="Draft it.", worker="beta"),
    Step(instruction="Decide.", worker="alpha", access=(0,)),
)
ITEMS = tuple(Item(id=str(n), input=f"What is 7 + {n} - {n}?", target=("7",)) for n in range(160))


@pytest.fixture(scope="module")
def app(chromium, tmp_path_factory):
    """An app in which questions were evaluated before."""
    folder = tmp_path_factory.mktemp("on-data")
    (folder / "pool.toml").write_text(POOL, encoding="utf-8")
    with AppServer(folder, settings={"CONDUCTOR_POOL": str(folder / "pool.toml")}) as server:
        with server.store() as store:
            store.evaluations.add(
                EvaluationSpec(data="sevens", digest="1", planners=("worker:alpha",)), ITEMS
            )
        yield server


def test_from_an_edit_to_its_evaluation_in_two_clicks(app, visit):
    session = app.plant(DRAFT, DECISION, query="What is 7 + 0?")
    desk = WorkbenchPage(visit(app, f"/?session={session}"))
    expect(desk.graph.cards).to_have_count(2)
    expect(desk.button("Evaluate")).to_have_count(0)
    with app.store() as store:
        head = store.revisions.head(session)
        store.revisions.add(session, head.workflow.with_access(1, ()), origin="human", note="Less access")
    desk.page.reload()

    desk.button("Evaluate").click()
    form = desk.keyed("evaluate-form")
    expect(form).to_contain_text("Revision 2 against revision 1")
    expect(form).to_contain_text("At most 480 calls, 160 more are shared")
    form.get_by_role("button", name="Start").click()

    desk.page.wait_for_url(re.compile(r"/evaluation\?evaluation=\w+"))
    table = desk.page.get_by_role("table").first
    expect(table).to_contain_text("What is 7 + 0?, revision 2")
    expect(desk.keyed("evaluation-progress")).to_have_count(0)
    expect(table).to_contain_text("100.0%")


def test_a_trial_on_data_ends_in_a_workflow_that_is_taken_and_undone(app, visit):
    session = app.plant(DRAFT, DECISION, query="What is 7 + 1?")
    desk = WorkbenchPage(visit(app, f"/?session={session}"))
    desk.run()
    desk.finished().drawer("Trials")
    desk.keyed("drawer-body").get_by_role("radio", name="On data").click()
    desk.keyed("data-trial-start").get_by_role("button").click()

    desk.page.wait_for_url(re.compile(r"/evaluation\?evaluation=\w+"))
    take = desk.button("Use this workflow")
    expect(desk.keyed("trial-suggestion")).to_contain_text("Cheapest that is not worse: without step 1")
    take.click()

    desk.page.wait_for_url(re.compile(rf"session={session}"))
    expect(desk.graph.cards).to_have_count(1)
    desk.button("Undo").click()
    expect(desk.graph.cards).to_have_count(2)
