"""What a page shows of a session: its workflow, the run that belongs to it, and what a rerun would do."""

from __future__ import annotations

import pytest

from conductor.engine.estimate import Estimate
from conductor.engine.schedule import BlastRadius
from conductor.errors import StorageError
from pages.components.view_models.session import SessionView, outlook_sentence
from studio.workbench import Outlook
from tests.workflow_cases import PINNED


def run_to_the_end(bench, session):
    live = bench.running.start(session)
    assert live.done.wait(timeout=10)


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
    assert live.done.wait(timeout=2)
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


UNKNOWN = Estimate(calls=0, tokens=None, cost=None, seconds=None)


@pytest.mark.parametrize(
    ("steps", "estimated", "expected"),
    [
        ("reused reused", UNKNOWN, "Nothing to run: every step's output is known."),
        ("runs", UNKNOWN, "The step will run."),
        ("runs spared", UNKNOWN, "All 2 steps will run."),
        ("reused runs pinned", UNKNOWN, "1 of 3 steps will run, 1 reused, 1 pinned."),
        (
            "reused runs spared",
            UNKNOWN,
            "2 of 3 steps will run, 1 reused; fewer if an output stays the same.",
        ),
        (
            "reused runs",
            Estimate(calls=1, tokens=1834, cost=0.0041, seconds=6.04),
            "1 of 2 steps will run, ~1,800 tokens, ~$0.0041, ~6.0 s, 1 reused.",
        ),
        (
            "reused runs",
            Estimate(calls=1, tokens=12, cost=None, seconds=None),
            "1 of 2 steps will run, ~12 tokens, 1 reused.",
        ),
        (
            "reused runs",
            Estimate(calls=1, tokens=None, cost=0.00001, seconds=0.0004),
            "1 of 2 steps will run, <$0.0001, <1 ms, 1 reused.",
        ),
    ],
)
def test_what_a_rerun_will_do_is_one_sentence(steps, estimated, expected):
    def at(*kinds):
        return frozenset(place for place, kind in enumerate(steps.split()) if kind in kinds)

    radius = BlastRadius(
        runs=at("runs", "spared"),
        known=dict.fromkeys(at("reused", "pinned"), PINNED),
        spared=at("spared"),
        edited=frozenset(),
        kept=at("pinned"),
    )
    outlook = Outlook(radius=radius, estimate=estimated, changed_pins=frozenset())
    assert outlook_sentence(outlook, len(steps.split())) == expected


@pytest.mark.parametrize(
    ("kept", "changed", "expected"),
    [
        ((0,), (0,), "1 of 3 steps will run, 1 reused, 1 pinned (inputs changed)."),
        ((0, 1), (1,), "1 of 3 steps will run, 2 pinned (1 with inputs changed)."),
    ],
)
def test_what_a_rerun_will_do_names_pinned_steps_whose_inputs_changed(kept, changed, expected):
    radius = BlastRadius(
        runs=frozenset({2}),
        known=dict.fromkeys((0, 1), PINNED),
        spared=frozenset(),
        edited=frozenset(),
        kept=frozenset(kept),
    )
    unknown = Estimate(calls=1, tokens=None, cost=None, seconds=None)
    outlook = Outlook(radius=radius, estimate=unknown, changed_pins=frozenset(changed))
    assert outlook_sentence(outlook, 3) == expected
