"""What Ctrl+K offers, and what it searches of the open session."""

from __future__ import annotations

from itertools import count

import pytest

from conductor.runs.state import RunState
from conductor.workflow.model import Workflow
from pages.components.view_models.session import SessionView
from pages.components.workbench.find import _of_app, _of_sessions, _of_workflow, _texts
from studio.workbench import Workbench


def test_the_workflow_is_compared_with_the_run_once_however_many_steps_are_searched(
    bench: Workbench, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench.running.start(session).done.wait(timeout=60)
    bench.activities.wait(session)  # which ends a moment after its run
    view = SessionView.load(bench, session)
    comparisons, is_run_of = count(), RunState.is_run_of

    def compared(state: RunState, workflow: Workflow) -> bool:
        next(comparisons)
        return is_run_of(state, workflow)

    monkeypatch.setattr(RunState, "is_run_of", compared)
    texts = list(_texts(bench, view, bench.store.runs.of_session(session)))
    assert sum(text.part == "output" for text in texts) > 1
    assert next(comparisons) == 1


def test_a_workflow_offers_its_steps_with_their_workers_its_panels_and_its_files(bench, tab, session, three):
    goals = list(_of_workflow(tab, SessionView.load(bench, session)))
    assert [(goal.row["id"], goal.row["detail"]) for goal in goals[:3]] == [
        (f"step:{at}", step.worker) for at, step in enumerate(three.steps)
    ]
    ids = {goal.row["id"] for goal in goals[3:]}
    assert {"panel:Check", "panel:History", "command:export-workflow", "command:export-session"} <= ids
    assert "command:export-run" not in ids, "nothing has run"
    goals[1].go()
    assert tab.selected == 1


def test_the_workers_are_named_and_the_open_session_is_left_out(bench, tab):
    one, other = (bench.ask(query).id for query in ("Which one?", "Which other?"))
    tab.open(one)
    assert [goal.row["id"] for goal in _of_sessions(bench, tab, "", here=True)] == [f"session:{other}"]
    named = {goal.row["name"] for goal in _of_sessions(bench, tab, "", here=False)}
    assert named == {"Which one?", "Which other?"}
    ids = [goal.row["id"] for goal in _of_app(tab, ("alpha",))]
    assert {"worker:alpha", "page:learning", "command:new", "command:import"} <= set(ids)
    assert len(ids) == len(set(ids))
