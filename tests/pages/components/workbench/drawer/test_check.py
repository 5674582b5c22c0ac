"""The check below the graph: findings by step, fixes that are edits, an honest empty state."""

from __future__ import annotations

import pytest

from conductor.values.output import Output
from conductor.workflow.model import Step, Workflow
from pages.components.tab import services
from pages.components.view_models.session import SessionView
from pages.components.workbench.drawer.check import findings, fixed, no_findings, summary
from pages.components.workbench.editor import Editor

RASH = Workflow.of(
    [
        Step(instruction="Find *it*.", worker="calculator"),
        Step(instruction="Use the previous answer.", worker="smol"),
        Step(instruction="Look again.", worker="smol"),
        Step(instruction="Answer.", worker="smol", access=(2,)),
    ]
)
"""No step reads its first two, and the second cannot see what it refers to."""


PINNED = Output(
    fingerprint="f-f",
    text="The bridge was opened in 1874 after seven years of work.",
    worker="alpha",
    worker_kind="simulated",
    seconds=1.0,
    run="r",
    step=0,
)


@pytest.fixture
def rash(bench):
    """A session with that workflow."""
    session = bench.ask("Which one?").id
    bench.store.revisions.add(session, RASH, origin="import", note="Planted")
    return session


@pytest.fixture
def view(bench, rash):
    return SessionView.load(bench, rash)


def fix(page, label):
    return next(button for button in page.button if button.label == label)


def chosen(app, session):
    page = app(session=session)
    page.session_state["panel"] = "Check"
    return page.run()


def texts_of(page):
    return [text.value.replace("\\", "") for text in (*page.markdown, *page.caption)]


# -- what is found, without a page -------------------------------------------------------------------


@pytest.mark.slow
def test_the_sessions_limit_question_workers_and_outputs_count(bench, session, view):
    assert [(each.rule, each.step) for each in findings(view, ["a", "b"])] == [
        ("unread-output", 0),
        ("unread-output", 1),
        ("speaks-of-unseen", 1),
    ]
    settings = view.settings.model_copy(update={"max_steps": 3})
    bench.store.sessions.set_settings(view.session.id, settings)
    limited = SessionView.load(bench, view.session.id)
    assert findings(limited, [])[0].sentence == "The workflow has 4 steps; the limit is 3."
    assert no_findings(view).startswith("Nothing found; 8 rules checked. Two more check outputs")


@pytest.mark.slow
def test_after_a_run_its_outputs_are_looked_at(bench, session, three):
    workflow = three.with_access(2, (0, 1))
    bench.editing.edit(session, workflow, note="Step 3: access")
    live = bench.running.start(session)
    assert live.done.wait(timeout=60)
    bench.activities.wait(session)
    ran = SessionView.load(bench, session)
    assert no_findings(ran) == "Nothing found; 10 rules checked."
    assert findings(ran, bench.pool.names) == ()


@pytest.mark.slow
def test_an_output_that_is_pinned_is_looked_at_too(bench, session, three):
    workflow = three.with_access(2, (0, 1)).with_pin(0, PINNED)
    repeated = workflow.with_instruction(1, f"Work on your own. {PINNED.text} Is that so?")
    bench.editing.edit(session, repeated, note="Step 2: instruction")
    pinned, leak = findings(SessionView.load(bench, session), bench.pool.names)
    assert (pinned.rule, pinned.step) == ("pinned-before", 0)
    assert (leak.rule, leak.step) == ("leaked-output", 1)


def test_a_fix_counts_for_the_workflow_as_it_is_by_then(view):
    problems = findings(view, [])
    unread = problems[0]
    assert fixed(unread, unread.fixes[0], problems) == unread.fixes[0].workflow
    assert fixed(unread, unread.fixes[0], ()) is None
    assert summary(problems) == "3 warnings"


# -- on the page ---------------------------------------------------------------------------------------


def test_findings_stand_by_step_with_a_word_and_a_button_for_each_fix(app, rash):
    page = chosen(app, rash)
    assert not page.exception
    texts = texts_of(page)
    assert "3 warnings. You can run the workflow with them." in texts
    assert any("**Warning**" in text and "Step 2 refers to “the previous answer”" in text for text in texts)
    assert [
        button.label.replace("\\", "") for button in page.button if button.key.startswith("check-step-")
    ] == [
        "**1. Find *it***",
        "**2. Use the previous answer**",
    ]
    assert not page.button(key="run").disabled


@pytest.mark.thorough
def test_a_fix_is_one_edit_that_can_be_undone(app, rash):
    page = chosen(app, rash)
    fix(page, "Let step 2 read step 1").click().run()
    assert not page.exception
    store = services.workbench().store
    head = store.revisions.head(rash)
    assert (head.note, head.workflow.steps[1].access) == ("Check: Let step 2 read step 1", (0,))
    assert any("1 warning." in text for text in texts_of(page)), "step 1 is read now, step 2 is not yet"
    fix(page, "Remove steps 1 and 2").click().run()
    assert len(store.revisions.head(rash).workflow) == 2
    assert page.session_state["selected"] == 1
    assert any("Nothing found; 8 rules checked." in text for text in texts_of(page))
    page.button(key="undo").click().run()
    page.button(key="undo").click().run()
    assert store.revisions.head(rash).workflow == RASH


def test_a_steps_name_selects_it(app, rash):
    page = chosen(app, rash)
    page.button(key="check-step-1").click().run()
    assert not page.exception
    assert page.session_state["selected"] == 1


@pytest.mark.slow
def test_a_fix_stands_on_the_text_that_the_same_click_changed(bench, tab, rash):
    editor = Editor(bench=bench, tab=tab, session=rash, head=bench.store.revisions.head(rash))
    view = SessionView.load(bench, rash)
    problems = findings(view, bench.pool.names)
    editor.instruction(0, "Find all of them.")
    editor.commit(
        lambda: fixed(problems[0], problems[0].fixes[0], findings(view, (), workflow=editor.workflow)),
        "Check",
    )
    steps = bench.store.revisions.head(rash).workflow.steps
    assert (steps[0].instruction, steps[3].access) == ("Find all of them.", (0, 2))


def test_more_steps_than_the_limit_lead_to_the_settings_too(app, bench, rash):
    settings = bench.settings(rash).model_copy(update={"max_steps": 3})
    bench.store.sessions.set_settings(rash, settings)
    page = chosen(app, rash)
    assert fix(page, "Remove step 2")
    page.button(key="check-limit").click().run()
    assert not page.exception
