"""What a page shows of a session: its workflow, the run that belongs to it, and what a rerun would do."""

from __future__ import annotations

import pytest

from conductor.engine.schedule import BlastRadius
from conductor.errors import StorageError
from conductor.output import Output
from pages.components.session_view import SessionView, radius_sentence

OUTPUT = Output(
    fingerprint="f", text="said", worker="w", worker_kind="simulated", seconds=0.1, run="r", step=0
)


def run_to_the_end(bench, session):
    live = bench.start(session)
    assert live.done.wait(timeout=10)


def test_a_workflow_that_has_not_run_will_run_wholly(bench, session):
    view = SessionView.load(bench, session)
    assert (view.run, view.state, view.live, view.as_run) == (None, None, False, False)
    assert view.radius.runs == {0, 1, 2}
    assert view.undo is None


def test_after_a_run_everything_is_known(bench, session):
    run_to_the_end(bench, session)
    view = SessionView.load(bench, session)
    assert view.state.status == "finished"
    assert view.as_run
    assert view.radius.runs == frozenset()


def test_after_an_edit_the_last_run_is_shown_as_of_another_workflow(bench, session, three):
    run_to_the_end(bench, session)
    bench.edit(session, three.with_worker(1, "alpha"), note="Step 2: beta to alpha")
    view = SessionView.load(bench, session)
    assert view.state.status == "finished"
    assert not view.as_run
    assert (view.radius.runs, view.radius.reused) == ({1}, {0, 2})


def test_undo_leads_back_to_the_run_of_that_revision(bench, session, three):
    run_to_the_end(bench, session)
    first = SessionView.load(bench, session).run
    bench.edit(session, three.with_worker(1, "alpha"), note="Step 2: beta to alpha")
    run_to_the_end(bench, session)
    assert SessionView.load(bench, session).run != first
    bench.store.undo(session)
    view = SessionView.load(bench, session)
    assert view.run == first
    assert view.as_run
    assert view.redo.note == "Step 2: beta to alpha"


def test_a_run_under_way_is_live_until_it_is_stopped(bench, session, three):
    bench.edit(session, three.with_worker(0, "slow"), note="Step 1: alpha to slow")
    live = bench.start(session)
    assert SessionView.load(bench, session).live
    bench.background.cancel(live.state.run)
    assert live.done.wait(timeout=2)
    view = SessionView.load(bench, session)
    assert not view.live
    assert view.state.status == "cancelled"


def test_a_worker_that_left_the_pool_is_a_problem_and_no_radius(bench, session, three):
    bench.store.add_revision(session, three.with_worker(2, "gone"), origin="human", note="Older pool")
    view = SessionView.load(bench, session)
    assert view.radius is None
    assert "Step 3" in view.problem
    assert "'gone'" in view.problem


def test_an_unknown_session_is_an_error(bench):
    with pytest.raises(StorageError, match="nowhere"):
        SessionView.load(bench, "nowhere")


@pytest.mark.parametrize(
    ("runs", "reused", "spared", "said"),
    [
        ((), (0, 1), (), "Nothing to run: every step's output is known."),
        ((0,), (), (), "The step will run."),
        ((0, 1), (), (1,), "All 2 steps will run."),
        ((1,), (0, 2), (), "1 of 3 steps will run, 2 reused."),
        ((1, 2), (0,), (2,), "2 of 3 steps will run, 1 reused; fewer if an output stays the same."),
    ],
)
def test_what_a_rerun_will_do_is_one_sentence(runs, reused, spared, said):
    radius = BlastRadius(
        runs=frozenset(runs),
        known=dict.fromkeys(reused, OUTPUT),
        spared=frozenset(spared),
        edited=frozenset(),
    )
    assert radius_sentence(radius, len(runs) + len(reused)) == said


def test_a_run_under_way_is_shown_whatever_revision_is_current(bench, session):
    workflow = bench.head(session).workflow
    bench.edit(session, workflow.with_worker(0, "slow"), note="slow")
    live = bench.start(session)
    bench.store.undo(session)
    view = SessionView.load(bench, session)
    assert (view.live, view.run.id, view.stoppable) == (True, live.run, True)
    bench.background.cancel(live.run)
    assert live.done.wait(timeout=5)


def test_a_kept_step_has_its_output_though_steps_before_it_are_gone(bench, session):
    run_to_the_end(bench, session)
    before = SessionView.load(bench, session).state.steps[1].output
    bench.edit(session, bench.head(session).workflow.remove_step(0), note="Step 1 removed")
    assert SessionView.load(bench, session).radius.known[0] == before
