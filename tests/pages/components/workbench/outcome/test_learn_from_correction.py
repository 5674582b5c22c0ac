"""*Learn from this correction*: the planner that plans for the pool learns what a person made of its plan."""

from __future__ import annotations

import pytest

from conductor.baselines.planner_file.planner_file import TriedQuestion, read_planner, write_planner
from pages.components.tab import services
from tests.support.cases.planner_cases import planner_of, single

POOL = """
planner = "mine"

[[worker]]
kind = "simulated"
name = "alpha"

[[worker]]
kind = "simulated"
name = "beta"

[planners]
mine = "planner.json"
"""


@pytest.fixture
def learnt(tmp_path, monkeypatch):
    """The planner's file, which the pool in use names."""
    file = tmp_path / "pool.toml"
    file.write_text(POOL, encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    questions = [TriedQuestion(question=f"What is {at}?", right=(0,)) for at in range(3)]
    write_planner(
        planner_of(plans=[single("alpha"), single("beta")], questions=questions), tmp_path / "planner.json"
    )
    return tmp_path / "planner.json"


def ran(workflow_of):
    """A session whose plan was edited so, after a run."""
    bench = services.workbench()
    session = bench.ask("What is 1?").id
    bench.planning.plan(session)
    head = bench.store.revisions.head(session)
    if workflow_of is not None:
        bench.editing.edit(session, workflow_of(head.workflow), note="By hand", head=head)
    assert bench.running.start(session).done.wait(60)
    return session


def buttons(page):
    return [button for button in page.button if button.key == "learn-from-correction"]


def test_a_plan_that_was_changed_by_hand_is_learnt_with_one_click(app, learnt):
    page = app()
    session = ran(lambda workflow: workflow.with_worker(0, "beta"))
    page = app(session=session)
    assert not page.exception
    (button,) = buttons(page)
    page = button.click().run()
    assert not page.exception
    assert "1 of its 3 questions are corrections" in page.info[-1].value
    file = read_planner(learnt)
    assert [each.by_hand for each in file.questions] == [None, 1, None]
    plan = services.workbench().planning.plan(services.workbench().ask("What is 1?").id)
    assert plan.report.workflow.steps[0].worker == "beta"


def test_a_plan_that_stands_as_it_was_written_has_nothing_to_learn_from(app, learnt):
    app()
    page = app(session=ran(None))
    assert not page.exception
    assert buttons(page) == []
