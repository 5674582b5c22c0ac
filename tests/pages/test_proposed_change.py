"""A change of the plan from the box to the ghost: what is sent, refused and taken; without a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor.errors import StorageError
from conductor.planner.planner import MAX_WISH
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from pages.components.tab import services
from pages.components.tab.state import plain
from pages.components.view_models.session import SessionView
from pages.components.workbench.planning.proposed_change import decide, drawn_change
from pages.components.workbench.question.composer import ASK, CHANGE
from storage import SessionStore
from studio.workbench import Workbench
from tests.support.runs.conductor_cases import BROKEN, ScriptedConductor, plan_text

pytestmark = pytest.mark.slow

WISH = "use two readers"
CHANGED = plan_text((0, "Find it.", "[]"), (1, "Find it, too.", "[]"), (0, "Answer.", '["all"]'))
TWO = Workflow.of(
    [Step(instruction="Find it.", worker="alpha"), Step(instruction="Answer.", worker="alpha", access=(0,))]
)


@pytest.fixture
def conductor() -> ScriptedConductor:
    return ScriptedConductor([CHANGED, CHANGED])


@pytest.fixture
def bench(url, conductor, monkeypatch) -> Iterator[Workbench]:
    """Of two workers; the app is over it."""
    pool = Pool(workers=(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=conductor)
    monkeypatch.setattr(services, "workbench", lambda: bench)
    yield bench
    bench.close()


@pytest.fixture
def session(bench) -> str:
    session = bench.ask("Which one?").id
    bench.editing.edit(session, TWO, note="Written")
    return session


@pytest.fixture
def proposal(bench, session):
    bench.changing.ask(session, WISH)
    shown_change = drawn_change(bench, SessionView.load(bench, session))
    assert shown_change is not None
    return shown_change


def head(bench, session):
    return bench.required_head(session).workflow


def test_what_is_meant_as_a_change_stays_in_its_session_and_changes_nothing_yet(
    app, bench, session, conductor
):
    page = app(session=session)
    page.segmented_control(key="question-meaning").set_value(CHANGE).run()
    assert page.chat_input(key="query").placeholder.startswith("Change this plan")
    page.chat_input(key="query").set_value(WISH).run()
    bench.activities.wait(session)
    page.run()
    assert not page.exception
    assert conductor.requests[0].change.wish == WISH
    assert page.query_params["session"] == session
    assert head(bench, session) == TWO
    assert any(WISH in markdown.value for markdown in page.markdown), "its reasoning is shown for that wish"
    assert page.segmented_control(key="question-meaning").value == ASK


def test_the_same_words_meant_as_a_question_begin_a_session(app, bench, session):
    page = app(session=session)
    page.chat_input(key="query").set_value(WISH).run()
    assert page.query_params["session"] != session
    assert bench.store.changes.of_session(session) == ()


def test_the_choice_is_there_only_where_there_is_a_plan_to_change(app, bench, session):
    page = app()
    assert "question-meaning" not in [control.key for control in page.segmented_control]
    page = app(session=session)
    page.segmented_control(key="question-meaning").set_value(CHANGE).run()
    page.session_state["settings"] = True
    page.run()
    page.button(key="rewrite").click().run()
    assert "question-meaning" not in [control.key for control in page.segmented_control]
    page.button(key="follow-up").click().run()
    page.button(key="new").click().run()
    page = app(session=session)
    assert page.segmented_control(key="question-meaning").value == ASK


@pytest.mark.parametrize("conductor", [OfflineConductor()])
def test_a_conductor_of_rules_refuses_it_with_the_reason(app, bench, session):
    page = app(session=session)
    page.segmented_control(key="question-meaning").set_value(CHANGE).run()
    page.chat_input(key="query").set_value(WISH).run()
    bench.activities.wait(session)
    page.run()
    assert "language model" in page.warning[0].value
    assert page.query_params["session"] == session


NOTHING = plan_text((0, "Find it.", "[]"), (0, "Answer.", "[0]"))


@pytest.mark.parametrize(
    ("conductor", "reason"),
    [
        (ScriptedConductor([BROKEN]), "No change came of it."),
        (ScriptedConductor([NOTHING]), "The Conductor would change nothing."),
    ],
)
def test_what_cannot_be_drawn_is_stated_and_can_be_worded_differently(app, bench, session, reason):
    bench.changing.ask(session, WISH)
    assert drawn_change(bench, SessionView.load(bench, session)) is None
    page = app(session=session)
    assert all(plain(words) in page.warning[0].value for words in (WISH, reason))
    page.button(key="reword-change").click().run()
    assert not page.exception
    assert not page.warning
    assert page.segmented_control(key="question-meaning").value == CHANGE
    assert page.session_state["question-given"]["text"] == WISH


def test_too_long_a_wish_is_refused_above_the_box(app, bench, session):
    page = app(session=session)
    page.segmented_control(key="question-meaning").set_value(CHANGE).run()
    page.chat_input(key="query").set_value("x" * (MAX_WISH + 1)).run()
    assert "the limit is" in page.error[0].value
    assert page.segmented_control(key="question-meaning").value == CHANGE
    assert bench.store.changes.of_session(session) == ()


def test_a_change_of_a_workflow_that_was_edited_since_waits_for_that_edit_to_be_undone(
    bench, session, proposal
):
    bench.editing.edit(session, TWO.with_worker(0, "beta"), note="Edited")
    assert drawn_change(bench, SessionView.load(bench, session)) is None
    bench.store.revisions.undo(session)
    assert drawn_change(bench, SessionView.load(bench, session)) == proposal


def test_all_of_it_or_its_parts_are_taken(bench, session, tab, proposal):
    decide(bench, tab, proposal, {"change": proposal.record.id, "take": True, "rows": [1]})
    assert [step.instruction for step in head(bench, session).steps] == [
        "Find it.",
        "Find it, too.",
        "Answer.",
    ]
    assert head(bench, session).steps[2].access == (0,)
    bench.changing.ask(session, WISH)
    again = drawn_change(bench, SessionView.load(bench, session))
    decide(bench, tab, again, {"change": again.record.id, "take": True, "rows": None})
    assert head(bench, session).steps[2].access == (0, 1)


@pytest.mark.parametrize("decision", [None, "take", {}, {"change": "another", "take": True, "rows": None}])
def test_what_names_no_proposal_decides_nothing(bench, session, tab, proposal, decision):
    decide(bench, tab, proposal, decision)
    assert head(bench, session) == TWO
    assert drawn_change(bench, SessionView.load(bench, session)) == proposal


def test_what_was_left_is_decided_and_cannot_be_taken(bench, session, tab, proposal):
    decide(bench, tab, proposal, {"change": proposal.record.id, "take": False, "rows": None})
    assert drawn_change(bench, SessionView.load(bench, session)) is None
    with pytest.raises(StorageError):
        bench.changing.leave(proposal.record.id)
    decide(bench, tab, proposal, {"change": proposal.record.id, "take": True, "rows": None})
    assert head(bench, session) == TWO
