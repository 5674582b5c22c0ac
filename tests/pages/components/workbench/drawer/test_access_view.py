"""The access grid on the page: offered with every workflow, in words where there is nothing to read."""

from __future__ import annotations

import pytest

from conductor.workflow.model import Step, Workflow
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.access_rows import DIALECTS
from pages.components.workbench.drawer.access import access_view


def opened(app, session):
    page = app(session=session)
    page.session_state["panel"] = "Check"
    page = page.run()
    assert not page.exception
    return [caption.value for caption in page.caption]


def test_what_the_conductor_plans_is_shown_with_how_it_writes_access(app):
    page = app()
    page.button(key="example-1").click().run()
    captions = opened(app, page.query_params["session"])
    assert any(
        text.startswith("Rows read columns") and f"writes access as {DIALECTS['any']}." in text
        for text in captions
    )


def test_a_workflow_made_by_hand_has_no_entries(app, session):
    captions = opened(app, session)
    assert any(text.startswith("Rows read columns") and "writes access" not in text for text in captions)


def test_an_only_step_has_nothing_to_read(app, bench):
    session = bench.ask("Which one?").id
    bench.editing.edit(session, Workflow.of([Step(instruction="Answer.", worker="alpha")]), note="By hand")
    assert any(text.startswith("A single step sees only the query") for text in opened(app, session))


def component_arguments(bench, tab, session, monkeypatch):
    """What the component is given."""
    arguments = {}
    monkeypatch.setattr(
        "pages.components.workbench.drawer.access.access_grid",
        lambda data, **_: arguments.update(data),
    )
    access_view(bench, tab, SessionView.load(bench, session))
    return arguments


def test_rows_selection_and_lock_are_the_sessions(bench, tab, session, monkeypatch):
    tab.select(2)
    arguments = component_arguments(bench, tab, session, monkeypatch)
    assert [row["reads"] for row in arguments["rows"]] == [(), (), (0,)]
    assert (arguments["selected"], arguments["before"], arguments["locked"]) == (2, False, None)


@pytest.mark.slow
def test_while_it_runs_nothing_can_be_changed(bench, tab, session, three, monkeypatch):
    bench.editing.edit(session, three.with_worker(1, "slow"), note="Slow")
    live = bench.running.start(session)
    try:
        assert (
            "wait for the session to finish"
            in component_arguments(bench, tab, session, monkeypatch)["locked"]
        )
    finally:
        bench.running.stop(session)
        assert live.done.wait(timeout=60)
        bench.activities.wait(session)
    assert component_arguments(bench, tab, session, monkeypatch)["locked"] is None


@pytest.mark.slow
def test_in_a_later_round_there_is_a_column_for_the_round_before(bench, tab, session, three, monkeypatch):
    bench.editing.edit(session, three.with_sight_of_previous(1, True), note="Step 2: access")
    arguments = component_arguments(bench, tab, session, monkeypatch)
    assert arguments["before"]
    assert [row["before"] for row in arguments["rows"]] == [False, True, False]


@pytest.mark.slow
def test_a_column_for_tools_is_there_where_a_worker_has_or_a_step_names_some(
    bench, tab, session, three, monkeypatch
):
    arguments = component_arguments(bench, tab, session, monkeypatch)
    assert (arguments["tools"], arguments["rows"][0]["tools"]) == (False, None)
    bench.editing.edit(session, three.with_tools(0, ["web"]), note="Step 1: tools")
    arguments = component_arguments(bench, tab, session, monkeypatch)
    assert [(row["tools"], row["has"]) for row in arguments["rows"]] == [
        (("web",), ()),
        (None, ()),
        (None, ()),
    ]
    assert arguments["tools"]
