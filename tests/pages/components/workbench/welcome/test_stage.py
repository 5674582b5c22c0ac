"""The start page plays a recorded run from memory; the first change makes a session of it."""

from __future__ import annotations

import time

import pytest

from conductor.runs.replay import Replay
from pages.components.tab import services
from pages.components.view_models.session import SessionView
from studio.gallery import RECORDED, TAG, recorded_run


def press(page, key):
    page.button(key=key).click().run()
    assert not page.exception
    return page


def sessions():
    return services.workbench().store.sessions.listed()


def test_the_start_page_shows_the_beginning_until_the_browser_has_it_play_and_stores_nothing(app):
    page = app()
    assert not page.exception
    replay = page.session_state["replay"]
    assert (replay.position, replay.playing) == (0.0, False)
    assert page.title[0].value == "Conductor Studio"
    press(page, "stage-play")
    assert page.session_state["replay"].playing
    press(page, "stage-play")
    assert not page.session_state["replay"].playing
    assert sessions() == ()


@pytest.mark.parametrize(
    ("key", "forecast", "runs"),
    [
        ("invite-edge", "1 of 5 steps will run, 4 pinned", {4}),
        ("invite-worker", "2 of 5 steps will run, 3 pinned", {2, 4}),
    ],
)
def test_a_change_makes_one_session_that_calls_only_what_it_touches_on_the_pools_workers(
    app, key, forecast, runs
):
    page = press(app(), key)
    [session] = sessions()
    assert page.query_params["session"] == session.id
    assert session.tags == (TAG,)
    bench = services.workbench()
    head = bench.store.revisions.head(session.id)
    assert forecast in bench.running.outlook(session.id).sentence
    own = {at for at, step in enumerate(head.workflow.steps) if step.pin is None}
    assert own == runs
    assert {head.workflow.steps[at].worker for at in runs} <= {*bench.pool.names}
    recorded = recorded_run(RECORDED[0]).head.workflow
    assert all(head.workflow.steps[at].worker == recorded.steps[at].worker for at in {*range(5)} - runs)
    press(page, "run")
    bench.activities.wait(session.id)
    state = bench.state(bench.store.runs.latest(session.id))
    assert {at for at, step in enumerate(state.steps) if step.kept_because is None} == runs


def test_the_recording_is_opened_whole_and_its_workers_are_replaced_by_one_press(app):
    page = press(app(), "stage-open")
    [session] = sessions()
    press(page, "missing-workers-use")
    head = services.workbench().store.revisions.head(session.id)
    assert {step.worker for step in head.workflow.steps} == {"smol"}
    assert not page.button(key="run").disabled


def test_a_view_of_the_recording_is_that_of_its_moment():
    recorded = recorded_run(RECORDED[0])
    seconds = recorded.recording.seconds
    replay = Replay(run=recorded.run.id, revision=recorded.head.id, seconds=seconds, position=seconds / 2)
    middle, end = SessionView.of_recording(recorded, replay), SessionView.of_recording(recorded, None)
    assert middle.live
    assert (end.live, end.state.answer) == (False, recorded.run.answer)
    assert middle.state.started_at == pytest.approx(time.time() - seconds / 2, abs=2)
