"""What a page shows of a session: its workflow, the run that belongs to it, and what a rerun would do."""

from __future__ import annotations

import pytest

from conductor.errors import StorageError
from pages.components.view_models.session import SessionView


def run_to_the_end(bench, session):
    live = bench.running.start(session)
    assert live.done.wait(timeout=60)


def test_a_workflow_that_has_not_run_will_run_wholly(bench, session):
    view = SessionView.load(bench, session)
    assert (view.run, view.state, view.live, view.as_run) == (None, None, False, False)
    assert view.radius.runs == {0, 1, 2}
    assert view.undo is None


@pytest.mark.slow
def test_after_a_run_everything_is_known(bench, session):
    run_to_the_end(bench, session)
    view = SessionView.load(bench, session)
    assert view.state.status == "finished"
    assert view.as_run
    assert view.radius.runs == frozenset()


@pytest.mark.slow
def test_after_an_edit_the_last_run_is_shown_as_of_another_workflow(bench, session, three):
    run_to_the_end(bench, session)
    bench.editing.edit(session, three.with_worker(1, "alpha"), note="Step 2: beta to alpha")
    view = SessionView.load(bench, session)
    assert view.state.status == "finished"
    assert not view.as_run
    assert (view.radius.runs, view.radius.reused) == ({1}, {0, 2})


@pytest.mark.slow
def test_undo_leads_back_to_the_run_of_that_revision(bench, session, three):
    run_to_the_end(bench, session)
    first = SessionView.load(bench, session).run
    bench.editing.edit(session, three.with_worker(1, "alpha"), note="Step 2: beta to alpha")
    run_to_the_end(bench, session)
    assert SessionView.load(bench, session).run != first
    bench.store.revisions.undo(session)
    view = SessionView.load(bench, session)
    assert view.run == first
    assert view.as_run
    assert view.redo.note == "Step 2: beta to alpha"


@pytest.mark.slow
def test_a_run_under_way_is_live_until_it_is_stopped(bench, session, three):
    bench.editing.edit(session, three.with_worker(0, "slow"), note="Step 1: alpha to slow")
    live = bench.running.start(session)
    assert SessionView.load(bench, session).live
    bench.background.cancel(live.state.run)
    assert live.done.wait(timeout=60)
    view = SessionView.load(bench, session)
    assert not view.live
    assert view.state.status == "cancelled"


@pytest.mark.slow
def test_a_worker_that_left_the_pool_is_a_problem_and_no_radius(bench, session, three):
    bench.store.revisions.add(session, three.with_worker(2, "gone"), origin="human", note="Older pool")
    view = SessionView.load(bench, session)
    assert view.radius is None
    assert "Step 3" in view.problem
    assert "'gone'" in view.problem


def test_an_unknown_session_is_an_error(bench):
    with pytest.raises(StorageError, match="nowhere"):
        SessionView.load(bench, "nowhere")
